// A real kube-apiserver with etcd for tests of label "server" (scripts/servers/kube.sh).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace kollect::testing {

/// Runs from start() to its destruction. Each name is an instance of its own; two at a time may
/// run.
class KubeServer {
 public:
  /// Starts or fails with the script's last words (programs missing: scripts/servers/build.sh).
  /// `env` is added to the script's environment, for example {"KCM", "1"}.
  static base::Result<KubeServer> start(const std::string& name,
                                        const std::map<std::string, std::string>& env = {});
  /// One server for all tests of a program, started at the first call and stopped at exit. Aborts
  /// the program when it cannot be started: such tests must not be skipped. Use own namespaces.
  static KubeServer& shared();

  KubeServer(KubeServer&& other) noexcept;
  KubeServer& operator=(KubeServer&&) = delete;
  ~KubeServer();

  /// https://127.0.0.1:port
  [[nodiscard]] std::string url() const { return value("KUBE_SERVER"); }
  /// Kubeconfig of the administrator (client certificate).
  [[nodiscard]] std::filesystem::path kubeconfig() const { return value("KUBECONFIG"); }
  /// Kubeconfig with the token of "admin", "alice" (group team-a), "bob" (team-b) or "nobody".
  [[nodiscard]] std::filesystem::path kubeconfig_of(const std::string& user) const;
  /// Its bearer token.
  [[nodiscard]] static std::string token_of(const std::string& user) { return user + "-token"; }
  [[nodiscard]] std::filesystem::path ca_file() const { return value("KUBE_CA"); }
  [[nodiscard]] std::string context_name() const { return name_; }

  /// Same port, same data.
  base::Result<> restart_apiserver();
  /// Older resourceVersions and page tokens give 410 from now on (the API server notices within a
  /// moment).
  base::Result<> compact();
  /// Runs kubectl as the administrator; returns its output. A non-zero exit is an error.
  base::Result<std::string> kubectl(const std::vector<std::string>& args,
                                    const std::string& stdin_text = {}) const;

 private:
  KubeServer(std::string name, std::map<std::string, std::string> values)
      : name_(std::move(name)), values_(std::move(values)) {}
  [[nodiscard]] std::string value(const std::string& key) const;

  std::string name_;
  std::map<std::string, std::string> values_;
};

}  // namespace kollect::testing
