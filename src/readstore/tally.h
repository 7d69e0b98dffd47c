// How many rows lie where: the table's groups with their counts, kept in memory between requests.
//
// A million rows are some ten thousand groups. From them come totals, counts by column, and where
// the rows of a page begin, so that a page reads nothing but its own rows.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "readapi/source.h"
#include "readstore/columns.h"

namespace kollect::readstore {

/// Rows that agree in the first kTallyFields columns. Texts are of the tally.
struct TallyGroup {
  std::array<std::string_view, kTallyFields> values;
  std::uint64_t rows = 0;
  [[nodiscard]] std::string_view value(Field field) const {
    return values[static_cast<std::size_t>(field)];
  }
  /// In the first `fields` columns.
  [[nodiscard]] bool agrees(const TallyGroup& other, std::size_t fields) const;
};

/// Of one inventory in one cluster, or of one filter, in canonical order. Immutable when shared.
class InventoryTally {
 public:
  void add(const std::array<std::string_view, kTallyFields>& values, std::uint64_t rows);
  void sort();
  [[nodiscard]] const std::vector<TallyGroup>& groups() const { return groups_; }

 private:
  std::string_view keep(std::string_view text);
  std::map<std::string, bool, std::less<>> texts_;  ///< nodes never move
  std::vector<TallyGroup> groups_;
};

/// The rows of a page that agree in the first `fields` columns: `skip` of them before, `take`
/// wanted.
struct Slice {
  TallyGroup group;
  std::size_t fields = kPlaceFields;  ///< the others of `group` are those of any of the rows
  std::uint64_t skip = 0;
  std::uint64_t take = 0;
};

/// Of the table. Immutable.
class Tally {
 public:
  explicit Tally(std::vector<std::shared_ptr<const InventoryTally>> inventories)
      : inventories_(std::move(inventories)) {}

  /// The groups that filter (in_tally()) and sight let through, in canonical order.
  [[nodiscard]] std::vector<const TallyGroup*> matching(const readapi::RowFilter& filter,
                                                        const readapi::Sight& sight) const;

 private:
  std::vector<std::shared_ptr<const InventoryTally>> inventories_;
};

std::uint64_t total_of(const std::vector<const TallyGroup*>& groups);
/// Sorted by a column of the tally, equal ones in canonical order; the other way round as a whole.
void sort_groups(std::vector<const TallyGroup*>& groups, Field by, bool descending);
/// How many of `groups` (in canonical order) differ in their first `fields` columns.
std::size_t count_places(const std::vector<const TallyGroup*>& groups, std::size_t fields);
/// Where the rows from `offset` on lie; `limit` 0: all of them. Neighbours that agree in the first
/// `fields` columns are one slice.
std::vector<Slice> cut(const std::vector<const TallyGroup*>& groups, std::uint64_t offset,
                       std::uint64_t limit, std::size_t fields);
/// Rows by the values of some columns, most rows first, then by the values.
std::vector<readapi::Group> count_by(const std::vector<const TallyGroup*>& groups,
                                     const std::vector<Column>& by, std::size_t limit);

}  // namespace kollect::readstore
