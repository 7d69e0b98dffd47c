#include "extract/prune_preset.h"

#include <algorithm>
#include <array>

namespace kollect::extract {

namespace {

using base::json::View;

constexpr std::array<std::string_view, 5> kDeliveryPrefixes = {
    "argocd.argoproj.io", "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io", "meta.helm.sh",
    "config.k8s.io"};

void mark_kubernetes(View object, NodeSet& removed) {
  for (const auto* key : {"managedFields", "resourceVersion", "generation"})
    mark_member(object, {"metadata", key}, removed);
  for (const auto* key :
       {"kubectl.kubernetes.io/last-applied-configuration", "argocd.argoproj.io/tracking-id"}) {
    mark_member(object, {"metadata", "annotations", key}, removed);
  }
}

void mark_gitops(View object, NodeSet& removed) {
  for (const auto* map : {"annotations", "labels"}) {
    const auto found = find_visible(object, {"metadata", map}, removed);
    if (!found) continue;
    for (const auto member : found->members()) {
      const auto slash = member.key.find('/');
      if (slash != std::string_view::npos &&
          std::ranges::find(kDeliveryPrefixes, member.key.substr(0, slash)) !=
              kDeliveryPrefixes.end()) {
        removed.insert(member.value);
      }
    }
  }
  mark_member(object, {"metadata", "labels", "helm.sh/chart"}, removed);
}

void mark_quiet(View object, NodeSet& removed) {
  mark_member(object, {"status", "observedGeneration"}, removed);
  if (const auto conditions = find_visible(object, {"status", "conditions"}, removed)) {
    for (const auto condition : conditions->items()) {
      for (const auto* key : {"lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime",
                              "lastProbeTime", "observedGeneration"}) {
        mark_member(condition, {key}, removed);
      }
    }
  }
  for (const auto* key :
       {"deployment.kubernetes.io/revision", "endpoints.kubernetes.io/last-change-trigger-time",
        "control-plane.alpha.kubernetes.io/leader"}) {
    mark_member(object, {"metadata", "annotations", key}, removed);
  }
  for (const auto* key : {"pod-template-hash", "controller-revision-hash", "controller-uid",
                          "batch.kubernetes.io/controller-uid"}) {
    mark_member(object, {"metadata", "labels", key}, removed);
  }
}

}  // namespace

std::optional<View> find_visible(View object, std::initializer_list<std::string_view> keys,
                                 const NodeSet& removed) {
  View at = object;
  for (const auto key : keys) {
    const auto next = at.find(key);
    if (!next || removed.contains(*next)) return std::nullopt;
    at = *next;
  }
  return at;
}

void mark_member(View object, std::initializer_list<std::string_view> keys, NodeSet& removed) {
  if (const auto found = find_visible(object, keys, removed)) removed.insert(*found);
}

std::optional<PrunePreset> parse_preset(std::string_view word) {
  if (word == "none") return PrunePreset::kNone;
  if (word == "kubernetes") return PrunePreset::kKubernetes;
  if (word == "gitops") return PrunePreset::kGitops;
  if (word == "quiet") return PrunePreset::kQuiet;
  return std::nullopt;
}

void mark_preset(PrunePreset preset, View object, NodeSet& removed) {
  if (preset >= PrunePreset::kKubernetes) mark_kubernetes(object, removed);
  if (preset >= PrunePreset::kGitops) mark_gitops(object, removed);
  if (preset >= PrunePreset::kQuiet) mark_quiet(object, removed);
}

}  // namespace kollect::extract
