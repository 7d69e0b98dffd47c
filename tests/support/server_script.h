// An instance that a script of scripts/servers starts for tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace kollect::testing {

/// Aborts the program when the script fails: tests on real servers must not be skipped. The
/// instance ends with this object, at the latest with this process.
class ServerScript {
 public:
  /// `script` is a file of scripts/servers; `name` is made unique to this process; `env` is what
  /// the script reads beside the usual, {"TLS", "1"} for one.
  ServerScript(std::string script, const std::string& name,
               std::map<std::string, std::string> env = {});
  ServerScript(const ServerScript&) = delete;
  ServerScript& operator=(const ServerScript&) = delete;
  ~ServerScript();

  /// Runs "script command name args..." and gives what it printed.
  std::string run(const std::string& command, const std::vector<std::string>& args = {}) const;
  /// What the start exported under `key`; empty when it did not.
  [[nodiscard]] std::string value(const std::string& key) const;

 private:
  [[nodiscard]] base::Result<std::string> call(std::vector<std::string> args) const;

  std::string script_;
  std::string name_;
  std::map<std::string, std::string> env_;
  std::map<std::string, std::string> values_;
};

}  // namespace kollect::testing
