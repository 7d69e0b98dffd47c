// A real server of the MongoDB protocol for tests of label "server" (scripts/servers/mongo.sh).
#pragma once

#include <filesystem>
#include <string>

#include "support/server_script.h"

namespace kollect::testing {

/// TLS and passwords; user test / secret may do everything, reader / secret may read. Aborts the
/// program when the server cannot be started: such tests must not be skipped.
class MongoServer {
 public:
  /// One instance per test program, started at the first call and stopped at exit.
  static MongoServer& shared();
  /// An instance of one's own, for tests that kill it.
  explicit MongoServer(const std::string& name);

  /// A URI without trust: TLS is on, the CA is to be given.
  [[nodiscard]] std::string uri(const std::string& user = "test",
                                const std::string& password = "secret",
                                const std::string& host = "127.0.0.1") const;

  /// kill -9; returns when the process is gone.
  void kill() const { script_.run("kill"); }
  /// Starts again on the same data and port.
  void restart() const { script_.run("start"); }

  [[nodiscard]] int port() const { return std::stoi(script_.value("MONGO_PORT")); }
  [[nodiscard]] std::filesystem::path ca_file() const { return script_.value("MONGO_CA"); }

 private:
  ServerScript script_;
};

}  // namespace kollect::testing
