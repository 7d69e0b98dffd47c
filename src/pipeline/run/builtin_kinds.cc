// Scope of the kinds that every Kubernetes server has.
#include <algorithm>
#include <array>

#include "pipeline/run/manifest_source.h"

namespace kollect::pipeline {
namespace {

struct Builtin {
  std::string_view group;
  std::string_view kind;
  bool namespaced;
};

constexpr auto kBuiltins = std::to_array<Builtin>({
    {"", "Binding", true},
    {"", "ComponentStatus", false},
    {"", "ConfigMap", true},
    {"", "Endpoints", true},
    {"", "Event", true},
    {"", "LimitRange", true},
    {"", "Namespace", false},
    {"", "Node", false},
    {"", "PersistentVolume", false},
    {"", "PersistentVolumeClaim", true},
    {"", "Pod", true},
    {"", "PodTemplate", true},
    {"", "ReplicationController", true},
    {"", "ResourceQuota", true},
    {"", "Secret", true},
    {"", "Service", true},
    {"", "ServiceAccount", true},
    {"admissionregistration.k8s.io", "MutatingWebhookConfiguration", false},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy", false},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", false},
    {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration", false},
    {"apiextensions.k8s.io", "CustomResourceDefinition", false},
    {"apiregistration.k8s.io", "APIService", false},
    {"apps", "ControllerRevision", true},
    {"apps", "DaemonSet", true},
    {"apps", "Deployment", true},
    {"apps", "ReplicaSet", true},
    {"apps", "StatefulSet", true},
    {"autoscaling", "HorizontalPodAutoscaler", true},
    {"batch", "CronJob", true},
    {"batch", "Job", true},
    {"certificates.k8s.io", "CertificateSigningRequest", false},
    {"coordination.k8s.io", "Lease", true},
    {"discovery.k8s.io", "EndpointSlice", true},
    {"events.k8s.io", "Event", true},
    {"flowcontrol.apiserver.k8s.io", "FlowSchema", false},
    {"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", false},
    {"networking.k8s.io", "Ingress", true},
    {"networking.k8s.io", "IngressClass", false},
    {"networking.k8s.io", "NetworkPolicy", true},
    {"node.k8s.io", "RuntimeClass", false},
    {"policy", "PodDisruptionBudget", true},
    {"rbac.authorization.k8s.io", "ClusterRole", false},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding", false},
    {"rbac.authorization.k8s.io", "Role", true},
    {"rbac.authorization.k8s.io", "RoleBinding", true},
    {"scheduling.k8s.io", "PriorityClass", false},
    {"storage.k8s.io", "CSIDriver", false},
    {"storage.k8s.io", "CSINode", false},
    {"storage.k8s.io", "CSIStorageCapacity", true},
    {"storage.k8s.io", "StorageClass", false},
    {"storage.k8s.io", "VolumeAttachment", false},
});

}  // namespace

std::optional<bool> builtin_is_namespaced(std::string_view group, std::string_view kind) {
  const auto it = std::ranges::find_if(
      kBuiltins, [&](const Builtin& b) { return b.group == group && b.kind == kind; });
  if (it == kBuiltins.end()) return std::nullopt;
  return it->namespaced;
}

}  // namespace kollect::pipeline
