// `kollect probe`: the connections of sinks, tried without an operator (spec: sinks 16.1).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/json/write.h"
#include "cli/flags.h"
#include "pipeline/commands.h"
#include "pipeline/run/sink_wiring.h"

namespace kollect::pipeline {
namespace {

struct ProbeOptions {
  std::vector<std::string> files;
  std::string timeout = "15s";
  bool allow_private_sinks = false;
  bool allow_loopback_sinks = false;
  bool json = false;
};

/// What one sink answered.
struct Answer {
  const Manifest* manifest = nullptr;
  std::optional<base::Error> error;
  std::optional<base::Duration> took;  ///< none: nothing was asked
};

std::string type_of(const Manifest& manifest) {
  const base::json::Value* spec = manifest.value.find("spec");
  const base::json::Value* type = spec == nullptr ? nullptr : spec->find("type");
  return type != nullptr && type->is_string() ? type->as_string() : "";
}

std::int64_t milliseconds(base::Duration took) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
}

void ask(const base::Context& context, base::Duration limit, SinkMade& made, Answer& answer) {
  if (!made.sink) {
    answer.error = made.sink.error();
    return;
  }
  const base::SteadyTime begin = context.clock().steady_now();
  if (auto reached = made.sink->sink->probe(context.with_timeout(limit)); !reached) {
    answer.error = std::move(reached.error());
  }
  answer.took = context.clock().steady_now() - begin;
}

/// All side by side: one that does not answer holds up no other.
std::vector<Answer> ask_all(const base::Context& context, base::Duration limit,
                            std::vector<SinkMade>& made) {
  std::vector<Answer> answers(made.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < made.size(); ++i) {
    answers[i].manifest = made[i].manifest;
    threads.emplace_back([&, i] { ask(context, limit, made[i], answers[i]); });
  }
  threads.clear();
  return answers;
}

std::string json_line(const Answer& answer, const base::Redactor& redactor) {
  base::json::Object line;
  line.set("kind", answer.manifest->kind);
  line.set("namespace", answer.manifest->ns);
  line.set("name", answer.manifest->name);
  line.set("type", type_of(*answer.manifest));
  line.set("ok", !answer.error.has_value());
  if (answer.took) line.set("latencyMs", milliseconds(*answer.took));
  if (answer.error) {
    line.set("class", std::string(base::to_string(answer.error->kind)));
    if (!answer.error->reason.empty()) line.set("reason", answer.error->reason);
    line.set("message", redactor.redact(answer.error->message));
  }
  return base::json::canonical(base::json::Value(std::move(line)));
}

std::string text_line(const Answer& answer, const base::Redactor& redactor) {
  const std::string who =
      fmt::format("{} ({})", answer.manifest->title(), type_of(*answer.manifest));
  if (!answer.error)
    return fmt::format("ok      {}: answered in {} ms", who, milliseconds(*answer.took));
  // What is wrong with a manifest names it already.
  const std::string told = redactor.redact(answer.error->message);
  return answer.took ? fmt::format("FAILED  {}: {}", who, told) : fmt::format("FAILED  {}", told);
}

base::Result<int> probe(const Invocation& invocation, const ProbeOptions& o) {
  if (o.files.empty()) {
    return base::configuration("give the files of the sinks and of their Secrets with -f");
  }
  KL_ASSIGN(const base::Duration limit, cli::duration_flag("--timeout", o.timeout));
  if (limit <= base::Duration::zero()) {
    return base::configuration("--timeout must be longer than zero");
  }
  ConfigOptions loading{.allow_private_sinks = o.allow_private_sinks,
                        .allow_loopback_sinks = o.allow_loopback_sinks,
                        .only_sinks = true};
  if (std::ranges::find(o.files, "-") != o.files.end()) {
    KL_ASSIGN(loading.stdin_text, invocation.read_in());
  }
  KL_ASSIGN(const Config config, load_config(o.files, loading));
  base::Redactor redactor;
  SecretStore secrets(config, invocation.env, redactor);
  auto made = make_each_sink(
      config, secrets,
      {.allow_private = o.allow_private_sinks, .allow_loopback = o.allow_loopback_sinks});
  for (const auto* warnings : {&config.warnings, &secrets.warnings()}) {
    for (const std::string& text : *warnings) {
      fmt::print(invocation.err, "warning: {}\n", redactor.redact(text));
    }
  }
  const base::Context context = invocation.context();
  const std::vector<Answer> answers = ask_all(context, limit, made);
  KL_TRY(context.check());
  for (const Answer& answer : answers) {
    fmt::print(invocation.out, "{}\n",
               o.json ? json_line(answer, redactor) : text_line(answer, redactor));
  }
  const auto failed =
      std::ranges::count_if(answers, [](const Answer& answer) { return answer.error.has_value(); });
  if (failed == 0) return kExitOk;
  return failed == std::ssize(answers) ? kExitFailed : kExitPartial;
}

}  // namespace

int run_probe_command(const Invocation& invocation, const std::vector<std::string>& args) {
  ProbeOptions o;
  CLI::App app(
      "Tries the connections of sinks as the operator does, without writing anything. Secrets that "
      "they name are looked for in the same files.",
      "probe");
  cli::add_flag_list(app, "-f,--filename", o.files,
                     "File, folder or - with manifests (repeatable)");
  cli::add_flag_value(app, "--timeout", o.timeout, "Limit for each sink (default 15s)");
  app.add_flag("--allow-private-sinks", o.allow_private_sinks, "Accept private addresses");
  app.add_flag("--allow-loopback-sinks", o.allow_loopback_sinks,
               "Accept loopback and private addresses");
  app.add_flag("--json", o.json, "A JSON line per sink");
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  const auto code = probe(invocation, o);
  if (code) return invocation.exit_code(*code);
  fmt::print(invocation.err, "{} probe: {}\n", invocation.program, code.error().message);
  return invocation.exit_code(kExitFailed);
}

}  // namespace kollect::pipeline
