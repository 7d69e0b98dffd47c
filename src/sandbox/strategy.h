// What is done to objects before they are kept, kind by kind.
#pragma once

#include <string>
#include <vector>

#include "base/json/value.h"
#include "sandbox/registry.h"
#include "sandbox/status.h"

namespace kollect::sandbox {

/// Defaults and bookkeeping of a built-in kind on a new object, as kube-apiserver does them where
/// clients depend on it; status goes where it is a subresource.
void prepare_new(const Served& served, base::json::Value& object, bool keep_status);
/// The same for a changed object.
void prepare_changed(const Served& served, base::json::Value& object);

/// Name, generateName, labels; causes of a 422.
std::vector<Cause> check_metadata(const Served& served, const base::json::Value& object);

/// True when something besides metadata and status differs.
bool content_differs(const Served& served, const base::json::Value& a, const base::json::Value& b);

}  // namespace kollect::sandbox
