// In whose name the store and the collector know the rows of our targets.
#pragma once

#include "inventory/row_store.h"
#include "manager/work_queue.h"

namespace kollect::manager {

inline inventory::Owner owner_of_target(const Key& key) {
  return {.owner_class = inventory::OwnerClass::kTarget, .ns = key.ns, .name = key.name};
}

/// One whose rows every cluster inventory has that has the target.
inline inventory::Owner owner_of_cluster_target(const std::string& name) {
  return {.owner_class = inventory::OwnerClass::kClusterTarget, .ns = "", .name = name};
}

}  // namespace kollect::manager
