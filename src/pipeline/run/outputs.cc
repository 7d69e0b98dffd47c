#include "pipeline/run/outputs.h"

#include <fmt/format.h>

#include <thread>

#include "base/strings.h"
#include "pipeline/run/sink_wiring.h"
#include "sinks/files/files_sink.h"
#include "sinks/layout/run_layout.h"

namespace kollect::pipeline {
namespace {

constexpr int kTries = 3;  // two retries for what may pass

base::Result<sinks::ExportReport> export_with_retries(const base::Context& context,
                                                      sinks::Sink& sink,
                                                      const std::vector<sinks::Export>& exports,
                                                      bool dry_run) {
  base::Duration pause = std::chrono::seconds(1);
  for (int attempt = 1;; ++attempt) {
    KL_TRY(context.check());
    auto report = sink.export_all(context, exports, dry_run);
    if (report || report.error().kind != base::ErrorKind::kRetryable || attempt == kTries) {
      return report;
    }
    if (!context.sleep(pause)) return report;
    pause *= 2;
  }
}

}  // namespace

base::Result<std::unique_ptr<Outputs>> Outputs::open(const Config& config, const Plan& plan,
                                                     const OutputOptions& options,
                                                     SecretStore& secrets, std::FILE* out) {
  std::unique_ptr<Outputs> outputs(new Outputs(plan, options));
  if (options.output == "-") {
    outputs->records_.emplace(out, options.record_format);
  } else if (!options.output.empty()) {
    KL_TRY(outputs->open_folder(config));
  }
  if (!options.sqlite.empty()) KL_TRY(outputs->open_sqlite());
  if (options.use_sinks) KL_TRY(outputs->open_sinks(config, secrets));
  return outputs;
}

base::Result<> Outputs::open_folder(const Config& config) {
  Backend backend{
      .title = "output", .cluster = {}, .units = output_units(config, plan_), .sink = nullptr};
  sinks::FilesSinkOptions files;
  files.folder = options_.output;
  files.layout = options_.layout;
  files.prune = options_.prune;
  for (const ExportUnit& unit : backend.units) files.configured.push_back(unit.id);
  backend.sink = sinks::make_files_sink(std::move(files));
  backends_.push_back(std::move(backend));
  return {};
}

base::Result<> Outputs::open_sqlite() {
  Backend backend{.title = "sqlite", .cluster = {}, .units = {}, .sink = nullptr};
  for (std::size_t i = 0; i < plan_.targets.size(); ++i) {
    backend.units.push_back({.id = plan_.targets[i].inventory(), .targets = {i}});
  }
  KL_ASSIGN(backend.sink, make_sqlite(options_.sqlite));
  backends_.push_back(std::move(backend));
  return {};
}

base::Result<> Outputs::open_sinks(const Config& config, SecretStore& secrets) {
  KL_ASSIGN(std::vector<WiredSink> wired,
            make_sinks(config, secrets,
                       {.allow_private = options_.allow_private_sinks,
                        .allow_loopback = options_.allow_loopback_sinks,
                        .several_contexts = options_.several_contexts}));
  for (WiredSink& sink : wired) {
    backends_.push_back({.title = sink.title,
                         .cluster = sink.cluster,
                         .units = sink_units(config, plan_, *sink.manifest),
                         .sink = std::move(sink.sink)});
  }
  return {};
}

SinkOutcome Outputs::write_records(const ContextResult& result) {
  SinkOutcome outcome{.sink = "stdout", .exports = 0, .report = {}, .error = {}};
  for (std::size_t i = 0; i < plan_.targets.size(); ++i) {
    const TargetResult& target = result.targets[i];
    if (!target.was_read()) continue;
    const TargetPlan& plan = plan_.targets[i];
    sinks::Export exported;
    exported.inventory = plan.inventory();
    exported.cluster = result.cluster;
    auto path = sinks::document_path(exported, options_.layout, options_.layout.document_template,
                                     exported.inventory.name);
    Record record{.context = result.context,
                  .target_namespace = plan.ns,
                  .target_name = plan.name,
                  .path = path ? *path : std::string_view(),
                  .rows = &target.data.rows,
                  .meta = {.generation = 0,
                           .part_index = {},
                           .part_total = {},
                           .exported_at = options_.exported_at,
                           .cluster = result.cluster},
                  .denied_namespaces = &target.denied_namespaces};
    base::Result<> written = path ? records_->write(record) : base::Result<>(path.error());
    if (!written) {
      outcome.error = written.error();
      break;
    }
    ++outcome.exports;
    ++outcome.report.written;
  }
  return outcome;
}

SinkOutcome Outputs::run_backend(const base::Context& context, Backend& backend,
                                 const ContextResult& result) const {
  const std::string& cluster = backend.cluster.empty() ? result.cluster : backend.cluster;
  const ExportSet set = build_exports(backend.units, plan_, result, cluster, options_.exported_at);
  SinkOutcome outcome{
      .sink = backend.title, .exports = set.exports.size(), .report = {}, .error = {}};
  if (!set.exports.empty()) {
    auto report = export_with_retries(context, *backend.sink, set.exports, options_.dry_run);
    if (report) {
      outcome.report = std::move(*report);
    } else {
      outcome.error = report.error();
    }
  }
  for (const std::string& unit : set.held_back) {
    outcome.report.warnings.push_back(
        fmt::format("{} keeps its last state: not all of its targets were read", unit));
  }
  for (const std::string& unit : set.without_targets) {
    outcome.report.warnings.push_back(fmt::format(
        "{} is not exported: no cluster target reads objects in the namespaces it names", unit));
  }
  return outcome;
}

std::vector<SinkOutcome> Outputs::deliver(const base::Context& context,
                                          const ContextResult& result) {
  std::vector<SinkOutcome> outcomes;
  if (result.error) return outcomes;
  if (records_) outcomes.push_back(write_records(result));
  const std::size_t first = outcomes.size();
  outcomes.resize(first + backends_.size());
  const auto run = [&](std::size_t i) {
    outcomes[first + i] = run_backend(context, backends_[i], result);
  };
  if (backends_.size() == 1) {
    run(0);
  } else {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < backends_.size(); ++i) threads.emplace_back(run, i);
  }
  return outcomes;
}

base::Result<> Outputs::finish() {
  if (!records_) return {};
  return records_->finish();
}

}  // namespace kollect::pipeline
