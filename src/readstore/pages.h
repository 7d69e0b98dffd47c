// Pages of rows: which way to read them, and the cursors that do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "readapi/source.h"
#include "readstore/book.h"
#include "readstore/session.h"

namespace kollect::readstore {

struct PageLimits {
  /// Rows that are sorted for a page rather than found along an index.
  std::uint64_t sortable = 5'000;
  /// An answer of so many rows may be in memory.
  std::uint64_t whole = 5'000;
  /// Rows before a page that are not passed one by one where it is known how many lie where.
  std::uint64_t deep = 500;
  /// Places by which rows of a filter are counted.
  std::size_t places = 2'000;
  /// Rows that are looked at, in the order of the page, for one of a search that many match.
  std::uint64_t walk = 10'000;
  /// Times of exports that are read one by one.
  std::size_t times = 64;
  /// Totals may be told as "at least so many" ...
  std::uint64_t bounded = 2'000;
  /// ... of searches among more rows than these: fewer are soon counted.
  std::uint64_t countable = 20'000;
};

/// Cursors over the rows of `request`. Takes the session over.
base::Result<std::unique_ptr<readapi::RowCursor>> open_rows(std::unique_ptr<Session> session,
                                                            bool postgres,
                                                            const readapi::RowRequest& request,
                                                            TallyBook& book, CountCache& counts,
                                                            const PageLimits& limits);

/// Error of questions to a history that nobody keeps: configuration, reason "NoHistory".
base::Error no_history();

}  // namespace kollect::readstore
