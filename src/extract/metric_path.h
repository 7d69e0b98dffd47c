// Paths of metrics that read the exported object (spec: extraction 8).
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "extract/jsonpath.h"

namespace kollect::extract {

/// "resource.spec.replicas" is "$.spec.replicas" of the object under the key "resource". None: the
/// path does not begin with the key. Error: what is wrong with the rest.
std::optional<std::expected<JsonPath, std::string>> object_metric(std::string_view path,
                                                                  std::string_view key);

}  // namespace kollect::extract
