// What `kollect init` decided, and the manifests that follow from it (spec: pipeline 14.4).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/types.h"
#include "base/result.h"
#include "kube/client.h"

namespace kollect::pipeline::init {

struct PlannedAttribute {
  std::string name;
  std::string path;
  std::string type;
  bool optional = false;
};

/// One profile and one target.
struct Plan {
  api::GroupVersionKind kind;
  bool namespaced = true;
  std::string name;  ///< of profile and target
  std::string target_namespace = "kollect-system";
  std::vector<PlannedAttribute> attributes;
  std::vector<std::string> included_namespaces;
  std::optional<api::LabelSelector> namespace_selector;
  std::optional<api::LabelSelector> object_selector;
  std::vector<std::string> names;
  std::string match_policy;  ///< leaves noise out; empty: none
  bool allow_secret_extraction = false;
};

/// Manifests as YAML, keys sorted, no comments: the same plan gives the same bytes.
std::string profile_yaml(const Plan& plan);
std::string target_yaml(const Plan& plan);

/// Both manifests judged by schema and admission rules; error (configuration) with all findings.
base::Result<> check(const Plan& plan);

/// Reads "k=v", "k!=v", "k in (a,b)", "k notin (a,b)", "k", "!k", separated by commas or blanks.
/// Error: configuration.
base::Result<api::LabelSelector> parse_selector(std::string_view text);

/// Default name of a plan: the kind in lower case.
std::string default_name(const api::GroupVersionKind& kind);

/// Attributes that are safe for every kind: namespace, name, creationTimestamp, labels.
std::vector<PlannedAttribute> safe_attributes(bool namespaced);
/// The safe ones and what a preset knows of this kind (workloads, services, ingresses,
/// certificates, Flux and Argo objects); `labels` is left out where the preset says more.
std::vector<PlannedAttribute> preset_attributes(const api::GroupVersionKind& kind, bool namespaced);

/// Kinds that `init --all` leaves out: events, leases, endpoints and slices, reviews, nodes'
/// heartbeats.
bool is_noise_kind(const kube::Resource& resource);
/// A matchPolicy that leaves out the noisy objects of a kind (owned pods and replica sets, Helm
/// storage Secrets); "".
std::string noise_policy(const api::GroupVersionKind& kind);
/// Core Secret, or a kind that --sensitive names ("group/Kind", core kinds "Kind").
bool is_sensitive(const api::GroupVersionKind& kind,
                  const std::vector<std::string>& sensitive_kinds);

}  // namespace kollect::pipeline::init
