// The condition tables of KollectInventory and KollectClusterInventory as functions of facts (spec:
// runtime 7.3 and 7.4).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "exporter/exporter.h"
#include "manager/status_draft.h"

namespace kollect::manager {

/// From here on an inventory has ExportShardWarning.
inline constexpr std::size_t kManyRows = 1800;

/// How one sink reference stands.
struct SinkFact {
  std::string name = {};                     ///< "database/pg"
  std::optional<base::Error> unusable = {};  ///< does not resolve, or is known to be broken
  bool exported = false;                     ///< at least once since the start
  std::optional<base::Error> error = {};     ///< of the last pass
  std::vector<std::string> warnings = {};
};

struct InventoryFacts {
  bool suspended = false;
  /// Why nothing is exported, whatever the sinks: a scope, or the targets of a cluster inventory.
  /// Its reason is the condition's.
  std::optional<base::Error> denied = {};
  std::size_t rows = 0;
  bool complete = true;  ///< first lists of all targets are in
  std::vector<std::string> waiting = {};
  std::vector<std::string> unreadable = {};  ///< targets without which is exported
  /// Namespaces that targets cannot read: "web in lab, quay"; what was exported of them stays.
  std::string unread = {};
  bool wrote_partially = false;  ///< since the last look some sinks were written to, others skipped
  std::vector<SinkFact> sinks = {};
  bool rollup = false;                    ///< a cluster inventory's
  std::vector<std::string> missing = {};  ///< cluster targets that are named, but not there (L-21)
};

/// An event to tell, or with an empty reason: the topic is over.
struct Told {
  std::string topic;
  bool warning = false;
  std::string reason;
  std::string message;
  bool logged = false;  ///< the log has it already
};

/// Errors that waiting does not mend.
bool is_terminal(const base::Error& error);

/// Sets Ready, Synced, SinkReachable, Degraded, and ExportShardWarning or (rollup) ExportSucceeded.
std::vector<Told> set_conditions(StatusDraft& draft, const InventoryFacts& facts);

/// Synced of one sinkExports[] entry; none: nothing is known yet, what stands there stays.
/// `unusable`: why the reference does not resolve, or null; `fresh`: written since the last look.
std::optional<Condition> sink_condition(const base::Error* unusable,
                                        const exporter::BindingStatus* binding, bool fresh);

}  // namespace kollect::manager
