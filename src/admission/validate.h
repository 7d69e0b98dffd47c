// Judging the manifests of a configuration together: each by review(), then what only shows when
// they stand side by side (spec: pipeline 13).
#pragma once

#include <string>
#include <vector>

#include "admission/admission.h"

namespace kollect::admission {

/// One of our manifests, or a Secret or ConfigMap that they may refer to.
struct SetMember {
  const base::json::Value* manifest = nullptr;
  std::string kind;
  std::string ns;  ///< "" for cluster-scoped kinds
  std::string name;
};

struct SetOptions {
  Settings settings;
  /// The members are one configuration: they stand for the cluster in rules that look objects up,
  /// and references between them are checked.
  bool together = true;
};

/// Verdicts in the order of the members. `existing` stands for the cluster in any case. Findings of
/// the set as a whole are appended to the verdicts of the members they point at: an unmet profile
/// reference and malformed Secret data as errors (kind "NotFound" or "Invalid", stage kWebhook when
/// there was none), everything else as warnings of the form "field: text".
std::vector<Verdict> review_set(const std::vector<SetMember>& members,
                                const std::vector<base::json::Value>& existing,
                                const SetOptions& options);

/// The Secret references of a sink manifest: field path and reference, with the sink's namespace
/// filled in.
struct SinkSecret {
  std::string field;
  std::string ns;
  std::string name;
  bool ca = false;  ///< a CA bundle: a ConfigMap does as well
};
std::vector<SinkSecret> secrets_of_sink(const base::json::Value& sink,
                                        const std::string& sink_namespace);

}  // namespace kollect::admission
