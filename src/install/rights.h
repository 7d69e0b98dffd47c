// What an operator may do, and what it has to be allowed for a set of objects (spec: runtime 16.3,
// with its corrections ).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "api/types.h"
#include "base/result.h"
#include "kube/client.h"

namespace kollect::install {

/// A rule as RBAC has it.
struct Rule {
  std::string group;
  std::vector<std::string> resources;
  std::vector<std::string> names;  ///< resourceNames; empty: all
  std::vector<std::string> verbs;
  bool operator==(const Rule&) const = default;
};

/// Rights without repeats. Namespace "" stands for all namespaces and for what has none.
class Rights {
 public:
  /// `resource` may be "targets/status"; an empty `name` means all names.
  void allow(const std::string& ns, const std::string& group, const std::string& resource,
             const std::vector<std::string>& verbs, const std::string& name = {});
  void add(const Rights& other);
  /// Takes away what is allowed more widely anyhow: by name where all names are, in one namespace
  /// where all are.
  void simplify();
  /// Rules by namespace, "" first, each as short as they get; always in the same order.
  [[nodiscard]] std::map<std::string, std::vector<Rule>> rules() const;

  struct One {
    std::string ns;
    std::string group;
    std::string resource;
    std::string name;
    std::string verb;
  };
  [[nodiscard]] std::vector<One> all() const;
  [[nodiscard]] bool empty() const { return verbs_.empty(); }

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string>;  // One but verb
  [[nodiscard]] bool has(const std::string& ns, const Key& key, const std::string& verb,
                         bool any_name) const;
  std::map<Key, std::set<std::string>> verbs_;
};

/// Names of things that the operator keeps, where none are given.
inline constexpr const char* kDefaultLease = "3274ac8a.kollect.dev";
inline constexpr const char* kDefaultWebhookSecret = "webhook-server-cert";
inline constexpr const char* kDefaultWebhookConfiguration =
    "kollect-validating-webhook-configuration";

/// How the operator is run.
struct Mode {
  bool tenant = false;
  std::vector<std::string> watch_namespaces = {};  ///< empty: all; in tenant mode never empty
  std::vector<std::string> default_included = {};
  std::vector<std::string> default_excluded = {};
  std::string own_namespace = "kollect-system";
  std::string lease = kDefaultLease;  ///< empty: without leader election
  std::string lease_namespace = {};   ///< empty: its own
  std::size_t shards = 0;  ///< parts of the work that replicas share, a lease each; 0: not shared
  [[nodiscard]] const std::string& lease_home() const {
    return lease_namespace.empty() ? own_namespace : lease_namespace;
  }
  [[nodiscard]] std::string shard_lease(std::size_t part) const;
  /// Secret of its own certificate, and the ValidatingWebhookConfiguration that is told of it;
  /// empty: it does not make one.
  std::string webhook_secret = {};
  std::string webhook_configuration = {};
  /// It asks the API server who may read its metrics.
  bool metrics = false;
  /// It asks the API server who may read its inventories.
  bool read_api = false;
  /// Every Secret may be read where our objects are watched; else only those that sinks name.
  bool all_secrets = true;
};

/// What it needs whatever it collects: its own kinds, events, namespaces, definitions, its lease.
Rights own_rights(const Mode& mode);

/// Objects that decide what has to be read.
struct Objects {
  std::vector<api::Profile> profiles;
  std::vector<api::Target> targets;
  std::vector<api::ClusterTarget> cluster_targets;
  std::vector<api::Scope> scopes;
  std::vector<api::ClusterScope> cluster_scopes;
  std::vector<api::SnapshotSink> snapshot_sinks;
  std::vector<api::DatabaseSink> database_sinks;
  std::vector<api::EventSink> event_sinks;
};

/// Resource of a kind; an error says what is missing to know it.
using Namer = std::function<base::Result<kube::Resource>(const api::GroupVersionKind&)>;

/// What one target has to read, or why that cannot be told.
struct TargetRights {
  std::string title;  ///< "KollectTarget shop/maps"
  base::Result<Rights> rights = Rights();
};
/// One entry for each target, in their order, cluster targets last. Without any target each profile
/// counts as if one read all of its kind.
std::vector<TargetRights> collection_rights(const Objects& objects, const Mode& mode,
                                            const Namer& namer);
enum class SecretUse {
  kRead,          ///< what exports need
  kReadAndWatch,  ///< and what lets a change be seen at once, not within half a minute
};
/// Exactly the Secrets that sinks name, each by its name. A watch is for metadata alone, but there
/// are no rights for that: it needs `list` and `watch` of the Secret.
Rights secret_rights(const Objects& objects, SecretUse use = SecretUse::kRead);

}  // namespace kollect::install
