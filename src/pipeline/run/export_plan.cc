#include "pipeline/run/export_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "select/label_selector.h"

namespace kollect::pipeline {
namespace {

constexpr std::size_t kDefaultCeiling = 1572864;  // spec: runtime 9.6

ExportUnit unit_of_target(const Plan& plan, std::size_t index) {
  return {.id = plan.targets[index].inventory(), .targets = {index}, .max_bytes = 0};
}

/// The sink reference of an inventory that means this sink.
const api::SinkReference* reference_to(const Manifest& sink, const std::string& home,
                                       const std::vector<api::SinkReference>& snapshot,
                                       const std::vector<api::SinkReference>& database,
                                       const std::vector<api::SinkReference>& event) {
  const std::vector<api::SinkReference>& list = sink.kind == "KollectSnapshotSink"   ? snapshot
                                                : sink.kind == "KollectDatabaseSink" ? database
                                                                                     : event;
  const auto it = std::ranges::find_if(list, [&](const api::SinkReference& reference) {
    return reference.name == sink.name && (reference.ns.empty() ? home : reference.ns) == sink.ns;
  });
  return it == list.end() ? nullptr : &*it;
}

std::size_t ceiling(const api::SinkReference& reference,
                    const std::optional<std::int64_t>& of_inventory) {
  std::size_t limit = kDefaultCeiling;
  for (const auto& wanted : {of_inventory, reference.max_export_bytes}) {
    if (wanted && *wanted > 0) limit = std::min(limit, static_cast<std::size_t>(*wanted));
  }
  return limit;
}

std::vector<std::size_t> targets_of(const Plan& plan, const Loaded<api::Inventory>& inventory) {
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < plan.targets.size(); ++i) {
    if (!plan.targets[i].cluster_target && plan.targets[i].ns == inventory.manifest->ns) {
      indexes.push_back(i);
    }
  }
  return indexes;
}

/// By names, else by labels, else all (spec: selection 12.2).
std::vector<std::size_t> targets_of(const Config& config, const Plan& plan,
                                    const Loaded<api::ClusterInventory>& inventory) {
  const api::ClusterInventorySpec& spec = inventory.object.spec;
  std::optional<select::LabelSelector> selector;
  if (spec.target_selector) {
    auto compiled = select::LabelSelector::compile(*spec.target_selector);
    if (!compiled) return {};
    selector = std::move(*compiled);
  }
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < plan.targets.size(); ++i) {
    if (!plan.targets[i].cluster_target) continue;
    const std::string& name = plan.targets[i].name;
    if (!spec.target_refs.empty()) {
      if (std::ranges::find(spec.target_refs, name) != spec.target_refs.end()) indexes.push_back(i);
      continue;
    }
    const auto target = std::ranges::find_if(
        config.cluster_targets,
        [&](const Loaded<api::ClusterTarget>& t) { return t.manifest->name == name; });
    if (!selector || selector->matches(target->object.metadata.labels)) indexes.push_back(i);
  }
  return indexes;
}

/// The namespaces of one cluster that a cluster inventory takes (spec: selection 12.2).
class Choice {
 public:
  Choice(const api::ClusterInventorySpec& spec, const ContextResult& result)
      : all_(spec.namespaces.empty() && !spec.namespace_selector) {
    if (all_) return;
    if (!result.namespaces_listed) {
      // Names count as they are (L-12); what a selector means cannot be told.
      known_ = !spec.namespace_selector;
      chosen_.insert(spec.namespaces.begin(), spec.namespaces.end());
      return;
    }
    std::optional<select::LabelSelector> selector;
    if (spec.namespace_selector) {
      auto compiled = select::LabelSelector::compile(*spec.namespace_selector);
      if (!compiled) return;  // admission refuses it
      selector = std::move(*compiled);
    }
    for (const auto& [name, ns] : result.namespaces) {
      const bool listed = spec.namespaces.empty() ||
                          std::ranges::find(spec.namespaces, name) != spec.namespaces.end();
      if (listed && (!selector || selector->matches(ns.labels))) chosen_.insert(name);
    }
  }

