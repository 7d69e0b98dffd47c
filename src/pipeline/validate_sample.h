// Trying profiles on sample objects (spec: pipeline 13, --sample).
#pragma once

#include <string>
#include <vector>

#include "api/types.h"
#include "base/json/document.h"
#include "pipeline/namespace_labels.h"

namespace kollect::pipeline {

/// What became of one attribute over all objects of the profile's kind.
struct SampleFinding {
  std::string field;  ///< "spec.attributes[2]", or "" for the profile as a whole
  std::string message;
};

/// What a profile is tried on, read for it.
struct Sample {
  std::vector<base::json::Document> objects;
  NamespaceLabels namespaces;
};

/// Evaluates the profile on those of `objects` that are of its kind and names attributes that are
/// absent, null, of another type than declared, or failing. When the CustomResourceDefinition of
/// the kind is among the objects: also a version that it does not serve, and fields of JSON paths
/// that it does not have. A profile that does not compile has no findings here: admission reports
/// it. `namespaces`: for expressions that read their labels.
std::vector<SampleFinding> try_profile(const api::Profile& profile,
                                       const std::vector<base::json::View>& objects,
                                       const NamespaceLabels& namespaces);

}  // namespace kollect::pipeline
