// Many operations as one write, all of them or none (spec: fleet-api 15.5).
//
// {"operations": [...], "dry_run": true}. An operation has "op" and what it acts on:
//   create, apply (make or update)          "family", "record" or "records"
//   update (as PUT), patch (as PATCH)       "family", a target, "record"
//   delete                                  "family", a target, "force"
//   assign_component, assign_namespace, assign_rolebinding
//                                           a target, "component" ("namespace", "rolebinding"): an
//                                           id, or a reference whose members are merged into one
//                                           that is there
//   override_component                      the same, of clusters that have the component
//   unassign_component, ...                 a target, the id
//   set_patches, merge_patches              a target, "component", "patches"
// A target is "id", "ids" or, for clusters, "selector": "environment", "ids", "cluster_dns",
// "has_component", "lacks_component", "has_namespace", "lacks_namespace", "has_rolebinding",
// "lacks_rolebinding", "overrides_component" (each a text or a list of texts), "all": true,
// "limit". All that a selector names must be true; one that finds nobody is refused unless
// "allow_empty" is true. "if_match" (a version) goes with "id".
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json/value.h"
#include "fleet/draft.h"

namespace kollect::fleet {

/// Which records the operations of a batch were about, in their order.
class Touches {
 public:
  void add(Family family, const std::string& id, std::size_t operation);
  struct One {
    Family family;
    std::string id;
    std::vector<std::size_t> operations;
  };
  [[nodiscard]] const std::vector<One>& all() const { return all_; }

 private:
  std::vector<One> all_;
  std::map<std::pair<Family, std::string>, std::size_t> place_;
};

/// Ids of the clusters that a selector finds, sorted. Errors: 422 for a member that is not known or
/// a selector that says nothing, 404 for an id or definition that is not there, and when it finds
/// nobody.
Outcome<std::vector<std::string>> select_clusters(const Draft& draft,
                                                  const base::json::Value& selector,
                                                  bool allow_empty = false);

/// Does the operations one after another; each sees those before it. Errors begin with
/// "operations[N]: ".
Outcome<> run_operations(Draft& draft, const base::json::Value& operations, Touches& touches);

/// What became of each record: {"family", "id", "action" (created, changed, deleted, unchanged),
/// "version", "operations", "changes"}.
base::json::Array results_of(const Touches& touches, const std::vector<Change>& changes);
/// "created", "changed" or "deleted".
std::string_view action_of(const Change& change);

/// The members that a body must not have besides those known: 422.
Outcome<> only_members(const base::json::Value& object,
                       std::initializer_list<std::string_view> known);

}  // namespace kollect::fleet
