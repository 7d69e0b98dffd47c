#include "exporter/line.h"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "base/error_class.h"

namespace kollect::exporter {
namespace {

/// Waiting does not mend these.
bool is_terminal(const base::Error& error) {
  switch (error.kind) {
    case base::ErrorKind::kRetryable:
    case base::ErrorKind::kConflict:
    case base::ErrorKind::kCancelled:
      return false;
    case base::ErrorKind::kTerminal:
    case base::ErrorKind::kConfiguration:
    case base::ErrorKind::kDenied:
    case base::ErrorKind::kNotFound:
      return true;
  }
  return false;
}

}  // namespace

sinks::Export head_of(const InventoryPlan& plan, const Binding& binding) {
  sinks::Export head;
  head.inventory = plan.id;
  head.generation = plan.generation;
  head.cluster = binding.cluster;
  head.resource_key = plan.resource_key;
  head.attribute_types = plan.attribute_types;
  head.max_bytes = binding.max_bytes;
  head.keep_targets = plan.keep_targets;
  head.keep_parts = plan.keep_parts;
  return head;
}

void Line::follow(const Line& before) {
  status = before.status;
  status.running = false;
  spread = before.spread;
}

bool PassResult::gave_way() const {
  return !report && report.error().reason == sinks::gave_way().reason;
}

PassResult Line::pass(const base::Context& context, base::WallTime exported_at) {
  PassResult result{
      .report = sinks::ExportReport{}, .set_hash = {}, .rows = 0, .differences = differences};
  const auto work = [&]() -> base::Result<sinks::ExportReport> {
    KL_ASSIGN(const std::shared_ptr<SharedSink> sink, used.open(context));
    sinks::Pass pass{
        .head = used_head, .rows = nullptr, .changes = nullptr, .row_count = 0, .set_hash = {}};
    pass.head.exported_at = exported_at;
    if (give_way) pass.give_way = give_way->get_token();
    pass.resumed = resumed;
    inventory::ChangeSet changes;
    inventory::Snapshot rows;
    // The version first: what is written later is then pending still, never taken for confirmed.
    inventory::Version version = 0;
    const bool told = differences || (resumed && choice == inventory::RowChoice::kAll);
    if (told) {
      changes = reader->changes();
      version = changes.to();
      (differences ? pass.changes : pass.since) = &changes;
    }
    if (differences && sink->takes_changes()) {
      pass.row_count = reader->row_count();
      pass.set_hash = reader->set_hash();
    } else {
      rows = reader->snapshot();
      if (!told) version = rows.version();
      pass.rows = &rows;
      pass.row_count = rows.size();
      pass.set_hash = rows.set_hash();
    }
    result.rows = pass.row_count;
    result.set_hash = pass.set_hash;
    auto report = sink->apply(context, pass, give_way);
    if (report) reader->passed(version);
    return report;
  };
  try {
    result.report = work();
  } catch (const std::exception& problem) {
    // A pass must not end the process; libraries' exceptions that slip through are a mistake of
    // that sink, which the log shows.
    result.report = base::retryable(fmt::format("unexpected: {}", problem.what()), "panic");
  }
  return result;
}

BindingStatus Line::status_at(base::SteadyTime now) const {
  BindingStatus copy = status;
  copy.name = binding.name;
  copy.interval = schedule.settings().interval;
  if (next_look != base::SteadyTime::max() && next_look > now) copy.until_next = next_look - now;
  if (copy.state == BindingStatus::State::kExported && !schedule.running() &&
      copy.until_next > base::Duration::zero()) {
    copy.state = BindingStatus::State::kDebounced;
  }
  return copy;
}

void settle(Line& line, const std::optional<PassResult>& result, base::SteadyTime began,
            base::SteadyTime now, base::WallTime exported_at) {
  if (!result) {
    line.schedule.abandoned();
    return;
  }
  if (result->report) {
    line.breaker->succeeded();
    line.schedule.succeeded(began, line.began_with);
    if (!result->differences) line.schedule.compared();
    line.status.state = BindingStatus::State::kExported;
    line.status.last_export = exported_at;
    // A refresh that found everything in place is no news: status stays as it is.
    if (!line.status.last_write || result->report->written > 0 || result->report->removed > 0) {
      line.status.last_write = exported_at;
      ++line.status.writes;
    }
    line.status.last_checksum = "set:" + result->set_hash;
    line.status.error.reset();
    // A pass of changes sees the changed rows alone: what was said of the others stands.
    if (!result->differences || !result->report->warnings.empty()) {
      line.status.warnings = result->report->warnings;
    }
    line.status.rows_written += result->report->written;
    line.status.rows_removed += result->report->removed;
    ++line.status.exports;
    return;
  }
  const base::Error& error = result->report.error();
  if (line.stop.stop_requested()) {
    line.breaker->abandoned();
    line.schedule.abandoned();
    return;
  }
  if (result->gave_way()) {
    line.breaker->abandoned();
    line.schedule.gave_way(now);
    return;
  }
  const bool terminal = is_terminal(error);
  line.breaker->failed(now, terminal);
  line.schedule.failed(now, terminal);
  line.status.state = BindingStatus::State::kFailed;
  line.status.error = error;
  ++line.status.failures;
}

void log_warnings(const base::Logger& log, const Line& line, const PassResult& result) {
  if (!result.report) return;
  const auto& known = line.status.warnings;
  for (const std::string& warning : result.report->warnings) {
    if (std::ranges::find(known, warning) != known.end()) continue;
    log.warn("export warns", {{"inventory", line.inventory.ns + "/" + line.inventory.name},
                              {"sink", line.binding.name},
                              {"warning", warning}});
  }
}

void log_breaker(const base::Logger& log, const Line& line) {
  if (line.breaker->closed()) {
    log.info("a sink works again", {{"sink", line.binding.sink_key}});
  } else {
    log.warn("a sink failed too often and is left alone for a while",
             {{"sink", line.binding.sink_key}});
  }
}

void log_outcome(const base::Logger& log, const Line& line, const PassResult& result,
                 base::Duration took) {
  const std::string inventory = line.inventory.ns + "/" + line.inventory.name;
  const std::string milliseconds =
      fmt::format("{:.1f}", std::chrono::duration<double, std::milli>(took).count());
  if (result.gave_way()) {
    log.debug("refresh gave way",
              {{"inventory", inventory}, {"sink", line.binding.name}, {"ms", milliseconds}});
    return;
  }
  if (!result.report) {
    log.warn("export failed",
             {{"inventory", inventory},
              {"sink", line.binding.name},
              {"why", std::string(to_string(line.why))},
              {"error_class", std::string(base::error_class(result.report.error()))},
              {"reason", result.report.error().reason},
              {"error", result.report.error().message},
              {"ms", milliseconds}});
    return;
  }
  if (result.report->bytes >= kLargeExport) {
    log.warn("a large export: sinks for objects take it best",
             {{"inventory", inventory},
              {"sink", line.binding.name},
              {"bytes", std::to_string(result.report->bytes)}});
  }
  log.debug("exported", {{"inventory", inventory},
                         {"sink", line.binding.name},
                         {"why", std::string(to_string(line.why))},
                         {"rows", std::to_string(result.rows)},
                         {"written", std::to_string(result.report->written)},
                         {"removed", std::to_string(result.report->removed)},
                         {"differences", result.differences ? "true" : "false"},
                         {"ms", milliseconds}});
}

}  // namespace kollect::exporter
