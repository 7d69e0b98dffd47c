// CustomResourceDefinitions: applying one makes its kind served.
#pragma once

#include <vector>

#include "base/json/value.h"
#include "sandbox/registry.h"
#include "sandbox/status.h"

namespace kollect::sandbox {

/// Fills in what a definition may leave out.
void default_definition(base::json::Value& definition);
/// What keeps a definition from being taken; empty: nothing.
std::vector<Cause> check_definition(const base::json::Value& definition);
/// The kinds that it serves, one for each version. The definition has passed the check.
std::vector<ServedPtr> served_by(const base::json::Value& definition);
/// Its status once it is served: names, conditions, stored versions. False when it stands so
/// already.
bool establish(base::json::Value& definition, const std::string& now);

}  // namespace kollect::sandbox
