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

/// Visits all rows in the order of spec sinks 2.2. Takes 24 bytes a row of the largest target
/// meanwhile.
base::Result<> visit_sorted(const std::vector<PinnedRows>& parts,
                            const std::function<base::Result<>(const RowView&)>& visit);

/// The same order, kept: 8 bytes a row. Of rows with equal identity only the last counts. Many
/// threads may read.
class SortedRows {
 public:
  explicit SortedRows(std::shared_ptr<const std::vector<PinnedRows>> parts);
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] std::size_t memory_bytes() const { return rows_.capacity() * sizeof(Place); }

  enum class What { kRows, kKeys };
  /// Rows [first, last); keys have no attributes. Views die with the call.
  base::Result<> visit(std::size_t first, std::size_t last, What what,
                       const std::function<base::Result<>(const RowView&)>& visit) const;

 private:
  struct Place {
    std::uint32_t part = 0;
    Ref ref = 0;
  };
  std::shared_ptr<const std::vector<PinnedRows>> parts_;
  std::vector<Place> rows_;
};

}  // namespace kollect::inventory
