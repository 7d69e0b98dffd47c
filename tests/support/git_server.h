// Real Git servers over http, https and ssh for tests of label "server" (scripts/servers/git.sh).
#pragma once

#include <filesystem>
#include <string>

#include "support/server_script.h"

namespace kollect::testing {

/// One instance per test program, started at the first call and stopped at exit. Aborts the program
/// when it cannot be started: such tests must not be skipped. Users: test / secret, and ro /
/// ro-secret who may not push.
class GitServer {
 public:
  static GitServer& shared();

  /// Makes an empty bare repository (branch main, fast-forward pushes only); its folder.
  std::filesystem::path make_repository(const std::string& name) const;
  /// https://127.0.0.1:port, and the others alike; append "/NAME.git".
  [[nodiscard]] std::string https_url() const { return script_.value("GIT_HTTPS_URL"); }
  [[nodiscard]] std::string http_url() const { return script_.value("GIT_HTTP_URL"); }
  [[nodiscard]] std::string ssh_url() const { return script_.value("GIT_SSH_URL"); }
  [[nodiscard]] std::filesystem::path ca_file() const { return script_.value("GIT_CA"); }
  [[nodiscard]] std::filesystem::path ssh_key_file() const { return script_.value("GIT_SSH_KEY"); }
  /// A key that the server does not know.
  [[nodiscard]] std::filesystem::path other_key_file() const {
    return ssh_key_file().parent_path() / "other_key";
  }
  [[nodiscard]] std::filesystem::path known_hosts_file() const {
    return script_.value("GIT_KNOWN_HOSTS");
  }

 private:
  GitServer();
  ServerScript script_;
};

}  // namespace kollect::testing
