#include "sandbox/command.h"

#include <fmt/format.h>

#include <charconv>

#include "base/files.h"
#include "base/log.h"
#include "base/yaml/read.h"
#include "cli/flags.h"
#include "sandbox/sandbox.h"

namespace kollect::sandbox {

namespace {

struct Options {
  SandboxOptions sandbox;
  std::string kubeconfig_out;
  std::vector<std::string> load;
  std::string bookmark_interval = "1m";
  std::string log_level = "info";
  std::vector<std::string> generate;
  std::string change_rate;
  std::string faults;
  bool no_crds = false;
};

std::optional<int> parse(Options& o, const cli::Invocation& invocation,
                         const std::vector<std::string>& args) {
  CLI::App app("Serves a small Kubernetes API from memory: to try things, to test, to measure.",
               "sandbox");
  cli::add_flag_value(app, "--address", o.sandbox.address, "Address to listen on (127.0.0.1)");
  cli::add_flag_value(app, "--port", o.sandbox.port, "Port to listen on; 0: a free one (0)");
  cli::add_flag_value(app, "--kubeconfig-out", o.kubeconfig_out, "Write a kubeconfig to this file");
  app.add_flag("--no-crds", o.no_crds, "Do not serve the kinds of kollect.dev from the beginning");
  cli::add_flag_list(app, "--load", o.load, "File or folder of manifests to begin with");
  cli::add_flag_list(app, "--generate", o.generate,
                     "KIND=COUNT: objects that are made when they are asked for (repeatable)");
  cli::add_flag_value(app, "--namespaces", o.sandbox.namespaces,
                      "Namespaces of generated objects (10)");
  cli::add_flag_value(app, "--change-rate", o.change_rate,
                      "Changes of generated objects, for example 2000/s");
  cli::add_flag_value(app, "--faults", o.faults, "File with rules of what goes wrong");
  cli::add_flag_value(app, "--history", o.sandbox.history_events,
                      "Events kept per resource; older ones give 410 (50000)");
  cli::add_flag_value(app, "--bookmark-interval", o.bookmark_interval,
                      "Time between bookmarks of a watch (1m)");
  cli::add_flag_value(app, "--seed", o.sandbox.seed, "Seed of uids, names and faults (1)");
  cli::add_flag_value(app, "--workers", o.sandbox.workers, "Threads that make answers (2)");
  cli::add_flag_value(app, "--log-level", o.log_level, "debug, info, warn or error (info)");
  return cli::parse_flags(app, invocation, args);
}

/// "2000/s", "2000", "30/m".
base::Result<double> parse_rate(std::string_view text) {
  double seconds = 1;
  std::string_view number = text;
  if (text.ends_with("/s")) number.remove_suffix(2);
  if (text.ends_with("/m")) {
    number.remove_suffix(2);
    constexpr double kMinute = 60;
    seconds = kMinute;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size() || !(value >= 0)) {
    return base::configuration(fmt::format("--change-rate {}: write a rate as in 2000/s", text));
  }
  return value / seconds;
}

base::Result<SandboxOptions::Generate> parse_generate(const std::string& text) {
  const std::size_t equals = text.find('=');
  SandboxOptions::Generate out;
  out.kind = text.substr(0, equals);
  const char* end = text.data() + text.size();
  const char* begin = equals == std::string::npos ? end : text.data() + equals + 1;
  const auto [stop, error] = std::from_chars(begin, end, out.count);
  if (error != std::errc() || stop != end) {
    return base::configuration(
        fmt::format("--generate {}: write kind and count, as in Deployment=1000", text));
  }
  return out;
}

base::Result<> prepare(Options& o) {
  KL_ASSIGN(o.sandbox.bookmark_interval,
            cli::duration_flag("--bookmark-interval", o.bookmark_interval));
  for (const std::string& text : o.generate) {
    KL_ASSIGN(auto one, parse_generate(text));
    o.sandbox.generate.push_back(std::move(one));
  }
  if (!o.change_rate.empty()) {
    KL_ASSIGN(o.sandbox.changes_per_second, parse_rate(o.change_rate));
  }
  return {};
}

base::Result<> define(Sandbox& sandbox, const std::string& definitions) {
  KL_ASSIGN(const auto documents, base::yaml::read_all(definitions));
  for (const auto& one : documents) KL_TRY(sandbox.load(one.value));
  return {};
}

base::Result<> serve(Options& o, const cli::Invocation& invocation, const std::string& definitions,
                     const base::Logger& log) {
  KL_TRY(prepare(o));
  KL_ASSIGN(const auto sandbox, Sandbox::start(*invocation.clock, o.sandbox, &log));
  if (!o.no_crds) KL_TRY(define(*sandbox, definitions));
  if (!o.load.empty()) {
    KL_ASSIGN(const auto loaded, sandbox->load_paths(o.load));
    for (const std::string& line : loaded.skipped) log.warn("skipped", {{"what", line}});
    log.info("loaded", {{"objects", std::to_string(loaded.objects)}});
  }
  if (!o.faults.empty()) {
    KL_ASSIGN(const std::string text, base::read_file(o.faults));
    KL_ASSIGN(const auto rules, base::yaml::read_one(text));
    KL_TRY(sandbox->set_faults(rules));
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

int run_sandbox_command(const cli::Invocation& invocation, const std::vector<std::string>& args,
                        const std::string& definitions) {
  Options o;
  if (const auto code = parse(o, invocation, args)) return *code;
  const auto level = base::parse_log_level(o.log_level);
  const base::Logger log(
      {.level = level.value_or(base::LogLevel::kInfo),
       .format = invocation.err_is_terminal ? base::LogFormat::kText : base::LogFormat::kJson,
       .out = invocation.err},
      *invocation.clock);
  const auto served =
      level ? serve(o, invocation, definitions, log) : base::Result<>(level.error());
  if (served) return cli::kExitOk;
  fmt::print(invocation.err, "{} sandbox: {}\n", invocation.program, served.error().message);
  return cli::kExitFailed;
}

}  // namespace kollect::sandbox
