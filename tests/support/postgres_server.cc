#include "support/postgres_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/context.h"
#include "base/process.h"
#include "base/strings.h"

namespace kollect::testing {

namespace {

base::Context time_limit() {
  return base::Context::background().with_timeout(std::chrono::minutes(1));
}

base::Result<std::string> run_command(base::Command command) {
  for (const char* name : {"HOME", "PATH", "TMPDIR", "KOLLECT_TESTBED_STATE"}) {
    if (const char* value = std::getenv(name)) command.env[name] = value;
  }
  command.env["OWNER_PID"] = std::to_string(::getpid());
  KL_ASSIGN(auto result, base::run(time_limit(), command));
  if (result.exit_code != 0) {
    return base::terminal(fmt::format("{}: exit code {}: {}", command.program, result.exit_code,
                                      base::trim(result.err)));
  }
  return std::move(result.out);
}

base::Result<std::string> script(std::vector<std::string> args) {
  base::Command command;
  command.program = KOLLECT_SOURCE_DIR "/scripts/servers/postgres.sh";
  command.args = std::move(args);
  return run_command(std::move(command));
}

[[noreturn]] void give_up(const base::Error& error) {
  std::fprintf(stderr, "PostgreSQL for tests: %s\n", error.message.c_str());
  std::abort();
}

std::string must(base::Result<std::string> result) {
  if (!result) give_up(result.error());
  return std::move(*result);
}

}  // namespace

PostgresServer& PostgresServer::shared() {
  static PostgresServer server("shared");
  return server;
}

PostgresServer::PostgresServer(const std::string& name)
    : name_(fmt::format("{}-{}", name, ::getpid())) {
  const auto printed = script({"start", name_});
  if (!printed) {
    (void)script({"stop", name_});
    give_up(printed.error());
  }
  for (const auto line : base::split(*printed, '\n')) {
    if (!line.starts_with("export ")) continue;
    for (const auto word : base::split(line.substr(7), ' ')) {
      const auto equals = word.find('=');
      if (equals != std::string_view::npos) {
        values_.emplace(word.substr(0, equals), word.substr(equals + 1));
      }
    }
  }
}

PostgresServer::~PostgresServer() {
  (void)script({"stop", name_});
}

std::string PostgresServer::make_database(const std::string& name, const std::string& user) const {
  ask("postgres", fmt::format("CREATE DATABASE \"{}\"", name));
  return fmt::format("postgresql://{}:secret@127.0.0.1:{}/{}", user, port(), name);
}

std::vector<std::string> PostgresServer::ask(const std::string& database,
                                             const std::string& sql) const {
  base::Command command;
  command.program = value("PG_BIN") + "/psql";
  command.args = {"-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql};
  command.env = {{"PGHOST", "127.0.0.1"}, {"PGPORT", value("PGPORT")},
                 {"PGUSER", "test"},      {"PGPASSWORD", "secret"},
                 {"PGTZ", "UTC"},         {"PGDATABASE", database}};
  const std::string out = must(run_command(std::move(command)));
  std::vector<std::string> lines;
  for (const auto line : base::split(out, '\n')) lines.emplace_back(line);
  lines.pop_back();
  return lines;
}

void PostgresServer::kill() const {
  must(script({"kill", name_}));
}

void PostgresServer::restart() const {
  must(script({"start", name_}));
}

std::string PostgresServer::value(const std::string& key) const {
  const auto at = values_.find(key);
  return at == values_.end() ? "" : at->second;
}

}  // namespace kollect::testing
