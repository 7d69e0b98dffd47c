// The jq expressions of Argo CD's ignoreDifferences that a path can say (spec: extraction 7).
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace kollect::extract {

/// The JSONPath that finds the same places. Known are .a ."x.y" .["x.y"] [0] [-1] [] ? and, behind
/// [], | select(…) with comparisons, and, or, not; more steps may follow. Elements without the key
/// pass no comparison, as in filters of JSONPath. Error: the part that is not known, with its
/// position in characters from 1.
std::expected<std::string, std::string> jsonpath_of_jq(std::string_view text);

}  // namespace kollect::extract
