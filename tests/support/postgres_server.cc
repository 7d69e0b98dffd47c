#include "support/postgres_server.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "base/process.h"
#include "base/strings.h"

namespace kollect::testing {

PostgresServer& PostgresServer::shared() {
  static PostgresServer server("shared");
  return server;
}

PostgresServer::PostgresServer(const std::string& name) : script_("postgres.sh", name) {}

std::string PostgresServer::make_database(const std::string& name, const std::string& user) const {
  ask("postgres", fmt::format("CREATE DATABASE \"{}\"", name));
  return fmt::format("postgresql://{}:secret@127.0.0.1:{}/{}", user, port(), name);
}

std::vector<std::string> PostgresServer::ask(const std::string& database,
                                             const std::string& sql) const {
  base::Command command;
  command.program = script_.value("PG_BIN") + "/psql";
  command.args = {"-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql};
  command.env = {{"PGHOST", "127.0.0.1"}, {"PGPORT", script_.value("PGPORT")},
                 {"PGUSER", "test"},      {"PGPASSWORD", "secret"},
                 {"PGTZ", "UTC"},         {"PGDATABASE", database}};
  const auto context = base::Context::background().with_timeout(std::chrono::minutes(1));
  const auto result = base::run(context, command);
  if (!result.has_value() || result->exit_code != 0) {
    std::fprintf(stderr, "psql: %s\n",
                 result.has_value() ? result->err.c_str() : result.error().message.c_str());
    std::abort();
  }
  std::vector<std::string> lines;
  for (const auto line : base::split(result->out, '\n')) lines.emplace_back(line);
  lines.pop_back();
  return lines;
}

}  // namespace kollect::testing
