// Compiles one attribute and extracts it from an object: the way every path language is met from
// outside.
#pragma once

#include <string>
#include <string_view>

#include "base/json/document.h"
#include "extract/program.h"
#include "fuzz_input.h"

namespace kollect::fuzz {

/// Compiles `path` (true when it compiles) and runs it on `object_json` when that is JSON. The row
/// must be JSON again, and the same at the second try.
inline bool try_attribute(std::string path, std::string_view object_json) {
  api::ProfileSpec spec;
  spec.target_gvk = {"apps", "v1", "Deployment"};
  api::Attribute attribute;
  attribute.name = "a";
  attribute.path = std::move(path);
  spec.attributes.push_back(std::move(attribute));
  extract::Program::CompileInput input;
  input.spec = &spec;
  input.annotations[api::kAllowSecretExtraction] = "true";
  const auto program = extract::Program::compile(input);
  if (!program) {
    require(!program.error().empty(), "a profile that does not compile has a problem to show");
    return false;
  }
  const auto object = base::json::Document::parse(object_json);
  if (!object) return true;
  const auto row = program->extract(object->root(), {});
  if (!row) {
    require(row.error().message.size() <= 256, "an error is at most 256 bytes");
    return true;
  }
  require(base::json::Document::parse(row->attributes_json).has_value(), "attributes are JSON");
  const auto again = program->extract(object->root(), {});
  require(again && again->attributes_json == row->attributes_json,
          "the same object gives the same row");
  return true;
}

}  // namespace kollect::fuzz
