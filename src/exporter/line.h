// A binding at work: its schedule, its place in the change log, and one pass.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "exporter/exporter.h"

namespace kollect::exporter {

/// What a pass came to.
struct PassResult {
  base::Result<sinks::ExportReport> report;
  std::string set_hash;
  std::size_t rows = 0;
  bool differences = false;  ///< only changes were sent
  [[nodiscard]] bool gave_way() const;
};

/// While `schedule.running()` the worker that runs the pass owns reader and why; everything else
/// belongs to whoever holds the exporter's mutex.
struct Line {
  Line(ScheduleOptions options, std::uint64_t seed) : schedule(options, seed) {}

  sinks::InventoryId inventory;
  Binding binding;
  sinks::Export head;
  std::string wanted_key;
  inventory::RowChoice choice = inventory::RowChoice::kAll;
  Schedule schedule;
  std::shared_ptr<Breaker> breaker;
  std::unique_ptr<inventory::Reader> reader;
  std::stop_source stop;
  base::SteadyTime next_look{};
  BindingStatus status;
  bool spread = false;  ///< the first export's random wait was decided

  // Of the pass that runs.
  Why why = Why::kNone;
  ScheduleSettings began_with;
  bool differences = false;
  bool resumed = false;                      ///< as Pass::resumed
  std::optional<std::stop_source> give_way;  ///< of a refresh that a change may end
  Binding used;
  sinks::Export used_head;

  /// Takes the place of a line of the same binding that had other owners: what was told of it
  /// stands, but everything is compared.
  void follow(const Line& before);
  /// One pass. On success the reader has passed what was written.
  PassResult pass(const base::Context& context, base::WallTime exported_at);
  [[nodiscard]] BindingStatus status_at(base::SteadyTime now) const;
};

/// The part of an export that does not change from pass to pass.
sinks::Export head_of(const InventoryPlan& plan, const Binding& binding);
/// Books the outcome on schedule, breaker and status. No result: the breaker let nothing through.
void settle(Line& line, const std::optional<PassResult>& result, base::SteadyTime began,
            base::SteadyTime now, base::WallTime exported_at);
/// One line for each warning that the pass before did not have. Before settle().
void log_warnings(const base::Logger& log, const Line& line, const PassResult& result);
/// Its breaker has opened, or closed.
void log_breaker(const base::Logger& log, const Line& line);
void log_outcome(const base::Logger& log, const Line& line, const PassResult& result,
                 base::Duration took);

}  // namespace kollect::exporter
