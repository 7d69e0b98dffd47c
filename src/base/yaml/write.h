// YAML out, byte for byte as Kubernetes tools print the same JSON (spec: sinks 4.1).
#pragma once

#include <string>

#include "base/json/document.h"
#include "base/json/value.h"

namespace kollect::base::yaml {

/// One YAML document of the value: block style, keys in the order of spec sinks 4.1, newline at the
/// end.
std::string write(json::View view);
std::string write(const json::Value& value);
/// Appends one element of a top-level block sequence ("- ..."), so that long sequences need not be
/// in memory.
void append_sequence_item(std::string& out, json::View view);

}  // namespace kollect::base::yaml
