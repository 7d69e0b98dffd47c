// Attributes and noise rules that `kollect init` knows for common kinds.
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "pipeline/init/plan.h"

namespace kollect::pipeline::init {

namespace {

struct Preset {
  std::string_view group;
  std::string_view kind;  ///< "" stands for every kind of the group
  std::vector<PlannedAttribute> attributes;
};

const PlannedAttribute kImages{"images", "$[].spec.template.spec.containers[*].image", "list",
                               true};

std::vector<PlannedAttribute> flux_status() {
  return {{"ready", "$.status.conditions[?(@.type==\"Ready\")].status", "string", true},
          {"suspended", "$.spec.suspend", "bool", true},
          {"revision", "$.status.lastAppliedRevision", "string", true}};
}

std::vector<Preset> workload_presets() {
  const PlannedAttribute replicas{"replicas", "$.spec.replicas", "int", true};
  const PlannedAttribute ready{"readyReplicas", "$.status.readyReplicas", "int", true};
  return {
      {"apps", "Deployment", {replicas, ready, kImages}},
      {"apps",
       "StatefulSet",
       {replicas, ready, kImages, {"serviceName", "$.spec.serviceName", "string", true}}},
      {"apps",
       "DaemonSet",
       {{"desired", "$.status.desiredNumberScheduled", "int", true},
        {"ready", "$.status.numberReady", "int", true},
        kImages}},
      {"batch", "Job", {{"succeeded", "$.status.succeeded", "int", true}, kImages}},
      {"batch",
       "CronJob",
       {{"schedule", "$.spec.schedule", "string", false},
        {"suspend", "$.spec.suspend", "bool", true},
        {"images", "$[].spec.jobTemplate.spec.template.spec.containers[*].image", "list", true}}},
      {"",
       "Pod",
       {{"phase", "$.status.phase", "string", true},
        {"node", "$.spec.nodeName", "string", true},
        {"images", "$[].spec.containers[*].image", "list", true}}},
  };
}

std::vector<Preset> network_presets() {
  return {
      {"",
       "Service",
       {{"type", "$.spec.type", "string", true},
        {"clusterIP", "$.spec.clusterIP", "string", true},
        {"ports", "$[].spec.ports[*].port", "list", true},
        {"selector", "$.spec.selector", "map", true}}},
      {"networking.k8s.io",
       "Ingress",
       {{"class", "$.spec.ingressClassName", "string", true},
        {"hosts", "$[].spec.rules[*].host", "list", true},
        {"tlsHosts", "$[].spec.tls[*].hosts[*]", "list", true}}},
      {"gateway.networking.k8s.io", "HTTPRoute", {{"hostnames", "$.spec.hostnames", "list", true}}},
      {"cert-manager.io",
       "Certificate",
       {{"dnsNames", "$.spec.dnsNames", "list", true},
        {"issuer", "$.spec.issuerRef.name", "string", true},
        {"notAfter", "$.status.notAfter", "timestamp", true},
        {"ready", "$.status.conditions[?(@.type==\"Ready\")].status", "string", true}}},
  };
}

std::vector<Preset> delivery_presets() {
  std::vector<Preset> presets = {
      {"argoproj.io",
       "Application",
       {{"repo", "$.spec.source.repoURL", "string", true},
        {"revision", "$.spec.source.targetRevision", "string", true},
        {"destination", "$.spec.destination.namespace", "string", true},
        {"sync", "$.status.sync.status", "string", true},
        {"health", "$.status.health.status", "string", true}}},
      {"",
       "Node",
       {{"kubelet", "$.status.nodeInfo.kubeletVersion", "string", true},
        {"os", "$.status.nodeInfo.osImage", "string", true},
        {"cpu", "$.status.capacity.cpu", "quantity", true},
        {"memory", "$.status.capacity.memory", "quantity", true}}},
      {"", "Namespace", {{"phase", "$.status.phase", "string", true}}},
  };
  Preset helm_release{"helm.toolkit.fluxcd.io", "HelmRelease", flux_status()};
  helm_release.attributes.push_back({"chart", "$.spec.chart.spec.chart", "string", true});
  helm_release.attributes.push_back({"version", "$.spec.chart.spec.version", "string", true});
  presets.push_back(std::move(helm_release));
  for (std::string_view group : {"kustomize.toolkit.fluxcd.io", "source.toolkit.fluxcd.io",
                                 "image.toolkit.fluxcd.io", "notification.toolkit.fluxcd.io"}) {
    presets.push_back({group, "", flux_status()});
  }
  return presets;
}

std::vector<PlannedAttribute> known_for(const api::GroupVersionKind& kind) {
  for (const auto& presets : {workload_presets(), network_presets(), delivery_presets()}) {
    for (const Preset& preset : presets) {
      if (preset.group == kind.group && (preset.kind.empty() || preset.kind == kind.kind))
        return preset.attributes;
    }
  }
  return {};
}

}  // namespace

std::vector<PlannedAttribute> safe_attributes(bool namespaced) {
  std::vector<PlannedAttribute> attributes;
  if (namespaced) attributes.push_back({"namespace", "$.metadata.namespace", "string", false});
  attributes.push_back({"name", "$.metadata.name", "string", false});
  attributes.push_back({"creationTimestamp", "$.metadata.creationTimestamp", "string", false});
  attributes.push_back({"labels", "$.metadata.labels", "object", false});
  return attributes;
}

std::vector<PlannedAttribute> preset_attributes(const api::GroupVersionKind& kind,
                                                bool namespaced) {
  std::vector<PlannedAttribute> attributes = safe_attributes(namespaced);
  for (PlannedAttribute& known : known_for(kind)) attributes.push_back(std::move(known));
  return attributes;
}

bool is_noise_kind(const kube::Resource& resource) {
  static constexpr std::array<std::string_view, 3> kGroups = {
      "events.k8s.io", "coordination.k8s.io", "metrics.k8s.io"};
  static constexpr std::array<std::string_view, 9> kKinds = {"Event",
                                                             "Lease",
                                                             "Endpoints",
                                                             "EndpointSlice",
                                                             "ControllerRevision",
                                                             "ComponentStatus",
                                                             "CSIStorageCapacity",
                                                             "IPAddress",
                                                             "PodTemplate"};
  if (std::ranges::find(kGroups, resource.group) != kGroups.end()) return true;
  if (std::ranges::find(kKinds, resource.kind) != kKinds.end()) return true;
  if (resource.kind.ends_with("Review") && resource.group.ends_with("k8s.io")) return true;
  return resource.group == api::kGroup;
}

std::string noise_policy(const api::GroupVersionKind& kind) {
  const bool owned_copies = (kind.group.empty() && kind.kind == "Pod") ||
                            (kind.group == "apps" && kind.kind == "ReplicaSet") ||
                            (kind.group == "batch" && kind.kind == "Job");
  if (owned_copies) return "!has(object.metadata.ownerReferences)";
  if (kind.group.empty() && kind.kind == "Secret") {
    return "!has(object.type) || object.type != 'helm.sh/release.v1'";
  }
  return {};
}

bool is_sensitive(const api::GroupVersionKind& kind,
                  const std::vector<std::string>& sensitive_kinds) {
  if (kind.group.empty() && base::iequals(kind.kind, "Secret")) return true;
  const std::string full = kind.group.empty() ? kind.kind : kind.group + "/" + kind.kind;
  return std::ranges::any_of(sensitive_kinds, [&](const std::string& s) {
    return base::iequals(s, full) || base::iequals(s, "/" + full);
  });
}

}  // namespace kollect::pipeline::init
