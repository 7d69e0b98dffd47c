// Rows to sinks, for ever: every binding of every inventory on its own schedule (spec: runtime 9).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "base/result.h"
#include "exporter/breaker.h"
#include "exporter/schedule.h"
#include "inventory/row_store.h"
#include "sinks/sink.h"

namespace kollect::exporter {

/// A built backend that several bindings may share; one call at a time. A pass of changes that has
/// to wait asks the one before it to give way.
class SharedSink {
 public:
  explicit SharedSink(std::unique_ptr<sinks::Sink> sink) : sink_(std::move(sink)) {}
  [[nodiscard]] bool takes_changes() const { return sink_->takes_changes(); }
  /// `give_way`: where to ask this pass to; its token is in the pass. None: it goes to its end.
  base::Result<sinks::ExportReport> apply(const base::Context& context, const sinks::Pass& pass,
                                          std::optional<std::stop_source> give_way);

 private:
  class Turn;
  std::mutex mutex_;  ///< of the sink
  std::unique_ptr<sinks::Sink> sink_;
  std::mutex turns_mutex_;  ///< of these two; held for moments only
  std::size_t changes_waiting_ = 0;
  std::optional<std::stop_source> running_;
};

/// One sink reference of an inventory, resolved.
struct Binding {
  std::string name;      ///< "database/pg": key of status.sinkExports[]
  std::string sink_key;  ///< "database/team-a/pg": bindings of one sink object share its breaker
  /// Sink's uid, a hash of its spec and of the secrets it uses.
  std::string sink_identity;
  std::string cluster;                                 ///< spec.cluster of the sink
  base::Duration interval = std::chrono::seconds(30);  ///< effective (runtime 9.2)
  std::size_t max_bytes = 1572864;
  /// Builds the backend, or gives the one that was built before. Called on an export thread.
  std::function<base::Result<std::shared_ptr<SharedSink>>(const base::Context&)> open;
};

/// What an inventory exports, from where to where.
struct InventoryPlan {
  sinks::InventoryId id;
  std::string uid;
  std::int64_t generation = 0;
  bool suspended = false;
  bool complete =
      false;  ///< the first lists of its targets are in (X-9); until then nothing leaves
  bool spread_start = false;                            ///< it was there when the process started
  std::function<bool(const inventory::Owner&)> wanted;  ///< pure: which owners' rows it has
  /// Names the set of owners that `wanted` accepts, and the choice: another text subscribes anew.
  std::string wanted_key;
  /// With kLastOfUid every change is a comparison with what the backend holds.
  inventory::RowChoice choice = inventory::RowChoice::kAll;
  std::optional<std::string> resource_key;
  std::map<std::string, std::string> attribute_types = {};  ///< as in sinks::Export
  std::vector<std::string> keep_targets;
  std::vector<sinks::KeptPart> keep_parts = {};
  /// Exporter::holds() before what the plan says of targets was looked at: a hold since then stays
  /// in force.
  std::uint64_t as_of = UINT64_MAX;
  std::vector<Binding> bindings = {};
};

/// How a binding stands; for status and metrics.
struct BindingStatus {
  std::string name;
  enum class State { kWaiting, kExported, kDebounced, kFailed } state = State::kWaiting;
  std::optional<base::WallTime> last_export;  ///< last success, written or found to be right
  std::optional<base::WallTime>
      last_write;             ///< last success that changed the backend, or first one
  std::string last_checksum;  ///< "set:" and the hash of the last exported set
  std::optional<base::Error> error;
  base::Duration until_next{};  ///< of a debounced one
  base::Duration interval{};
  bool running = false;
  std::uint64_t exports = 0;
  std::uint64_t writes = 0;  ///< exports that moved last_write
  std::uint64_t failures = 0;
  std::uint64_t skips = 0;
  std::uint64_t rows_written = 0;
  std::uint64_t rows_removed = 0;
  std::vector<std::string> warnings;  ///< of the last pass over all rows, or newer
};

struct InventoryStatus {
  bool suspended = false;               ///< nothing is exported
  std::size_t rows = 0;                 ///< of its owners, chosen or not
  std::vector<BindingStatus> bindings;  ///< as in the plan
};

/// Looks at the rows of bindings: nothing to do when nothing had changed since the last export.
struct LookCounts {
  std::uint64_t unchanged = 0;
  std::uint64_t changed = 0;
};

/// Bytes from which on an export is worth a warning (spec: runtime 9.6).
inline constexpr std::uint64_t kLargeExport = 1U << 20U;

struct ExporterOptions {
  ScheduleOptions schedule;
  BreakerOptions breaker;
  std::size_t threads = 8;  ///< passes at a time, over all inventories
  base::Duration pass_deadline = std::chrono::minutes(2);
  /// More time for each row of the set: what is large arrives all the same.
  base::Duration row_allowance = std::chrono::milliseconds(1);
  /// Inventories that were there at the start wait a random time before their first export to a
  /// sink with a cluster name, so that a fleet does not beat in step: up to this, and up to half
  /// the time that the first lists took.
  base::Duration start_spread = std::chrono::seconds(5);
  std::uint64_t seed = 0;  ///< of jitter; 0: from the machine
};

/// One state machine per binding: at most one pass in flight each, a slow one never delays another.
/// After a start, an error, a changed sink or spec, and at every refresh, a pass compares with what
/// the backend holds; after a success only differences are sent. Thread-safe. stop() (and the
/// destructor) cancels running passes and waits.
class Exporter {
 public:
  /// References must outlive it.
  Exporter(inventory::RowStore& store, const base::Clock& clock, const base::Logger* log,
           ExporterOptions options = {});
  ~Exporter();
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  void start();
  /// Begins nothing new and waits for running passes, at most so long.
  void drain(base::Duration limit);
  void stop();

