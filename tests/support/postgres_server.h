// A real PostgreSQL server for tests of label "server" (scripts/servers/postgres.sh).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace kollect::testing {

/// User test / secret may do everything. Aborts the program when the server cannot be started: such
/// tests must not be skipped.
class PostgresServer {
 public:
  /// One instance per test program, started at the first call and stopped at exit.
  static PostgresServer& shared();
  /// An instance of one's own, for tests that kill it.
  explicit PostgresServer(const std::string& name);
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer();

  /// A new empty database; its connection string (URL, 127.0.0.1).
  std::string make_database(const std::string& name, const std::string& user = "test") const;
  /// Rows of a query by psql, columns joined by "|". Fails the program when the query fails.
  std::vector<std::string> ask(const std::string& database, const std::string& sql) const;

  /// kill -9 of the main process; returns when all processes are gone.
  void kill() const;
  /// Starts again on the same data and port.
  void restart() const;

  [[nodiscard]] int port() const { return std::stoi(value("PGPORT")); }
  [[nodiscard]] std::filesystem::path ca_file() const { return value("PG_CA"); }
  [[nodiscard]] std::filesystem::path socket_folder() const { return value("PG_SOCKETS"); }

 private:
  [[nodiscard]] std::string value(const std::string& key) const;
  std::string name_;
  std::map<std::string, std::string> values_;
};

}  // namespace kollect::testing
