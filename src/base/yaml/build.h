// From libyaml's events to one document's value.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/yaml/read.h"
#include "base/yaml/split.h"

namespace kollect::base::yaml {

/// What one piece of a stream gave: a document, nothing (empty), or a problem.
struct BuildResult {
  std::optional<Document> document;
  std::optional<Problem> problem;
};

/// Parses one piece. `index` is given to the document and the problem.
BuildResult build_document(const Piece& piece, const Limits& limits, std::uint32_t index);

}  // namespace kollect::base::yaml
