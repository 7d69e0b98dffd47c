// The description of the API's own routes.
#pragma once

#include <string>

#include "base/json/value.h"

namespace kollect::fleet {

/// An OpenAPI 3.0.3 document, made of open_api.yaml.
base::json::Value open_api();
/// The same as YAML.
std::string open_api_text();

}  // namespace kollect::fleet
