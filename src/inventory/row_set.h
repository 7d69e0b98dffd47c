// A set of rows in little memory: the first form of the row store.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json/document.h"
#include "base/result.h"
#include "inventory/row.h"

namespace kollect::inventory {

class SortedRows;

/// Rows of one inventory. Filled by one thread, sealed, then read by many. Repeated strings stand
/// once; attributes of large rows are compressed. Reading passes rows through a visitor in
/// canonical order (spec: sinks 2.2). The set of a snapshot (Snapshot::to_row_set) is sealed and
/// copies nothing.
class RowSet {
 public:
  using Visit = std::function<base::Result<>(const RowView&)>;
  RowSet();
  ~RowSet();
  RowSet(RowSet&&) noexcept;
  RowSet& operator=(RowSet&&) noexcept;

  /// Copies the row. Rows with equal identity (target, namespace, name, uid): the last one added
  /// wins when sealed.
  void add(const RowView& row);
  /// Adds all rows of another set.
  void add_all(const RowSet& other);
  /// Sorts and removes duplicates; add() must not follow.
  void seal();

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// Visits rows in order; the view dies with the call. Stops at the first error and returns it.
  base::Result<> for_each(const std::function<base::Result<>(const RowView&)>& visit) const;
  /// Visits rows [first, last).
  base::Result<> for_range(std::size_t first, std::size_t last,
                           const std::function<base::Result<>(const RowView&)>& visit) const;
  /// The rows in order without their attributes, which then need not be unpacked.
  base::Result<> for_each_key(const Visit& visit) const;
  /// The same of rows [first, last).
  base::Result<> for_key_range(std::size_t first, std::size_t last, const Visit& visit) const;

  /// Lower-case hex SHA-256 of the canonical JSON of the items array (spec: sinks 2.3).
  [[nodiscard]] std::string checksum() const;
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  friend class Snapshot;
  static RowSet over(SortedRows rows);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Reads an export back: envelope, bare array, "null" or nothing (spec: sinks 2.4).
base::Result<RowSet> read_export(std::string_view text);
/// Adds a row given as JSON object (2.1); error (configuration) when a key is missing or of a wrong
/// type.
base::Result<> add_row_json(RowSet& rows, base::json::View row);

}  // namespace kollect::inventory
