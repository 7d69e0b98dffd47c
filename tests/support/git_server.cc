#include "support/git_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/context.h"
#include "base/process.h"
#include "base/strings.h"

namespace kollect::testing {

namespace {

base::Result<std::string> script(std::vector<std::string> args) {
  base::Command command;
  command.program = KOLLECT_SOURCE_DIR "/scripts/servers/git.sh";
  command.args = std::move(args);
  for (const char* name : {"HOME", "PATH", "TMPDIR", "KOLLECT_TESTBED_STATE"}) {
    if (const char* value = std::getenv(name)) command.env[name] = value;
  }
  command.env["OWNER_PID"] = std::to_string(::getpid());
  const auto context = base::Context::background().with_timeout(std::chrono::minutes(1));
  KL_ASSIGN(auto result, base::run(context, command));
  if (result.exit_code != 0) {
    return base::terminal(fmt::format("{}: exit code {}: {}", command.program, result.exit_code,
                                      base::trim(result.err)));
  }
  return std::move(result.out);
}

[[noreturn]] void give_up(const base::Error& error) {
  std::fprintf(stderr, "no git server for tests: %s\n", error.message.c_str());
  std::abort();
}

}  // namespace

GitServer& GitServer::shared() {
  static GitServer server;
  return server;
}

GitServer::GitServer() : name_(fmt::format("shared-{}", ::getpid())) {
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

GitServer::~GitServer() {
  (void)script({"stop", name_});
}

std::filesystem::path GitServer::make_repository(const std::string& name) const {
  const auto made = script({"repo", name_, name});
  if (!made) give_up(made.error());
  return std::filesystem::path(value("GIT_ROOT")) / (name + ".git");
}

std::string GitServer::value(const std::string& key) const {
  const auto at = values_.find(key);
  return at == values_.end() ? "" : at->second;
}

}  // namespace kollect::testing
