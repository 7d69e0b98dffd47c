// Parts of a cluster's record: its references to definitions, and the patches of a component (spec:
// fleet-api 15.6).
#pragma once

#include <string>
#include <string_view>

#include "base/json/value.h"
#include "fleet/draft.h"

namespace kollect::fleet {

/// The reference of a cluster to a definition; null: it has none.
const base::json::Value* reference_in(const base::json::Value& cluster, Family definitions,
                                      std::string_view id);
/// The patches of a component; null: there are none.
const base::json::Value* patches_in(const base::json::Value& cluster, std::string_view component);

/// Puts a reference in the place of the cluster's own, or behind the others. `reference` is as in a
/// cluster's record; its id may be left out. 400 when it has another id.
Outcome<> assign(Draft& draft, const std::string& cluster, Family definitions,
                 const std::string& id, const base::json::Value& reference);
/// The same, but of a reference that is there only what `reference` names changes; null clears.
Outcome<> assign_merging(Draft& draft, const std::string& cluster, Family definitions,
                         const std::string& id, const base::json::Value& reference);
/// With the patches of a component. 404 when the cluster has no such reference.
Outcome<> unassign(Draft& draft, const std::string& cluster, Family definitions,
                   const std::string& id);
/// All patches of a component; none: they go.
Outcome<> set_patches(Draft& draft, const std::string& cluster, const std::string& component,
                      const base::json::Value& patches);
/// Some patches of a component; null clears one.
Outcome<> merge_patches(Draft& draft, const std::string& cluster, const std::string& component,
                        const base::json::Value& patches);

}  // namespace kollect::fleet
