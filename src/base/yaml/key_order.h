// Order of keys in written mappings (spec: sinks 4.1).
#pragma once

#include <string_view>
#include <vector>

#include "base/json/document.h"

namespace kollect::base::yaml {

/// Numbers in keys count as numbers, letters come after everything else. No order in the strict
/// sense: mixtures of digits and letters can form circles (a9 < a10 < a1b < a9).
bool key_less(std::string_view a, std::string_view b);

/// Members of an object in the order in which they are written; of duplicate keys the last. Depends
/// on the set of keys alone.
std::vector<json::View::Member> ordered_members(json::View object);

/// Letter by Unicode category (L*).
bool is_letter(char32_t c);

}  // namespace kollect::base::yaml
