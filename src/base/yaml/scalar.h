// Types of YAML scalars by the 1.2 core rules (spec: pipeline 2, L-43).
#pragma once

#include <string>
#include <string_view>

#include "base/json/value.h"
#include "base/result.h"

namespace kollect::base::yaml {

/// Value of a plain scalar. Error: the text is a number that JSON cannot hold (.nan, .inf).
Result<json::Value> resolve_plain(std::string_view text);

/// Value of a scalar with an explicit tag ("tag:yaml.org,2002:int"); tags that we do not know leave
/// the text as it is without a tag. Error: the text does not fit its tag.
Result<json::Value> resolve_tagged(std::string_view tag, std::string_view text, bool plain);

}  // namespace kollect::base::yaml
