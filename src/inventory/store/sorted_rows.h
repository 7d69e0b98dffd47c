// Pinned rows in canonical order.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "inventory/row.h"
#include "inventory/store/table.h"

namespace kollect::inventory {

struct PinnedRows {
  TablePin pin;
  std::vector<Ref> rows;
};

/// Visits all rows in the order of spec sinks 2.2. Takes 24 bytes a row of the largest target
/// meanwhile.
base::Result<> visit_sorted(const std::vector<PinnedRows>& parts,
                            const std::function<base::Result<>(const RowView&)>& visit);

}  // namespace kollect::inventory
