// The kinds that every cluster has and this server keeps, without schemas.
#include "base/strings.h"
#include "sandbox/registry.h"

namespace kollect::sandbox {

namespace {

constexpr unsigned kCluster = 1U;     ///< not namespaced
constexpr unsigned kStatus = 2U;      ///< status subresource
constexpr unsigned kGeneration = 4U;  ///< metadata.generation follows the spec
constexpr unsigned kScale = 8U;       ///< scale subresource
constexpr unsigned kReview = 16U;     ///< create only
constexpr unsigned kInAll = 32U;      ///< category "all"
constexpr unsigned kWorkload = kStatus | kGeneration | kInAll;

struct Row {
  const char* group;
  const char* version;
  const char* kind;
  const char* plural;
  const char* short_names;
  unsigned traits;
  const char* selectable;
  /// "NAME:type:path" joined by "|"; a small "w" in front of the type: shown with -o wide. Type
  /// "count": how many members or
  /// elements; "list": all that the path finds; "true": whether it finds "True".
  const char* columns;
};

constexpr const char* kRbac = "rbac.authorization.k8s.io";
constexpr const char* kAuthorization = "authorization.k8s.io";

constexpr Row kRows[] = {
    {"", "v1", "ConfigMap", "configmaps", "cm", 0, "", "Data:count:.data"},
    {"", "v1", "Endpoints", "endpoints", "ep", 0, "", ""},
    {"", "v1", "Event", "events", "ev", 0,
     "involvedObject.kind,involvedObject.namespace,involvedObject.name,involvedObject.uid,"
     "involvedObject.apiVersion,involvedObject.resourceVersion,involvedObject.fieldPath,reason,"
     "reportingComponent,source,type",
     "Type:string:.type|Reason:string:.reason|Object:string:.involvedObject.name|"
     "Message:string:.message"},
    {"", "v1", "LimitRange", "limitranges", "limits", 0, "", ""},
    {"", "v1", "Namespace", "namespaces", "ns", kCluster | kStatus, "status.phase",
     "Status:string:.status.phase"},
    {"", "v1", "Node", "nodes", "no", kCluster | kStatus, "spec.unschedulable",
     "Version:string:.status.nodeInfo.kubeletVersion"},
    {"", "v1", "PersistentVolume", "persistentvolumes", "pv", kCluster | kStatus, "",
     "Capacity:string:.spec.capacity.storage|Status:string:.status.phase|"
     "Storage Class:string:.spec.storageClassName"},
    {"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", kStatus, "",
     "Status:string:.status.phase|Volume:string:.spec.volumeName|"
     "Capacity:string:.status.capacity.storage|Storage Class:string:.spec.storageClassName"},
    {"", "v1", "Pod", "pods", "po", kStatus | kInAll,
     "spec.nodeName,spec.restartPolicy,spec.schedulerName,spec.serviceAccountName,"
     "spec.hostNetwork,status.phase,status.podIP,status.nominatedNodeName",
     "Status:string:.status.phase|IP:wstring:.status.podIP|Node:wstring:.spec.nodeName"},
    {"", "v1", "ReplicationController", "replicationcontrollers", "rc", kWorkload | kScale,
     "status.replicas", "Desired:integer:.spec.replicas|Current:integer:.status.replicas"},
    {"", "v1", "ResourceQuota", "resourcequotas", "quota", kStatus, "", ""},
    {"", "v1", "Secret", "secrets", "", 0, "type", "Type:string:.type|Data:count:.data"},
    {"", "v1", "Service", "services", "svc", kStatus | kInAll, "",
     "Type:string:.spec.type|Cluster-IP:string:.spec.clusterIP"},
    {"", "v1", "ServiceAccount", "serviceaccounts", "sa", 0, "", ""},
    {"admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration",
     "mutatingwebhookconfigurations", "", kCluster | kGeneration, "", ""},
    {"admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration",
     "validatingwebhookconfigurations", "", kCluster | kGeneration, "", ""},
    {"apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions",
     "crd,crds", kCluster | kStatus | kGeneration, "",
     "Scope:string:.spec.scope|Versions:list:.spec.versions[*].name|"
     "Created At:date:.metadata.creationTimestamp|Group:wstring:.spec.group|"
     "Kind:wstring:.spec.names.kind|ShortNames:wlist:.spec.names.shortNames[*]|"
     "Established:wtrue:.status.conditions[?(@.type=='Established')].status"},
    {"apiregistration.k8s.io", "v1", "APIService", "apiservices", "", kCluster | kStatus, "",
     "Service:string:.spec.service.name"},
    {"apps", "v1", "ControllerRevision", "controllerrevisions", "", 0, "",
     "Revision:integer:.revision"},
    {"apps", "v1", "DaemonSet", "daemonsets", "ds", kWorkload, "",
     "Desired:integer:.status.desiredNumberScheduled|Ready:integer:.status.numberReady"},
    {"apps", "v1", "Deployment", "deployments", "deploy", kWorkload | kScale, "",
     "Replicas:integer:.spec.replicas|Ready:integer:.status.readyReplicas|"
     "Up-to-date:integer:.status.updatedReplicas|Available:integer:.status.availableReplicas"},
    {"apps", "v1", "ReplicaSet", "replicasets", "rs", kWorkload | kScale, "status.replicas",
     "Desired:integer:.spec.replicas|Current:integer:.status.replicas|"
     "Ready:integer:.status.readyReplicas"},
    {"apps", "v1", "StatefulSet", "statefulsets", "sts", kWorkload | kScale, "",
     "Replicas:integer:.spec.replicas|Ready:integer:.status.readyReplicas"},
    {"authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", "",
     kCluster | kReview, "", ""},
    {"authentication.k8s.io", "v1", "TokenReview", "tokenreviews", "", kCluster | kReview, "", ""},
    {kAuthorization, "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", "", kReview, "",
     ""},
    {kAuthorization, "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", "",
     kCluster | kReview, "", ""},
    {kAuthorization, "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", "",
     kCluster | kReview, "", ""},
    {kAuthorization, "v1", "SubjectAccessReview", "subjectaccessreviews", "", kCluster | kReview,
     "", ""},
    {"autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa",
     kStatus | kInAll, "",
     "Reference:string:.spec.scaleTargetRef.name|MinPods:integer:.spec.minReplicas|"
     "MaxPods:integer:.spec.maxReplicas|Replicas:integer:.status.currentReplicas"},
    {"batch", "v1", "CronJob", "cronjobs", "cj", kWorkload, "",
     "Schedule:string:.spec.schedule|Suspend:boolean:.spec.suspend"},
    {"batch", "v1", "Job", "jobs", "", kWorkload, "status.successful",
     "Completions:integer:.spec.completions|Succeeded:integer:.status.succeeded"},
    {"coordination.k8s.io", "v1", "Lease", "leases", "", 0, "",
     "Holder:string:.spec.holderIdentity"},
    {"discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "", kGeneration, "",
     "AddressType:string:.addressType"},
    {"events.k8s.io", "v1", "Event", "events", "ev", 0,
     "reason,type,reportingController,regarding.kind,regarding.name,regarding.namespace,"
     "regarding.uid",
     "Type:string:.type|Reason:string:.reason|Object:string:.regarding.name|Message:string:.note"},
    {"networking.k8s.io", "v1", "Ingress", "ingresses", "ing", kStatus | kGeneration, "",
     "Class:string:.spec.ingressClassName|Hosts:string:.spec.rules[*].host"},
    {"networking.k8s.io", "v1", "IngressClass", "ingressclasses", "", kCluster | kGeneration, "",
     "Controller:string:.spec.controller"},
    {"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "netpol", kGeneration, "", ""},
    {"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", kStatus | kGeneration,
     "", "Min Available:string:.spec.minAvailable|Max Unavailable:string:.spec.maxUnavailable"},
    {kRbac, "v1", "ClusterRole", "clusterroles", "", kCluster, "", ""},
    {kRbac, "v1", "ClusterRoleBinding", "clusterrolebindings", "", kCluster, "",
     "Role:string:.roleRef.name"},
    {kRbac, "v1", "Role", "roles", "", 0, "", ""},
    {kRbac, "v1", "RoleBinding", "rolebindings", "", 0, "", "Role:string:.roleRef.name"},
    {"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "pc", kCluster | kGeneration,
     "", "Value:integer:.value"},
    {"storage.k8s.io", "v1", "StorageClass", "storageclasses", "sc", kCluster, "",
     "Provisioner:string:.provisioner"},
};

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  if (text.empty()) return out;
  for (const auto word : base::split(text, ',')) out.emplace_back(word);
  return out;
}

std::vector<Column> columns_of(std::string_view text) {
  std::vector<Column> out;
  if (text.empty()) return out;
  for (const auto part : base::split(text, '|')) {
    const auto fields = base::split(part, ':');
    Column column;
    column.name = fields[0];
    column.type = fields[1];
    column.json_path = fields[2];
    if (column.type.starts_with('w')) {
      column.priority = 1;
      column.type.erase(0, 1);
    }
    out.push_back(std::move(column));
  }
  return out;
}

}  // namespace

std::vector<ServedPtr> builtin_kinds() {
  std::vector<ServedPtr> out;
  for (const Row& row : kRows) {
    auto served = std::make_shared<Served>();
    served->group = row.group;
    served->version = row.version;
    served->kind = row.kind;
    served->list_kind = served->kind + "List";
    served->plural = row.plural;
    served->singular = base::to_lower(row.kind);
    served->short_names = words(row.short_names);
    served->namespaced = (row.traits & kCluster) == 0;
    served->has_status = (row.traits & kStatus) != 0;
    served->counts_generation = (row.traits & kGeneration) != 0;
    served->has_scale = (row.traits & kScale) != 0;
    served->create_only = (row.traits & kReview) != 0;
    if ((row.traits & kInAll) != 0) served->categories = {"all"};
    served->selectable = words(row.selectable);
    served->columns = columns_of(row.columns);
    out.push_back(std::move(served));
  }
  return out;
}

}  // namespace kollect::sandbox
