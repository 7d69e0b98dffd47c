// Pinned rows in canonical order.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "inventory/row.h"
#include "inventory/store/table.h"

namespace kollect::inventory {

struct PinnedRows {
  TablePin pin;
  std::vector<Ref> rows;
  SetHash set_hash;  ///< of these rows
};

/// Visits all rows in the order of spec sinks 2.2; of a target and a cluster target of one name the
/// cluster target's row comes last where all else is equal. Takes 4 bytes a row of the largest
/// target meanwhile, and 16 a row of its largest namespace.
base::Result<> visit_sorted(const std::vector<PinnedRows>& parts,
                            const std::function<base::Result<>(const RowView&)>& visit);

/// Rows of one target in order. There are two parts when a cluster target has the target's name.
struct TargetOrder {
  std::vector<const PinnedRows*> parts;
  std::vector<Ref> refs;
  std::vector<std::uint8_t> which;  ///< part of each row; empty where there is one part
  [[nodiscard]] std::size_t part_of(std::size_t row) const {
    return which.empty() ? 0 : which[row];
  }
  [[nodiscard]] Record record(std::size_t row) const {
    return parts[part_of(row)]->pin.table().record(refs[row]);
  }
};

/// The same order, kept: 4 bytes a row. Of rows with equal identity only the last counts. Many
/// threads may read.
class SortedRows {
 public:
  explicit SortedRows(std::shared_ptr<const std::vector<PinnedRows>> parts);
  [[nodiscard]] std::size_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  [[nodiscard]] std::size_t memory_bytes() const;

  enum class What { kRows, kKeys };
  /// Rows [first, last); keys have no attributes. Views die with the call.
  base::Result<> visit(std::size_t first, std::size_t last, What what,
                       const std::function<base::Result<>(const RowView&)>& visit) const;

 private:
  std::shared_ptr<const std::vector<PinnedRows>> parts_;
  std::vector<TargetOrder> targets_;
  std::vector<std::size_t> ends_;  ///< rows of all targets up to this one
};

}  // namespace kollect::inventory
