// Which rows go into which document of which sink (spec: pipeline 3 and 9).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "inventory/row_set.h"
#include "pipeline/config.h"
#include "pipeline/run/plan.h"
#include "pipeline/run/result.h"
#include "sinks/sink.h"

namespace kollect::pipeline {

/// One export: a target of its own, or an inventory with all its targets.
struct ExportUnit {
  sinks::InventoryId id;
  std::vector<std::size_t> targets;  ///< in the plan
  std::size_t max_bytes = 0;         ///< ceiling of a document; 0: none
  const api::ClusterInventorySpec* cluster_inventory = nullptr;
};

/// Units of `--output DIR`: inventories of the folder, and every target outside of them.
std::vector<ExportUnit> output_units(const Config& config, const Plan& plan);
/// Units of a sink ("snapshot", "database" or "event" by kind): of the inventories that name it; of
/// every target when the folder has no inventory.
std::vector<ExportUnit> sink_units(const Config& config, const Plan& plan, const Manifest& sink);

/// The exports of one context, with the row sets that they borrow from.
struct ExportSet {
  std::vector<sinks::Export> exports;
  std::vector<std::unique_ptr<inventory::RowSet>> merged;
  /// Units left out, since a target of theirs was not read (P-9), or their namespaces are not
  /// known.
  std::vector<std::string> held_back;
  /// Cluster inventories left out, since no target reads what they ask for (NoTargets).
  std::vector<std::string> without_targets;
};
ExportSet build_exports(const std::vector<ExportUnit>& units, const Plan& plan,
                        const ContextResult& result, const std::string& cluster,
                        base::WallTime exported_at);

}  // namespace kollect::pipeline
