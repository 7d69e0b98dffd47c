// What KollectInventory and KollectClusterInventory share: their references to sinks, what became
// of each in the status, and the clean-up behind them (spec: runtime 7.3, 9.2, 10).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/types.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/json/value.h"
#include "base/result.h"
#include "exporter/exporter.h"
#include "manager/inventory_conditions.h"
#include "manager/scope_rules.h"
#include "manager/sink_registry.h"
#include "manager/status_draft.h"
#include "manager/upkeep.h"
#include "manager/writer.h"

namespace kollect::manager {

/// An inventory of either kind as far as sinks are concerned. Borrows from the cached object.
struct Exporting {
  const base::json::Value& manifest;
  const api::Metadata& meta;
  Subject subject;
  sinks::InventoryId id;
  const std::vector<api::SinkReference>& snapshot;
  const std::vector<api::SinkReference>& database;
  const std::vector<api::SinkReference>& event;
  const std::string& interval;  ///< spec.exportMinInterval
  std::optional<std::int64_t> max_export_bytes;
  std::string sink_namespace;       ///< of references that name none
  bool several_namespaces = false;  ///< references may name one: the status says which
};

/// A sink reference and what it resolved to. Borrows as Exporting does.
struct SinkRef {
  SinkName name;
  const api::SinkReference* reference = nullptr;
  base::Result<ResolvedSink> sink = base::not_found("");
};

/// Clean-up that did not succeed.
struct CleanupFailure {
  std::string message;     ///< names every sink
  bool transient = false;  ///< of at least one: worth another try
};

/// "web in lab, quay; db in lab".
std::string unread_text(const std::vector<sinks::KeptPart>& parts);

base::Duration duration_or(const std::string& text, base::Duration other);
/// ScopeSinkDenied for the first that the scope does not allow.
std::optional<base::Error> first_denied(const ScopeRules& rules, const std::vector<SinkRef>& refs);
/// True for kollect.dev/deletion-policy: retain.
bool retains(const api::Metadata& meta);
std::vector<SinkFact> facts_of(const std::vector<SinkRef>& refs,
                               const exporter::InventoryStatus& status);
/// When an inventory with these references should be looked at again; none: on events.
std::optional<base::Duration> next_look(const std::vector<SinkRef>& refs,
                                        const exporter::InventoryPlan& plan);
/// Sets resource_key when the profile exports whole objects.
void note_resource_key(const api::ProfileSpec& profile, std::optional<std::string>& resource_key);

/// Thread-safe for different inventories.
class InventorySinks {
 public:
  InventorySinks(SinkRegistry& registry, exporter::Exporter& exporter, Writer& writer,
                 std::size_t max_export_bytes)
      : registry_(registry),
        exporter_(exporter),
        writer_(writer),
        max_export_bytes_(max_export_bytes) {}

  /// A kind of sink that it refers to is not read yet.
  [[nodiscard]] bool waiting(const Exporting& inventory) const;
  /// All references in the order of the lists. Every error has a reason.
  std::vector<SinkRef> resolve(const base::Context& context, const Exporting& inventory);
  /// Of the references that resolve. `floor`: of the scopes; lifts every interval.
  [[nodiscard]] std::vector<exporter::Binding> bindings(const Exporting& inventory,
                                                        const std::vector<SinkRef>& refs,
                                                        base::Duration floor) const;

  /// What describe() told, for told().
  struct Described {
    bool wrote_partially = false;
    std::map<std::string, std::uint64_t> seen;  ///< exports, by binding
  };
  /// Sets sinkExports and lastExportTime.
  Described describe(const Exporting& inventory, const std::vector<SinkRef>& refs,
                     const exporter::InventoryStatus& status, StatusDraft& draft);
  /// The status was written: what a refused write would have told is told by the next one.
  void told(const Exporting& inventory, Described described);
  void forget(const sinks::InventoryId& id);

  /// Removes what was exported through references that the spec has no longer.
  base::Result<> clean_dropped(const base::Context& context, const Exporting& inventory,
                               const std::vector<SinkRef>& refs);
  /// Removes everything that was exported, unless it is to be retained. A sink that is gone is no
  /// failure.
  std::optional<CleanupFailure> clean_all(const base::Context& context, const Exporting& inventory);

 private:
  base::Result<> clean(const base::Context& context, const Exporting& inventory,
                       const SinkName& name);

  SinkRegistry& registry_;
  exporter::Exporter& exporter_;
  Writer& writer_;
  std::size_t max_export_bytes_;
  std::mutex mutex_;
  std::map<sinks::InventoryId, std::map<std::string, std::uint64_t>> seen_;
};

/// Says in the status why a deleted inventory is still there: CleanupTerminal when waiting does not
/// mend it, else Progressing. Returns the event that says so.
Told set_cleanup_failed(StatusDraft& draft, const CleanupFailure& failure, const char* finalizer);

/// The finalizer's work of an inventory that is deleted. `object` is the cached one.
template <class T>
base::Result<std::optional<base::Duration>> clean_up(const base::Context& context,
                                                     InventorySinks& sinks, Writer& writer,
                                                     ObjectCache<T>& cache,
                                                     const Exporting& inventory,
                                                     const char* finalizer, base::WallTime now) {
  if (!has_finalizer(inventory.manifest, finalizer)) return std::optional<base::Duration>();
  const auto failure = sinks.clean_all(context, inventory);
  if (!failure) {
    KL_TRY(let_go(context, writer, inventory.manifest, inventory.subject, finalizer));
    return std::optional<base::Duration>();
  }
  StatusDraft draft(inventory.manifest, now);
  tell(context, writer, inventory.subject, {set_cleanup_failed(draft, *failure, finalizer)});
  KL_TRY(write_status(context, writer, cache, inventory.subject, draft));
  if (failure->transient) return base::retryable("clean-up: " + failure->message);
  return std::optional<base::Duration>();
}

}  // namespace kollect::manager
