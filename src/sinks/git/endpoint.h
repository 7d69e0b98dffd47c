// Where a Git repository is (spec: sinks 7.1).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kollect::sinks::git {

enum class Scheme { kHttps, kHttp, kSsh, kLocal };

/// A parsed endpoint. Holds no credentials: user information of http(s) is dropped.
struct Remote {
  Scheme scheme = Scheme::kHttps;
  std::string
      url;  ///< what git is told: no user information, no branch fragment; a path when local
  std::string ssh_user;    ///< user of an ssh endpoint, may be empty
  std::string host;        ///< without brackets; empty when local
  std::uint16_t port = 0;  ///< of the scheme when the endpoint names none; 0 when local
  bool port_given = false;
  std::string path;    ///< path on the host, or of the folder
  std::string branch;  ///< of the "#branch=" fragment; empty without

  /// host/path for messages.
  [[nodiscard]] std::string shown() const;
};

/// https://, http://, ssh://, git@host:path, file:// and local paths. Error (configuration):
/// anything else, an unsafe host or path.
base::Result<Remote> parse_remote(std::string_view endpoint);

/// Trimmed branch name by the rules of spec crds 4.8. Error (configuration).
base::Result<std::string> check_branch(std::string_view name);
/// git.branch, else the endpoint's fragment, else main.
base::Result<std::string> choose_branch(std::string_view configured, const Remote& remote);

}  // namespace kollect::sinks::git
