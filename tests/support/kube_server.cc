#include "support/kube_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/context.h"
#include "base/process.h"
#include "base/strings.h"

namespace kollect::testing {

namespace {

std::map<std::string, std::string> script_env() {
  std::map<std::string, std::string> env;
  for (const char* name : {"HOME", "PATH", "TMPDIR", "XDG_CACHE_HOME", "KOLLECT_TESTBED",
                           "KOLLECT_TESTBED_STATE", "KUBEBUILDER_ASSETS"}) {
    if (const char* value = std::getenv(name)) env[name] = value;
  }
  env["OWNER_PID"] = std::to_string(getpid());
  return env;
}

base::Result<std::string> run_checked(base::Command command) {
  const auto context = base::Context::background().with_timeout(std::chrono::minutes(4));
  KL_ASSIGN(auto result, base::run(context, command));
  if (result.exit_code != 0) {
    return base::terminal(fmt::format("{}: exit code {}: {}", command.program, result.exit_code,
                                      base::trim(result.err)));
  }
  return std::move(result.out);
}

base::Result<std::string> script(const std::string& verb, const std::string& name,
                                 const std::map<std::string, std::string>& env = {}) {
  base::Command command;
  command.program = KOLLECT_SOURCE_DIR "/scripts/servers/kube.sh";
  command.args = {verb, name};
  command.env = script_env();
  for (const auto& [key, value] : env) command.env[key] = value;
  return run_checked(std::move(command));
}

}  // namespace

base::Result<KubeServer> KubeServer::start(const std::string& name,
                                           const std::map<std::string, std::string>& env) {
  auto printed = script("start", name, env);
  if (!printed) {
    (void)script("stop", name);
    return printed.error();
  }
  std::map<std::string, std::string> values;
  for (std::string_view line : base::split(*printed, '\n')) {
    constexpr std::string_view kExport = "export ";
    const auto equals = line.find('=');
    if (!line.starts_with(kExport) || equals == std::string_view::npos) continue;
    values.emplace(line.substr(kExport.size(), equals - kExport.size()), line.substr(equals + 1));
  }
  return KubeServer(name, std::move(values));
}

KubeServer& KubeServer::shared() {
  static KubeServer server = [] {
    auto started = start(fmt::format("shared-{}", getpid()));
    if (!started) {
      std::fprintf(stderr, "no kube-apiserver for tests: %s\n", started.error().message.c_str());
      std::abort();
    }
    return std::move(*started);
  }();
  return server;
}

KubeServer::KubeServer(KubeServer&& other) noexcept
    : name_(std::exchange(other.name_, {})), values_(std::move(other.values_)) {}

KubeServer::~KubeServer() {
  if (!name_.empty()) (void)script("stop", name_);
}

std::filesystem::path KubeServer::kubeconfig_of(const std::string& user) const {
  return std::filesystem::path(value("KUBE_STATE")) / ("kubeconfig." + user);
}

base::Result<> KubeServer::restart_apiserver() {
  KL_TRY(script("restart-apiserver", name_));
  return {};
}

base::Result<> KubeServer::compact() {
  KL_TRY(script("compact", name_));
  return {};
}

base::Result<std::string> KubeServer::kubectl(const std::vector<std::string>& args,
                                              const std::string& stdin_text) const {
  base::Command command;
  command.program = "kubectl";
  command.args = args;
  command.env = script_env();
  command.env["KUBECONFIG"] = kubeconfig().string();
  command.stdin_text = stdin_text;
  command.search_path.clear();
  // The script's PATH names the test programs before the system's.
  const std::string path = value("PATH");
  for (const auto part : base::split(path, ':')) command.search_path.emplace_back(part);
  return run_checked(std::move(command));
}

std::string KubeServer::value(const std::string& key) const {
  const auto it = values_.find(key);
  return it == values_.end() ? "" : it->second;
}

}  // namespace kollect::testing
