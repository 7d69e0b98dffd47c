// The description of the API's own routes (OpenAPI 3.0.3), made of open_api.yaml.
#pragma once

#include <string>
#include <string_view>

#include "base/json/value.h"

namespace kollect::readapi {

/// As it is written.
std::string_view open_api_text();
/// The same as a value, with what it repeats spelled out.
base::json::Value open_api();

}  // namespace kollect::readapi
