// A real PostgreSQL server for tests of label "server" (scripts/servers/postgres.sh).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/server_script.h"

namespace kollect::testing {

/// User test / secret may do everything. Aborts the program when the server cannot be started: such
/// tests must not be skipped.
class PostgresServer {
 public:
  /// One instance per test program, started at the first call and stopped at exit.
  static PostgresServer& shared();
  /// An instance of one's own, for tests that kill it.
  explicit PostgresServer(const std::string& name);

  /// A new empty database; its connection string (URL, 127.0.0.1).
  std::string make_database(const std::string& name, const std::string& user = "test") const;
  /// Rows of a query by psql, columns joined by "|". Fails the program when the query fails.
  std::vector<std::string> ask(const std::string& database, const std::string& sql) const;

  /// kill -9 of the main process; returns when all processes are gone.
  void kill() const { script_.run("kill"); }
  /// Starts again on the same data and port.
  void restart() const { script_.run("start"); }

  [[nodiscard]] int port() const { return std::stoi(script_.value("PGPORT")); }
  [[nodiscard]] std::filesystem::path ca_file() const { return script_.value("PG_CA"); }
  [[nodiscard]] std::filesystem::path socket_folder() const { return script_.value("PG_SOCKETS"); }

 private:
  ServerScript script_;
};

}  // namespace kollect::testing