  [[nodiscard]] bool known() const { return known_; }
  /// Rows of cluster-scoped objects belong to every rollup (L-22).
  [[nodiscard]] bool takes_rows_of(std::string_view ns) const {
    return all_ || ns.empty() || chosen_.contains(ns);
  }
  /// L-20. Where namespaces are not known a target may take part.
  [[nodiscard]] bool takes(const TargetResult& target) const {
    return all_ || !known_ || target.cluster_scoped || !target.effective ||
           std::ranges::any_of(*target.effective,
                               [&](const std::string& ns) { return chosen_.contains(ns); });
  }

 private:
  bool all_;
  bool known_ = true;
  std::set<std::string, std::less<>> chosen_;
};

/// byResourceUID: of equal (namespace, uid) the row of the target whose name is last (L-23).
std::unique_ptr<inventory::RowSet> dedupe(const inventory::RowSet& rows) {
  std::map<std::pair<std::string, std::string>, std::string> last;
  (void)rows.for_each([&](const inventory::RowView& row) -> base::Result<> {
    std::string& target = last[{std::string(row.ns), std::string(row.uid)}];
    if (row.target_name > target) target = row.target_name;
    return {};
  });
  auto kept = std::make_unique<inventory::RowSet>();
  (void)rows.for_each([&](const inventory::RowView& row) -> base::Result<> {
    if (last[{std::string(row.ns), std::string(row.uid)}] == row.target_name) kept->add(row);
    return {};
  });
  kept->seal();
  return kept;
}

std::unique_ptr<inventory::RowSet> merge(const std::vector<std::size_t>& targets,
                                         const api::ClusterInventorySpec* cluster_inventory,
                                         const Choice* choice, const ContextResult& result) {
  auto merged = std::make_unique<inventory::RowSet>();
  for (const std::size_t index : targets) {
    (void)result.targets[index].data.rows.for_each(
        [&](const inventory::RowView& row) -> base::Result<> {
          if (choice == nullptr || choice->takes_rows_of(row.target_namespace)) merged->add(row);
          return {};
        });
  }
  merged->seal();
  const bool by_uid = cluster_inventory != nullptr && cluster_inventory->dedupe == "byResourceUID";
  return by_uid ? dedupe(*merged) : std::move(merged);
}

/// Key of the embedded object when every target of the unit exports whole objects under the same
/// one.
std::optional<std::string> resource_key(const std::vector<std::size_t>& targets, const Plan& plan) {
  std::optional<std::string> key;
  for (const std::size_t index : targets) {
    const extract::Program& program = plan.targets[index].program;
    if (!program.exports_resource()) return std::nullopt;
    if (key && *key != program.resource_key()) return std::nullopt;
    key = program.resource_key();
  }
  return key;
}

}  // namespace

std::vector<ExportUnit> output_units(const Config& config, const Plan& plan) {
  std::vector<ExportUnit> units;
  std::set<std::size_t> covered;
  const auto add = [&](ExportUnit unit) {
    covered.insert(unit.targets.begin(), unit.targets.end());
    units.push_back(std::move(unit));
  };
  for (const auto& inventory : config.inventories) {
    add({.id = {.ns = inventory.manifest->ns, .name = inventory.manifest->name},
         .targets = targets_of(plan, inventory)});
  }
  for (const auto& inventory : config.cluster_inventories) {
    add({.id = {.ns = "cluster", .name = inventory.manifest->name},
         .targets = targets_of(config, plan, inventory),
         .max_bytes = 0,
         .cluster_inventory = &inventory.object.spec});
  }
  for (std::size_t i = 0; i < plan.targets.size(); ++i) {
    if (!covered.contains(i)) units.push_back(unit_of_target(plan, i));
  }
  return units;
}

