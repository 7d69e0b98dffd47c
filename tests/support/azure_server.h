// Azure Blob Storage for tests of label "server" (scripts/servers/azure.sh).
#pragma once

#include <filesystem>
#include <string>

#include "support/server_script.h"

namespace kollect::testing {

/// Aborts the program when the server cannot be started: such tests must not be skipped.
class AzureServer {
 public:
  /// One instance per test program and scheme, started at the first call and stopped at exit. Over
  /// TLS it takes tokens too, whoever signed them.
  static AzureServer& shared();
  static AzureServer& shared_tls();
  /// An instance of one's own, for tests that kill it.
  explicit AzureServer(const std::string& name, bool tls = false);

  void kill() const { script_.run("kill"); }
  /// Starts again on the same data and port.
  void restart() const { script_.run("start"); }

  /// With the account in its path: "http://127.0.0.1:port/test".
  [[nodiscard]] std::string url() const { return script_.value("AZURE_ENDPOINT"); }
  [[nodiscard]] std::string account() const { return script_.value("AZURE_STORAGE_ACCOUNT"); }
  [[nodiscard]] std::string key() const { return script_.value("AZURE_STORAGE_KEY"); }
  /// Of another account.
  [[nodiscard]] std::string other_key() const { return script_.value("AZURE_OTHER_KEY"); }
  [[nodiscard]] std::filesystem::path ca_file() const { return script_.value("AZURE_CA"); }

 private:
  ServerScript script_;
};

}  // namespace kollect::testing
