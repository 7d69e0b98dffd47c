#include "support/server_script.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/context.h"
#include "base/process.h"
#include "base/strings.h"

namespace kollect::testing {

base::Result<std::string> ServerScript::call(std::vector<std::string> args) const {
  base::Command command;
  command.program = fmt::format(KOLLECT_SOURCE_DIR "/scripts/servers/{}", script_);
  command.args = std::move(args);
  command.env = env_;
  for (const char* name : {"HOME", "PATH", "TMPDIR", "KOLLECT_TESTBED", "KOLLECT_TESTBED_STATE"}) {
    if (const char* value = std::getenv(name)) command.env[name] = value;
  }
  command.env["OWNER_PID"] = std::to_string(::getpid());
  const auto context = base::Context::background().with_timeout(std::chrono::minutes(2));
  KL_ASSIGN(auto result, base::run(context, command));
  if (result.exit_code != 0) {
    return base::terminal(
        fmt::format("exit code {}: {}", result.exit_code, base::trim(result.err)));
  }
  return std::move(result.out);
}

ServerScript::ServerScript(std::string script, const std::string& name,
                           std::map<std::string, std::string> env)
    : script_(std::move(script)),
      name_(fmt::format("{}-{}", name, ::getpid())),
      env_(std::move(env)) {
  const std::string printed = run("start");
  for (const auto line : base::split(printed, '\n')) {
    if (!line.starts_with("export ")) continue;
    for (const auto word : base::split(line.substr(7), ' ')) {
      const auto equals = word.find('=');
      if (equals != std::string_view::npos) {
        values_.emplace(word.substr(0, equals), word.substr(equals + 1));
      }
    }
  }
}

ServerScript::~ServerScript() {
  (void)call({"stop", name_});
}

std::string ServerScript::run(const std::string& command,
                              const std::vector<std::string>& args) const {
  std::vector<std::string> all = {command, name_};
  all.insert(all.end(), args.begin(), args.end());
  auto printed = call(std::move(all));
  if (printed.has_value()) return std::move(*printed);
  std::fprintf(stderr, "%s %s: %s\n", script_.c_str(), command.c_str(),
               printed.error().message.c_str());
  (void)call({"stop", name_});
  std::abort();
}

std::string ServerScript::value(const std::string& key) const {
  const auto at = values_.find(key);
  return at == values_.end() ? "" : at->second;
}

}  // namespace kollect::testing
