// Differences of records, member by member: references by id, patches by component and key.
#pragma once

#include <string>
#include <vector>

#include "base/json/value.h"

namespace kollect::fleet {

/// One member that differs. The path leads through objects by key and through lists of objects with
/// ids by id.
struct Difference {
  std::vector<std::string> path;
  base::json::Value before;  ///< null: not there
  base::json::Value after;   ///< null: not there
};

/// In the order of the members of `before`, then what is new.
std::vector<Difference> differences(const base::json::Value& before,
                                    const base::json::Value& after);
/// [{"path": [...], "before": ..., "after": ...}]
base::json::Value to_value(const std::vector<Difference>& differences);

/// The value at a path; null: there is none.
const base::json::Value* value_at(const base::json::Value& record,
                                  const std::vector<std::string>& path);
/// Sets it, or takes it away when `value` is null; what a path leads through is made.
void set_at(base::json::Value& record, const std::vector<std::string>& path,
            const base::json::Value& value);

}  // namespace kollect::fleet
