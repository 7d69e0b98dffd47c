// The statements of a page of rows, for both databases.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "readapi/source.h"
#include "readstore/columns.h"
#include "readstore/pages.h"
#include "readstore/session.h"
#include "readstore/tally.h"

namespace kollect::readstore {

/// What one request asks the tables. Every row is cluster, namespace and name of the inventory, the
/// time of its export and its payload (`kRowColumns`). Borrows tables and request.
class PageQueries {
 public:
  /// Columns of a row; one that counts has its number behind them.
  static constexpr int kRowColumns = 5;

  PageQueries(bool postgres, const Tables& tables, const readapi::RowRequest& request,
              const PageLimits& limits)
      : postgres_(postgres), tables_(tables), request_(request), limits_(limits) {}

  /// Slices of one statement: one in SQLite, in PostgreSQL as many as make a short answer.
  [[nodiscard]] std::size_t together(const std::vector<Slice>& slices, std::size_t first) const;
  [[nodiscard]] Query of_slices(const std::vector<Slice>& slices, std::size_t first,
                                std::size_t count) const;
  /// Rows of some places, all sorted. `counted`: each with the number of them all.
  [[nodiscard]] Query sorted(const std::vector<const TallyGroup*>& groups, const Column& by,
                             bool counted) const;
  [[nodiscard]] Query count_in(const std::vector<const TallyGroup*>& groups) const;
  /// Rows of the whole table.
  [[nodiscard]] Query plain(const Column* by) const;
  /// There is an index with the order that is asked for.
  [[nodiscard]] bool can_walk(const Column* by) const;
  /// The page as if the table ended after the first `most` rows, in the order that is asked for,
  /// that the tally's part of the filter lets through: quick where many of them match.
  [[nodiscard]] Query walk(const Column* by, std::uint64_t most) const;
  [[nodiscard]] Query count() const;
  /// The page as if there were no more than any `most` of the rows; behind each row how many there
  /// are of these.
  [[nodiscard]] Query first_found(const Column& by, std::uint64_t most) const;
  /// Counts by the first `fields` columns of a place, in no order.
  [[nodiscard]] Query count_by_place(std::size_t fields) const;
  /// The times of exports that rows have, in the order of the request, at most `most` of them.
  [[nodiscard]] Query times(std::size_t most) const;
  /// Rows of one of them in the order of the request, at most `left`.
  [[nodiscard]] Query of_time(std::string_view time, std::uint64_t left) const;
  /// Rows of a moment that has passed; `counted`: only how many.
  [[nodiscard]] Query of_moment(const Column& by, base::WallTime at, bool counted) const;

 private:
  [[nodiscard]] std::string direction() const { return request_.order.descending ? " DESC" : ""; }
  [[nodiscard]] std::string indexed_by(std::string_view suffix) const;
  [[nodiscard]] std::string hint(const Column* by) const;
  [[nodiscard]] std::string slice_hint() const;
  [[nodiscard]] std::string order(Query& query, const Dialect& dialect, const Column& by) const;
  void order_and_page(Query& query, const Dialect& dialect, const Column& by) const;
  [[nodiscard]] Query of_slice(const Slice& slice) const;
  [[nodiscard]] Query lateral(const std::vector<Slice>& slices, std::size_t first,
                              std::size_t count) const;
  [[nodiscard]] std::string from_places(Query& query,
                                        const std::vector<const TallyGroup*>& groups) const;

  bool postgres_;
  const Tables& tables_;
  const readapi::RowRequest& request_;
  PageLimits limits_;
};

}  // namespace kollect::readstore
