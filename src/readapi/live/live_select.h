// Choosing and ordering rows of a live set.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/context.h"
#include "base/result.h"
#include "inventory/row_store.h"
#include "readapi/live/live_set.h"
#include "readapi/source.h"

namespace kollect::readapi {

/// Between two looks at the deadline.
inline constexpr std::uint64_t kCheckEvery = 4096;

struct LiveQuery {
  RowFilter filter;  ///< without the inventory
  Sight sight;
  Order order;
  std::function<bool(const inventory::Owner&)> wanted;  ///< empty: all owners
  std::string wanted_key;                               ///< names `wanted`
  inventory::RowChoice choice = inventory::RowChoice::kAll;
};

/// The places of the rows, found once per set and query. Null: all rows as they stand. Error: the
/// context's.
base::Result<std::shared_ptr<const Places>> select_rows(const base::Context& context,
                                                        const LiveSet& set, const LiveQuery& query);

}  // namespace kollect::readapi
