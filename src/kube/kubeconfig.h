// Kubeconfig files: merging, contexts, and the settings to reach one cluster.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/json/value.h"
#include "base/result.h"
#include "base/secret.h"

namespace kollect::kube {

/// Everything needed to talk to one API server, resolved from one context.
struct ClusterConfig {
  std::string context_name;
  std::string server;  ///< https://host:port[/prefix]
  std::string ca_pem;
  bool insecure_skip_verify = false;
  std::string tls_server_name;
  std::string proxy_url;
  std::string default_namespace;

  std::string client_cert_pem;
  base::Secret client_key_pem;
  base::Secret token;
  std::filesystem::path token_file;  ///< re-read when it changes; wins over token
  std::string username;
  base::Secret password;
  struct Exec {
    std::string command;
    std::vector<std::string> args;
    std::map<std::string, std::string> env;
    std::string api_version;
    std::string install_hint;
    bool provide_cluster_info = false;
    std::string interactive_mode = "IfAvailable";  ///< or "Never", "Always"
    std::filesystem::path base_dir;    ///< relative commands with a slash are relative to this
    base::json::Value cluster_config;  ///< extension client.authentication.k8s.io/exec
  };
  std::optional<Exec> exec;
  struct Impersonate {
    std::string user;
    std::string uid;
    std::vector<std::string> groups;
    std::map<std::string, std::vector<std::string>> extra;
  };
  std::optional<Impersonate> impersonate;
  /// Text that is equal for two contexts with the same server and the same user entry (L-55).
  std::string identity_key;
};

/// Several files merged as kubectl does: the first that sets an entry wins (spec: pipeline 5,
/// L-52).
class Kubeconfig {
 public:
  static constexpr const char* kServiceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount";

  /// `paths` in order; missing files are skipped when there are several; relative paths inside are
  /// relative to their file. Errors (configuration) name the file, and line and column where it is
  /// not YAML.
  static base::Result<Kubeconfig> load(const std::vector<std::filesystem::path>& paths);
  /// --kubeconfig, else $KUBECONFIG (list), else ~/.kube/config; none there and a service account
  /// mounted: in-cluster, context "in-cluster". `env` is the process environment. `service_account`
  /// is the folder of a mounted account: token, ca.crt, namespace.
  static base::Result<Kubeconfig> load_default(
      const std::string& flag_path, const std::map<std::string, std::string>& env,
      const std::filesystem::path& service_account = kServiceAccountDir);

  [[nodiscard]] std::vector<std::string> context_names() const;  ///< sorted bytewise
  [[nodiscard]] const std::string& current_context() const;
  /// Settings of one context. Errors (configuration, reason "context") for a missing cluster or
  /// user entry, unreadable certificates; never another server (L-54).
  [[nodiscard]] base::Result<ClusterConfig> resolve(const std::string& context) const;

  struct Impl;  ///< of the room's own use
  explicit Kubeconfig(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Result of --context values (spec: pipeline 5, L-53): sorted names without repeats, and warnings
/// for patterns that match nothing. Errors: unknown name (offers near ones), malformed pattern,
/// nothing matched, no current context.
struct ContextSelection {
  std::vector<std::string> names;
  std::vector<std::string> warnings;
};
base::Result<ContextSelection> select_contexts(const Kubeconfig& config,
                                               const std::vector<std::string>& patterns);

/// Glob of spec pipeline 5: * ? [a-c] [^a] and backslash; * and ? match "/" too. Error: malformed
/// pattern.
base::Result<bool> glob_match(std::string_view pattern, std::string_view text);

}  // namespace kollect::kube
