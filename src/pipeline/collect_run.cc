#include "pipeline/collect_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "base/files.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "pipeline/run/cluster_source.h"
#include "pipeline/run/export_plan.h"
#include "pipeline/summary.h"

namespace kollect::pipeline {
namespace {

// A few pages: enough to keep the connection busy, small beside the rows.
constexpr std::size_t kReadAheadBytes = 8U << 20U;
constexpr std::string_view kManifestContext = "local";
constexpr std::string_view kSeveralContextsTemplate =
    "inventory/{cluster}/{namespace}/{name}{extension}";

std::vector<std::string> split_lists(const std::vector<std::string>& values) {
  std::vector<std::string> parts;
  for (const std::string& value : values) {
    for (const std::string_view part : base::split(value, ',')) {
      if (!base::trim(part).empty()) parts.emplace_back(base::trim(part));
    }
  }
  return parts;
}

}  // namespace

CollectRun::CollectRun(const Invocation& invocation, CollectOptions options)
    : invocation_(invocation),
      options_(std::move(options)),
      started_at_(invocation.clock->now()),
      started_(invocation.clock->steady_now()),
      context_(invocation.context()) {}

int CollectRun::fail(const base::Error& error) {
  if (!log_) {
    log_ = std::make_unique<base::Logger>(
        base::Logger::Options{
            .level = base::LogLevel::kInfo,
            .format = invocation_.err_is_terminal ? base::LogFormat::kText : base::LogFormat::kJson,
            .out = invocation_.err},
        *invocation_.clock, redactor_);
  }
  progress_.reset();
  log_->error(error.message);
  return kExitFailed;
}

void CollectRun::warn(const std::string& text) {
  warnings_.push_back(text);
  log_->warn(text);
}

int CollectRun::run() {
  if (auto ready = prepare(); !ready) return fail(ready.error());
  if (options_.strict && !warnings_.empty()) {
    return fail(base::configuration(
        fmt::format("--strict: {} warning{}", warnings_.size(), warnings_.size() == 1 ? "" : "s")));
  }
  const bool colour = [&] {
    const auto it = invocation_.env.find("NO_COLOR");
    return it == invocation_.env.end() || it->second.empty();
  }();
  progress_ = std::make_unique<Progress>(invocation_.err, invocation_.err_is_terminal, colour,
                                         *invocation_.clock);
  progress_->set_contexts(contexts_.size());
  log_->set_line_hooks([this] { progress_->hide(); }, [this] { progress_->show(); });
  collect_contexts();
  return finish();
}

base::Result<> CollectRun::prepare() {
  KL_TRY(check_collect_options(invocation_, options_));
  log_ = std::make_unique<base::Logger>(
      base::Logger::Options{
          .level = options_.level, .format = options_.log_form, .out = invocation_.err},
      *invocation_.clock, redactor_);
  context_ = context_.with_timeout(options_.time_limit);
  KL_ASSIGN(config_,
            load_config(options_.config, {.allow_private_sinks = options_.allow_private_sinks,
                                          .allow_loopback_sinks = options_.allow_loopback_sinks}));
  for (const std::string& warning : config_.warnings) warn(warning);
  KL_ASSIGN(plan_, make_plan(config_, options_.ns));
  for (const std::string& warning : plan_.warnings) warn(warning);
  KL_TRY(choose_contexts());
  KL_TRY(check_outputs());
  KL_TRY(check_clusters());
  return open_outputs();
}

base::Result<> CollectRun::choose_contexts() {
  if (!options_.manifests.empty()) {
    contexts_ = {std::string(kManifestContext)};
    std::string stdin_text;
    if (std::ranges::find(options_.manifests, "-") != options_.manifests.end()) {
      KL_ASSIGN(stdin_text, invocation_.read_in());
    }
    KL_ASSIGN(manifests_, read_manifest_objects(options_.manifests, stdin_text));
    for (const std::string& warning : near_misses(*manifests_, plan_)) warn(warning);
  } else {
    KL_ASSIGN(kubeconfig_, kube::Kubeconfig::load_default(options_.kubeconfig, invocation_.env));
    KL_ASSIGN(kube::ContextSelection selection,
              kube::select_contexts(*kubeconfig_, split_lists(options_.contexts)));
    contexts_ = std::move(selection.names);
    for (const std::string& warning : selection.warnings) warn(warning);
    http_ = std::make_shared<http::Client>();
  }
  KL_ASSIGN(clusters_, cluster_names(options_, contexts_));
  return {};
}

bool CollectRun::warn_of_unused_sinks() {
  bool some_used = false;
  const auto look = [&](const auto& sinks) {
    for (const auto& sink : sinks) {
      const bool used = !sink_units(config_, plan_, *sink.manifest).empty();
      some_used = some_used || used;
      if (used) continue;
      warn(problem_at(*sink.manifest, "",
                      "no inventory here names this sink, so nothing is written to it")
               .text());
    }
  };
  look(config_.snapshot_sinks);
  look(config_.database_sinks);
  look(config_.event_sinks);
  return some_used;
}

base::Result<> CollectRun::check_outputs() {
  const bool sinks = config_.has_sinks() && !options_.no_sinks;
  if (sinks && !options_.output.empty()) {
    return base::configuration(
        "the configuration has sinks and --output is given, so it is not clear where rows belong; "
        "--no-sinks leaves the sinks aside");
  }
  if (options_.output == "-" && !options_.sqlite.empty()) {
    return base::configuration("--sqlite does not go together with --output -");
  }
  if (!sinks && options_.output.empty() && options_.sqlite.empty()) {
    return base::configuration(
        "there is nowhere to write to: no --output, no --sqlite, no sink in the configuration");
  }
  if (sinks && !warn_of_unused_sinks() && options_.sqlite.empty()) {
    return base::configuration(
        "there is nowhere to write to: no inventory of the configuration names one of its sinks in "
        "spec.snapshotSinkRefs, spec.databaseSinkRefs or spec.eventSinkRefs");
  }
  sinks::LayoutSpec& layout = options_.layout_spec;
  const bool document = layout.mode == sinks::LayoutMode::kDocument;
  if (contexts_.size() > 1) {
    if (!options_.path_template.empty() &&
        options_.path_template.find("{cluster}") == std::string::npos) {
      return base::configuration(
          "--path-template without {cluster} would put several contexts into one place");
    }
    if (layout.document_template.empty()) layout.document_template = kSeveralContextsTemplate;
    if (layout.index_template.empty()) layout.index_template = kSeveralContextsTemplate;
  }
  const std::size_t dot = options_.path_template.rfind('.');
  if (document && dot != std::string::npos &&
      options_.path_template.find_first_of("/}", dot) == std::string::npos &&
      options_.path_template.substr(dot) != sinks::extension_of(layout.format)) {
    warn(fmt::format("documents are named {} and hold {}", options_.path_template.substr(dot),
                     sinks::extension_of(layout.format).substr(1)));
  }
  return {};
}

base::Result<> CollectRun::check_clusters() {
  if (contexts_.size() < 2 || options_.no_sinks) return {};
  const auto refuse = [&](const Manifest& manifest, const std::string& cluster) -> base::Result<> {
    if (cluster.empty()) return {};
    return base::configuration(
        problem_at(manifest, "spec.cluster",
                   fmt::format("names one cluster, and {} contexts are chosen", contexts_.size()))
            .text());
  };
  for (const auto& sink : config_.snapshot_sinks) {
    KL_TRY(refuse(*sink.manifest, sink.object.spec.cluster));
  }
  for (const auto& sink : config_.database_sinks) {
    KL_TRY(refuse(*sink.manifest, sink.object.spec.cluster));
  }
  for (const auto& sink : config_.event_sinks) {
    KL_TRY(refuse(*sink.manifest, sink.object.spec.cluster));
  }
  return {};
}

base::Result<> CollectRun::open_outputs() {
  secrets_ = std::make_unique<SecretStore>(config_, invocation_.env, *redactor_);
  OutputOptions options;
  options.output = options_.output;
  options.record_format = options_.record_format;
  options.layout = options_.layout_spec;
  options.prune = options_.prune;
  options.sqlite = options_.sqlite;
  options.use_sinks = !options_.no_sinks;
  options.dry_run = options_.dry_run;
  options.allow_private_sinks = options_.allow_private_sinks;
  options.allow_loopback_sinks = options_.allow_loopback_sinks;
  options.several_contexts = contexts_.size() > 1;
  options.exported_at = started_at_;
  KL_ASSIGN(outputs_, Outputs::open(config_, plan_, options, *secrets_, invocation_.out));
  for (const std::string& warning : secrets_->warnings()) warn(warning);
  return {};
}

ContextResult CollectRun::collect_from_cluster(const kube::Kubeconfig& config,
                                               const std::string& name) {
  ContextResult failed;
  failed.context = name;
  failed.cluster = clusters_.at(name);
  auto resolved = config.resolve(name);
  if (!resolved) {
    failed.error = resolved.error();
    if (failed.error->reason.empty()) failed.error->reason = "context";
    return failed;
  }
  kube::ClientOptions client_options;
  client_options.env = invocation_.env;
  client_options.read_ahead_bytes = kReadAheadBytes;
  kube::Client client(http_, std::move(*resolved), std::move(client_options), log_.get());
  return collect_cluster(
      context_, client, plan_,
      {.context = name, .cluster = clusters_.at(name), .only_namespace = options_.ns}, *progress_);
}

ContextResult CollectRun::collect_context(std::size_t index) {
  progress_->start_context();
  const std::string& name = contexts_[index];
  // choose_contexts() has set one of the two.
  if (!manifests_) return kubeconfig_ ? collect_from_cluster(*kubeconfig_, name) : ContextResult();
  std::string cluster = clusters_.at(name);
  ContextResult result = collect_manifests(context_, *manifests_, plan_, cluster, options_.ns);
  for (const std::string& problem : manifests_->problems) result.warnings.push_back(problem);
  if (!manifests_->problems.empty()) {
    result.warnings.emplace_back(
        "what an unreadable document is about is not known, so no row and no file of an object is "
        "removed; documents have the rest");
  }
  return result;
}

void CollectRun::collect_contexts() {
  if (kubeconfig_) {
    std::map<std::string, std::string> first_of;
    for (const std::string& name : contexts_) {
      const auto resolved = kubeconfig_->resolve(name);
      if (!resolved) continue;
      const auto [it, added] = first_of.emplace(resolved->identity_key, name);
      if (!added) {
        warn(fmt::format("contexts {} and {} are the same server and user; both are collected",
                         it->second, name));
      }
    }
  }
  std::mutex mutex;
  std::condition_variable ready;
  std::vector<std::unique_ptr<ContextResult>> results(contexts_.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> ended = false;
  const auto work = [&] {
    for (std::size_t i = next++; i < contexts_.size() && !ended; i = next++) {
      auto result = std::make_unique<ContextResult>(collect_context(i));
      const std::scoped_lock lock(mutex);
      results[i] = std::move(result);
      ready.notify_all();
    }
  };
  std::vector<std::jthread> workers;
  const std::size_t count = std::min(contexts_.size(), static_cast<std::size_t>(options_.parallel));
  for (std::size_t i = 0; i < count; ++i) workers.emplace_back(work);
  for (std::size_t i = 0; i < contexts_.size(); ++i) {
    std::unique_lock lock(mutex);
    ready.wait(lock, [&] { return results[i] != nullptr; });
    const std::unique_ptr<ContextResult> result = std::move(results[i]);
    lock.unlock();
    if (!deliver(std::move(*result))) {
      ended = true;
      break;
    }
  }
}

bool CollectRun::deliver(ContextResult result) {
  ContextOutcome outcome;
  report_context(result);
  for (TargetResult& target : result.targets) target.row_count = target.data.rows.size();
  const bool interrupted = invocation_.stop.stop_requested();
  if (!interrupted) outcome.sinks = outputs_->deliver(context_, result);
  for (TargetResult& target : result.targets) target.data.rows = inventory::RowSet();
  outcome.result = std::move(result);
  report_sinks(outcome);
  outcomes_.push_back(std::move(outcome));
  return !interrupted && !stdout_closed_;
}

void CollectRun::report_context(const ContextResult& result) {
  for (const std::string& warning : result.warnings) warn(warning);
  if (result.error) {
    log_->error("the context could not be collected", {{"context", result.context},
                                                       {"reason", result.error->reason},
                                                       {"error", result.error->message}});
  }
  // Targets in the order of their names, not of the folder: the order of messages is part of what
  // people compare.
  std::vector<std::size_t> order(result.targets.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::pair(plan_.targets[i].ns, plan_.targets[i].name);
  });
  for (const std::size_t i : order) report_target(result, i);
}

void CollectRun::report_target(const ContextResult& result, std::size_t index) {
  const TargetResult& target = result.targets[index];
  const std::string title = plan_.targets[index].title();
  const TargetBatch& data = target.data;
  if (target.status == TargetResult::Status::kSkipped) {
    log_->error("target skipped, its documents stay as they are",
                {{"context", result.context},
                 {"target", title},
                 {"reason", target.reason},
                 {"namespace", base::join(target.denied_namespaces, ",")},
                 {"error", target.message}});
  } else if (!target.denied_namespaces.empty()) {
    log_->warn("namespaces left out", {{"context", result.context},
                                       {"target", title},
                                       {"namespace", base::join(target.denied_namespaces, ",")},
                                       {"reason", target.reason},
                                       {"error", target.message}});
  }
  for (const ExtractionFailure& failure : data.failures.first()) {
    log_->warn("object not extracted", {{"context", result.context},
                                        {"target", title},
                                        {"namespace", failure.ns},
                                        {"name", failure.name},
                                        {"uid", failure.uid},
                                        {"reason", failure.reason}});
  }
  if (data.failures.count() > data.failures.first().size()) {
    log_->warn(fmt::format("{} more objects not extracted",
                           data.failures.count() - data.failures.first().size()),
               {{"context", result.context}, {"target", title}});
  }
  if (data.policy_errors.count > 0) {
    log_->warn(
        fmt::format("matchPolicy failed on {} objects", data.policy_errors.count),
        {{"context", result.context}, {"target", title}, {"error", data.policy_errors.last}});
  }
}

void CollectRun::report_sinks(const ContextOutcome& outcome) {
  using Change = sinks::ExportReport::Change;
  const auto word = [](Change::What what) {
    switch (what) {
      case Change::What::kCreate:
        return "create";
      case Change::What::kUpdate:
        return "update";
      case Change::What::kUnchanged:
        return "unchanged";
      case Change::What::kRemove:
        return "remove";
    }
    return "";
  };
  for (const SinkOutcome& sink : outcome.sinks) {
    for (const std::string& warning : sink.report.warnings) {
      warn(fmt::format("{}: {}", sink.sink, warning));
    }
    for (const Change& change : sink.report.changes) {
      log_->always(fmt::format("{} {}", word(change.what), change.path),
                   {{"context", outcome.result.context},
                    {"sink", sink.sink},
                    {"rows", fmt::to_string(change.rows)},
                    {"bytes", fmt::to_string(change.bytes)}});
    }
    if (!sink.error) continue;
    stdout_closed_ = stdout_closed_ || sink.error->reason == "stdout-closed";
    if (sink.error->reason == "stdout-closed") continue;
    log_->error("export failed", {{"context", outcome.result.context},
                                  {"sink", sink.sink},
                                  {"reason", sink.error->reason},
                                  {"error", sink.error->message}});
  }
}

int CollectRun::finish() {
  int code = kExitOk;
  for (const ContextOutcome& outcome : outcomes_) code = std::max(code, exit_code_of(outcome));
  if (stdout_closed_) {
    code = kExitFailed;
  } else if (auto ended = outputs_->finish(); !ended) {
    if (ended.error().reason != "stdout-closed") log_->error(ended.error().message);
    code = kExitFailed;
  }
  progress_->hide();
  write_summary(invocation_.exit_code(code));
  log_->set_line_hooks(nullptr, nullptr);
  progress_.reset();
  return code;
}

void CollectRun::write_summary(int exit_code) {
  const RunSummary summary{.exit_code = exit_code,
                           .dry_run = options_.dry_run,
                           .started_at = started_at_,
                           .took = invocation_.clock->steady_now() - started_,
                           .warnings = warnings_};
  const std::string json =
      redactor_->redact(base::json::compact(summary_json(summary, plan_, outcomes_))) + "\n";
  if (!options_.summary_file.empty()) {
    if (auto written = base::write_file_atomic(options_.summary_file, json); !written) {
      log_->error(written.error().message);
    }
  }
  if (options_.summary_form == SummaryForm::kJson) fmt::print(invocation_.err, "{}", json);
  if (options_.summary_form == SummaryForm::kText) {
    fmt::print(invocation_.err, "{}", redactor_->redact(summary_text(summary, plan_, outcomes_)));
  }
  std::fflush(invocation_.err);
}

}  // namespace kollect::pipeline
