// Attribute suggestions from one sampled object (spec: pipeline 14.3).
#pragma once

#include <string>
#include <vector>

#include "base/json/document.h"
#include "pipeline/init/plan.h"

namespace kollect::pipeline::init {

struct Suggestion {
  PlannedAttribute attribute;
  std::string preview;        ///< empty for sensitive kinds and for members of data and stringData
  bool secret_value = false;  ///< lies below data or stringData of the object
};

/// Every leaf of the object, keys sorted, of a list its first element; server-made metadata and the
/// last-applied annotation left out; at most 40; names unique. Values are shown only when the kind
/// is not sensitive.
std::vector<Suggestion> suggest(base::json::View object, bool sensitive);

}  // namespace kollect::pipeline::init
