// Real Git servers over http, https and ssh for tests of label "server" (scripts/servers/git.sh).
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace kollect::testing {

/// One instance per test program, started at the first call and stopped at exit. Aborts the program
/// when it cannot be started: such tests must not be skipped. Users: test / secret, and ro /
/// ro-secret who may not push.
class GitServer {
 public:
  static GitServer& shared();
  GitServer(const GitServer&) = delete;
  GitServer& operator=(const GitServer&) = delete;
  ~GitServer();

  /// Makes an empty bare repository (branch main, fast-forward pushes only); its folder.
  std::filesystem::path make_repository(const std::string& name) const;
  /// https://127.0.0.1:port, and the others alike; append "/NAME.git".
  [[nodiscard]] std::string https_url() const { return value("GIT_HTTPS_URL"); }
  [[nodiscard]] std::string http_url() const { return value("GIT_HTTP_URL"); }
  [[nodiscard]] std::string ssh_url() const { return value("GIT_SSH_URL"); }
  [[nodiscard]] std::filesystem::path ca_file() const { return value("GIT_CA"); }
  [[nodiscard]] std::filesystem::path ssh_key_file() const { return value("GIT_SSH_KEY"); }
  /// A key that the server does not know.
  [[nodiscard]] std::filesystem::path other_key_file() const {
    return ssh_key_file().parent_path() / "other_key";
  }
  [[nodiscard]] std::filesystem::path known_hosts_file() const { return value("GIT_KNOWN_HOSTS"); }

 private:
  GitServer();
  [[nodiscard]] std::string value(const std::string& key) const;
  std::string name_;
  std::map<std::string, std::string> values_;
};

}  // namespace kollect::testing
