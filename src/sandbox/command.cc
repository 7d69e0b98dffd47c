#include "sandbox/command.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/log.h"
#include "cli/flags.h"
#include "sandbox/sandbox.h"

namespace kollect::sandbox {

const std::vector<cli::Command>& commands() {
  static const std::vector<cli::Command> kCommands = {
      {"sandbox", "Serve a small Kubernetes API from memory", run_sandbox_command},
  };
  return kCommands;
}

namespace {

struct Options {
  SandboxOptions sandbox;
  std::string kubeconfig_out;
  std::vector<std::string> load;
  std::string bookmark_interval = "1m";
  std::string log_level = "info";
};

std::optional<int> parse(Options& o, const cli::Invocation& invocation,
                         const std::vector<std::string>& args) {
  CLI::App app("Serves a small Kubernetes API from memory: to try things, to test, to measure.",
               "sandbox");
  cli::add_flag_value(app, "--address", o.sandbox.address, "Address to listen on (127.0.0.1)");
  cli::add_flag_value(app, "--port", o.sandbox.port, "Port to listen on; 0: a free one (0)");
  cli::add_flag_value(app, "--kubeconfig-out", o.kubeconfig_out, "Write a kubeconfig to this file");
  cli::add_flag_list(app, "--load", o.load, "File or folder of manifests to begin with");
  cli::add_flag_value(app, "--history", o.sandbox.history_events,
                      "Events kept per resource; older ones give 410 (50000)");
  cli::add_flag_value(app, "--bookmark-interval", o.bookmark_interval,
                      "Time between bookmarks of a watch (1m)");
  cli::add_flag_value(app, "--seed", o.sandbox.seed, "Seed of uids, names and faults (1)");
  cli::add_flag_value(app, "--workers", o.sandbox.workers, "Threads that make answers (2)");
  cli::add_flag_value(app, "--log-level", o.log_level, "debug, info, warn or error (info)");
  return cli::parse_flags(app, invocation, args);
}

base::Result<> serve(Options& o, const cli::Invocation& invocation, const base::Logger& log) {
  KL_ASSIGN(o.sandbox.bookmark_interval, base::parse_duration(o.bookmark_interval));
  KL_ASSIGN(const auto sandbox, Sandbox::start(*invocation.clock, o.sandbox, &log));
  if (!o.load.empty()) {
    KL_ASSIGN(const auto loaded, sandbox->load_paths(o.load));
    for (const std::string& line : loaded.skipped) log.warn("skipped", {{"what", line}});
    log.info("loaded", {{"objects", std::to_string(loaded.objects)}});
  }
  if (!o.kubeconfig_out.empty()) {
    KL_TRY(base::write_file_atomic(o.kubeconfig_out, sandbox->kubeconfig(), 0600));
  }
  // Behind everything else, so that whoever reads this line can begin.
  fmt::print(invocation.out, "{}\n", sandbox->url());
  std::fflush(invocation.out);
  invocation.context().sleep(base::Duration::max());
  sandbox->stop();
  return {};
}

}  // namespace

int run_sandbox_command(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  Options o;
  if (const auto code = parse(o, invocation, args)) return *code;
  const auto level = base::parse_log_level(o.log_level);
  const base::Logger log(
      {.level = level.value_or(base::LogLevel::kInfo),
       .format = invocation.err_is_terminal ? base::LogFormat::kText : base::LogFormat::kJson,
       .out = invocation.err},
      *invocation.clock);
  const auto served = level ? serve(o, invocation, log) : base::Result<>(level.error());
  if (served) return cli::kExitOk;
  fmt::print(invocation.err, "{} sandbox: {}\n", invocation.program, served.error().message);
  return cli::kExitFailed;
}

}  // namespace kollect::sandbox