std::vector<ExportUnit> sink_units(const Config& config, const Plan& plan, const Manifest& sink) {
  std::vector<ExportUnit> units;
  for (const auto& inventory : config.inventories) {
    const api::InventorySpec& spec = inventory.object.spec;
    const auto* reference = reference_to(sink, inventory.manifest->ns, spec.snapshot_sink_refs,
                                         spec.database_sink_refs, spec.event_sink_refs);
    if (reference == nullptr) continue;
    units.push_back({.id = {.ns = inventory.manifest->ns, .name = inventory.manifest->name},
                     .targets = targets_of(plan, inventory),
                     .max_bytes = ceiling(*reference, spec.max_export_bytes)});
  }
  for (const auto& inventory : config.cluster_inventories) {
    const api::ClusterInventorySpec& spec = inventory.object.spec;
    const auto* reference = reference_to(sink, spec.sink_namespace, spec.snapshot_sink_refs,
                                         spec.database_sink_refs, spec.event_sink_refs);
    if (reference == nullptr) continue;
    units.push_back({.id = {.ns = "cluster", .name = inventory.manifest->name},
                     .targets = targets_of(config, plan, inventory),
                     .max_bytes = ceiling(*reference, std::nullopt),
                     .cluster_inventory = &spec});
  }
  if (config.inventories.empty() && config.cluster_inventories.empty()) {
    for (std::size_t i = 0; i < plan.targets.size(); ++i) units.push_back(unit_of_target(plan, i));
  }
  return units;
}

ExportSet build_exports(const std::vector<ExportUnit>& units, const Plan& plan,
                        const ContextResult& result, const std::string& cluster,
                        base::WallTime exported_at) {
  ExportSet set;
  const auto has_status = [&](TargetResult::Status status) {
    return [&result, status](std::size_t i) { return result.targets[i].status == status; };
  };
  for (const ExportUnit& unit : units) {
    const std::string title = unit.id.ns + "/" + unit.id.name;
    std::vector<std::size_t> targets = unit.targets;
    std::optional<Choice> choice;
    if (unit.cluster_inventory != nullptr) {
      choice.emplace(*unit.cluster_inventory, result);
      std::erase_if(targets, [&](std::size_t i) { return !choice->takes(result.targets[i]); });
      if (targets.empty()) {
        set.without_targets.push_back(title);
        continue;
      }
    }
    // An inventory without any target is an empty one; one whose targets rest, rests.
    if (!targets.empty() &&
        std::ranges::all_of(targets, has_status(TargetResult::Status::kSuspended))) {
      continue;
    }
    if (std::ranges::any_of(targets, has_status(TargetResult::Status::kSkipped)) ||
        (choice && !choice->known())) {
      set.held_back.push_back(title);
      continue;
    }
    sinks::Export exported;
    exported.inventory = unit.id;
    exported.exported_at = exported_at;
    exported.cluster = cluster;
    exported.max_bytes = unit.max_bytes;
    exported.resource_key = resource_key(targets, plan);
    for (const std::size_t i : targets) {
      sinks::declare_types(plan.targets[i].declared, exported.attribute_types);
    }
    std::set<std::string> denied;
    for (const std::size_t i : targets) {
      denied.insert(result.targets[i].denied_namespaces.begin(),
                    result.targets[i].denied_namespaces.end());
    }
    exported.keep_namespaces.assign(denied.begin(), denied.end());
    // Nobody knows which objects the unreadable documents are about.
    for (const std::size_t i : targets) {
      if (result.incomplete_input) exported.keep_targets.push_back(plan.targets[i].title());
    }
    if (targets.size() == 1 && !choice) {
      exported.rows = &result.targets[targets.front()].data.rows;
    } else {
      set.merged.push_back(
          merge(targets, unit.cluster_inventory, choice ? &*choice : nullptr, result));
      exported.rows = set.merged.back().get();
    }
    set.exports.push_back(std::move(exported));
  }
  return set;
}

}  // namespace kollect::pipeline
