// The ways in which Kubernetes changes an object in part.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"
#include "sandbox/status.h"

namespace kollect::sandbox {

/// RFC 7386.
void merge_patch(base::json::Value& target, const base::json::Value& patch);

/// RFC 6902. Fails with 422 when an operation does not fit, 400 when the patch is malformed.
Outcome<> json_patch(base::json::Value& target, const base::json::Value& patch);

/// How a list is merged.
struct ListRule {
  enum class Kind { kReplace, kSet, kByKeys };
  Kind kind = Kind::kReplace;
  std::vector<std::string> keys;
};
/// The rule of the list at a path of member names ("spec", "template", "spec", "containers");
/// `sample` is one of its items, or null.
using ListRules =
    std::function<ListRule(const std::vector<std::string>& path, const base::json::Value* sample)>;
/// The lists of the built-in kinds that have keys, told by their names.
ListRule builtin_list_rule(const std::vector<std::string>& path, const base::json::Value* sample);

/// Strategic merge patch with its directives ($patch, $retainKeys, $setElementOrder,
/// $deleteFromPrimitiveList).
void strategic_merge_patch(base::json::Value& target, const base::json::Value& patch,
                           const ListRules& rules);

/// Server-side apply without managedFields: `applied` is merged into `target`; what the same
/// manager applied the time before (`previous`, or null) and does not any more goes.
void apply_patch(base::json::Value& target, const base::json::Value* previous,
                 const base::json::Value& applied, const ListRules& rules);

}  // namespace kollect::sandbox