  /// Adds an inventory or replaces its plan; equal plans change nothing. Bindings that are no
  /// longer named are forgotten.
  void set(InventoryPlan plan);
  /// Forgets it; running passes are cancelled and waited for. Nothing is written.
  void remove(const sinks::InventoryId& id);
  /// Forgets all that go: no pass of theirs begins any more, running ones may take `grace` to end,
  /// are cancelled then, and waited for. Nothing else is written. The forgotten ones.
  std::vector<sinks::InventoryId> leave(const std::function<bool(const sinks::InventoryId&)>& goes,
                                        base::Duration grace);
  /// Inventories with rows of this owner begin no pass until their next set() that knows of it: its
  /// rows are about to go for a reason that is no change of what there is.
  void hold(const inventory::Owner& owner);
  /// How often hold() was called; for InventoryPlan::as_of.
  [[nodiscard]] std::uint64_t holds() const;
  /// Rows of this owner were touched (wire it to RowStore::on_change). Quick.
  void rows_changed(const inventory::Owner& owner);
  [[nodiscard]] std::optional<InventoryStatus> status(const sinks::InventoryId& id) const;
  /// Its rows (those chosen) by target namespace; empty for an unknown inventory.
  [[nodiscard]] std::vector<inventory::Shard> shards(const sinks::InventoryId& id) const;
  /// Breakers of the sinks that are in use, by Binding::sink_key.
  [[nodiscard]] std::map<std::string, Breaker::State> breakers() const;
  /// Since the start, of cluster inventories or of the others.
  [[nodiscard]] LookCounts looks(bool cluster) const;
  /// Called after each pass with what status() would say anew; on an export thread, quick.
  void on_outcome(std::function<void(const sinks::InventoryId&)> listener);

  /// Writes the empty set to a binding's backend now, on the calling thread: clean-up of a deleted
  /// inventory (runtime 10). Goes past schedule and breaker.
  base::Result<> clean(const base::Context& context, const InventoryPlan& plan,
                       const Binding& binding) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::exporter
