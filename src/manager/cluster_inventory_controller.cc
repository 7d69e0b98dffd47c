#include "manager/cluster_inventory_controller.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "manager/inventory_conditions.h"
#include "manager/owners.h"
#include "manager/scope_rules.h"
#include "manager/upkeep.h"

namespace kollect::manager {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

constexpr const char* kKind = "KollectClusterInventory";
constexpr const char* kFinalizer = "kollect.dev/cluster-inventory-cleanup";
constexpr const char* kDefaultSinkNamespace = "kollect-system";
/// While something is not read yet; its first list wakes all.
constexpr base::Duration kLookAgain = std::chrono::seconds(10);
/// A new inventory may be applied before its targets.
constexpr base::Duration kTargetsMayCome = std::chrono::minutes(5);
constexpr base::Duration kLookForTargets = std::chrono::seconds(30);
/// An object with more would be near the limit of what the API server stores.
constexpr std::size_t kShardsTold = 5000;

Exporting exporting(const Cached<api::ClusterInventory>& inventory, Subject subject) {
  const api::ClusterInventorySpec& spec = inventory.object.spec;
  return {.manifest = inventory.manifest,
          .meta = inventory.meta(),
          .subject = std::move(subject),
          .id = {.ns = ClusterInventoryController::kPlace, .name = inventory.meta().name},
          .snapshot = spec.snapshot_sink_refs,
          .database = spec.database_sink_refs,
          .event = spec.event_sink_refs,
          .interval = spec.export_min_interval,
          .max_export_bytes = std::nullopt,
          .sink_namespace = ClusterInventoryController::sink_namespace(spec),
          .several_namespaces = true};
}

Value shards_of(const std::vector<inventory::Shard>& shards) {
  Array list;
  for (const inventory::Shard& shard : shards) {
    if (list.size() == kShardsTold) break;
    Object entry;
    entry.set("namespace", shard.ns);
    entry.set("itemCount", static_cast<std::int64_t>(shard.rows));
    entry.set("targetCount", static_cast<std::int64_t>(shard.targets));
    entry.set("checksum", "set:" + shard.set_hash);
    list.emplace_back(std::move(entry));
  }
  return list.empty() ? Value() : Value(std::move(list));
}

/// How long ago the object was made; very long when nobody knows.
base::Duration age_of(const Value& manifest, base::WallTime now) {
  const Value* text = manifest.at_path({"metadata", "creationTimestamp"});
  if (text == nullptr || !text->is_string()) return base::Duration::max();
  const auto made = base::parse_rfc3339(text->as_string());
  if (!made) return base::Duration::max();
  return std::chrono::duration_cast<base::Duration>(now - *made);
}

}  // namespace

std::string ClusterInventoryController::sink_namespace(const api::ClusterInventorySpec& spec) {
  return spec.sink_namespace.empty() ? kDefaultSinkNamespace : spec.sink_namespace;
}

/// One look at a living cluster inventory.
struct ClusterInventoryController::Pass {
  Ptr inventory;
  Exporting exporting;
  std::vector<SinkRef> refs;
  StatusDraft draft;
  Rollup rollup = {};
  std::uint64_t as_of = 0;  ///< Exporter::holds() before targets were looked at
  base::Duration floor{};
  std::optional<base::Error> denied = {};  ///< nothing is exported
  bool shared = false;                     ///< the exporter has another inventory under this id
  exporter::InventoryPlan plan = {};
  exporter::InventoryStatus status = {};
  InventorySinks::Described described = {};
};

base::Result<std::optional<base::Duration>> ClusterInventoryController::reconcile(
    const base::Context& context, const Key& key) {
  const sinks::InventoryId id{.ns = kPlace, .name = key.name};
  // Where a namespace is called "cluster", an inventory of it has the same place.
  const bool shared = caches_.inventories.get({.ns = kPlace, .name = key.name}) != nullptr;
  const Ptr inventory = caches_.rollups.get(key);
  if ((!inventory || inventory->deleting()) && !shared) exporter_.remove(id);
  if (!inventory) {
    sinks_.forget(id);
    return std::optional<base::Duration>();
  }
  const Subject subject = subject_of(kKind, inventory->manifest);
  if (inventory->deleting()) {
    if (shared) {
      KL_TRY(let_go(context, writer_, inventory->manifest, subject, kFinalizer));
      return std::optional<base::Duration>();
    }
    return clean_up(context, sinks_, writer_, caches_.rollups, exporting(*inventory, subject),
                    kFinalizer, clock_.now());
  }
  KL_ASSIGN(const Ptr kept,
            with_finalizer(context, writer_, caches_.rollups, inventory, subject, kFinalizer));
  if (!kept) return std::optional<base::Duration>();
  return live(context, kept, subject_of(kKind, kept->manifest));
}

bool ClusterInventoryController::waiting(const Exporting& exporting,
                                         const collector::KnownNamespaces& known) const {
  return !caches_.targets.synced() || caches_.profiles.waiting() || !caches_.inventories.synced() ||
         caches_.cluster_scopes.waiting() || caches_.scopes.waiting() ||
         sinks_.waiting(exporting) || (!known.known && !known.error);
}

base::Result<std::optional<base::Duration>> ClusterInventoryController::live(
    const base::Context& context, const Ptr& inventory, const Subject& subject) {
  const collector::KnownNamespaces known = namespaces_();
  Pass pass{.inventory = inventory,
            .exporting = exporting(*inventory, subject),
            .refs = {},
            .draft = StatusDraft(inventory->manifest, clock_.now())};
  if (waiting(pass.exporting, known)) {
    KL_TRY(describe_waiting(context, pass));
    return std::optional<base::Duration>(kLookAgain);
  }
  pass.refs = sinks_.resolve(context, pass.exporting);
  pass.as_of = exporter_.holds();
  pass.denied = check(pass, known);
  if (pass.denied && pass.denied->reason == "NoTargets" &&
      age_of(inventory->manifest, clock_.now()) < kTargetsMayCome) {
    return std::optional<base::Duration>(kLookForTargets);
  }
  pass.plan = plan_of(pass);
  if (!pass.shared) {
    set_plan(pass);
    pass.status = exporter_.status(pass.plan.id).value_or(exporter::InventoryStatus());
  }
  if (!pass.plan.suspended) KL_TRY(sinks_.clean_dropped(context, pass.exporting, pass.refs));
  describe(context, pass);
  KL_TRY(write_status(context, writer_, caches_.rollups, subject, pass.draft));
  sinks_.told(pass.exporting, std::move(pass.described));
  auto next = next_look(pass.refs, pass.plan);
  // Their events come from elsewhere, or not at all.
  if (pass.denied) next = std::min(next.value_or(kLookForTargets), kLookForTargets);
  return next;
}

base::Result<> ClusterInventoryController::describe_waiting(const base::Context& context,
                                                            Pass& pass) {
  InventoryFacts facts;
  add_unlisted(caches_.targets.lookup_error(), "cluster targets", facts.waiting);
  add_unlisted(caches_.inventories.lookup_error(), "inventories", facts.waiting);
  if (facts.waiting.empty() || sinks_.waiting(pass.exporting)) return {};
  pass.refs = sinks_.resolve(context, pass.exporting);
  facts.rollup = true;
  facts.complete = false;
  facts.suspended = pass.inventory->object.spec.suspend.value_or(false);
  facts.sinks = facts_of(pass.refs, {});
  tell(context, writer_, pass.exporting.subject, set_conditions(pass.draft, facts));
  return write_status(context, writer_, caches_.rollups, pass.exporting.subject, pass.draft);
}

std::optional<base::Error> ClusterInventoryController::check(
    Pass& pass, const collector::KnownNamespaces& known) const {
  const api::ClusterInventorySpec& spec = pass.inventory->object.spec;
  if (pass.inventory->problem) {
    base::Error problem = *pass.inventory->problem;
    problem.reason = "ExportTerminal";
    return problem;
  }
  if (caches_.inventories.get({.ns = kPlace, .name = pass.exporting.id.name})) {
    pass.shared = true;
    return base::configuration(
        fmt::format("the KollectInventory {} in the namespace {} exports to the same place",
                    pass.exporting.id.name, kPlace),
        "NameConflict");
  }
  KL_ASSIGN(pass.rollup,
            roll_up(spec, {.targets = caches_.targets.all(),
                           .standing = [&](const std::string& name) { return board_.of(name); },
                           .namespaces = known.known ? known.all.get() : nullptr,
                           .why_unknown = known.error ? known.error->message : ""}));
  if (spec.suspend.value_or(false)) return std::nullopt;
  if (pass.rollup.targets.empty()) {
    return base::configuration(
        pass.rollup.missing.empty()
            ? std::string("no cluster target collects from its namespaces")
            : "no cluster target is called " + base::join(pass.rollup.missing, ", "),
        "NoTargets");
  }
  if (!pass.rollup.degraded.empty()) {
    return base::retryable("not ready: " + base::join(pass.rollup.degraded, ", "),
                           "TargetDegraded");
  }
  if (auto denied = check_scopes(pass)) return denied;
  if (!pass.refs.empty()) {
    if (auto error = registry_.unavailable()) {
      error->reason = "ExportUnavailable";
      return error->with_prefix("no kind of sink can be read");
    }
  }
  return std::nullopt;
}

std::optional<base::Error> ClusterInventoryController::check_scopes(Pass& pass) const {
  const api::ClusterInventorySpec& spec = pass.inventory->object.spec;
  // the larger of both floors.
  KL_ASSIGN(const auto home, enforced_scope(caches_.scopes, pass.exporting.sink_namespace));
  if (home) pass.floor = duration_or(home->object.spec.min_export_interval, {});
  KL_ASSIGN(const auto scope, enforced_scope(caches_.cluster_scopes, ""));
  if (!scope) return std::nullopt;
  const ScopeRules rules = rules_of(*scope);
  pass.floor = std::max(pass.floor, duration_or(rules.spec->min_export_interval, {}));
  const auto outside = [&](const std::string& what, const std::string& ns) {
    return place_denied(rules.name, scope->object.spec, what, ns, "SinkNamespaceDenied");
  };
  if (spec.profile_ref && !spec.profile_ref->ns.empty()) {
    const auto& ref = *spec.profile_ref;
    if (auto denied = outside("profile " + ref.ns + "/" + ref.name, ref.ns)) return denied;
  }
  for (const SinkRef& ref : pass.refs) {
    if (auto denied = outside("sink " + ref.name.text(), ref.name.ns)) return denied;
  }
  return first_denied(rules, pass.refs);
}

exporter::InventoryPlan ClusterInventoryController::plan_of(const Pass& pass) const {
  const api::ClusterInventorySpec& spec = pass.inventory->object.spec;
  const bool unique = spec.dedupe == "byResourceUID";
  exporter::InventoryPlan plan;
  plan.id = pass.exporting.id;
  plan.uid = pass.inventory->meta().uid;
  plan.generation = pass.inventory->meta().generation;
  plan.suspended = spec.suspend.value_or(false) || pass.denied.has_value();
  plan.complete = pass.rollup.waiting.empty();
  plan.spread_start = true;
  plan.wanted = rows_of(pass.rollup);
  plan.wanted_key = key_of(pass.rollup) + (unique ? " once" : "");
  plan.choice = unique ? inventory::RowChoice::kLastOfUid : inventory::RowChoice::kAll;
  for (const std::string& name : pass.rollup.targets) {
    const auto target = caches_.targets.get({.ns = "", .name = name});
    if (!target) continue;
    const auto& ref = target->object.spec.profile_ref;
    const auto profile = caches_.profiles.get({.ns = ref.ns, .name = ref.name});
    if (!profile) continue;
    note_resource_key(profile->object.spec, plan.resource_key);
    sinks::declare_types(profile->object.spec.attributes, plan.attribute_types);
  }
  plan.keep_parts = unread(pass.rollup);
  plan.as_of = pass.as_of;
  plan.bindings = sinks_.bindings(pass.exporting, pass.refs, pass.floor);
  return plan;
}

std::vector<sinks::KeptPart> ClusterInventoryController::unread(const Rollup& rollup) const {
  std::vector<sinks::KeptPart> parts;
  for (const std::string& name : rollup.targets) {
    for (const std::string& ns : board_.of(name).unread)
      parts.push_back({.target = name, .ns = ns});
  }
  return parts;
}

void ClusterInventoryController::set_plan(const Pass& pass) {
  exporter_.set(pass.plan);
  // A target that fell out while this was made has held the exporter already.
  for (const std::string& name : pass.rollup.targets) {
    const auto target = caches_.targets.get({.ns = "", .name = name});
    if (!target || target->deleting() ||
        board_.of(name).phase == ClusterTargetStanding::Phase::kDegraded) {
      exporter_.hold(owner_of_cluster_target(name));
    }
  }
}

void ClusterInventoryController::describe(const base::Context& context, Pass& pass) {
  std::vector<inventory::Shard> shards;
  if (!pass.shared) shards = exporter_.shards(pass.plan.id);
  std::size_t rows = 0;
  for (const inventory::Shard& shard : shards) rows += shard.rows;
  pass.draft.set_field("targetCount", static_cast<std::int64_t>(pass.rollup.targets.size()));
  pass.draft.set_field("itemCount", static_cast<std::int64_t>(rows));
  pass.draft.set_field("namespaceShardCount", static_cast<std::int64_t>(shards.size()));
  pass.draft.set_field("namespaceShards", shards_of(shards));
  pass.described = sinks_.describe(pass.exporting, pass.refs, pass.status, pass.draft);
  InventoryFacts facts;
  facts.rollup = true;
  facts.suspended = pass.inventory->object.spec.suspend.value_or(false);
  facts.denied = pass.denied;
  facts.rows = rows;
  facts.complete = pass.plan.complete;
  facts.waiting = pass.rollup.waiting;
  facts.missing = pass.rollup.missing;
  facts.unread = unread_text(pass.plan.keep_parts);
  facts.wrote_partially = pass.described.wrote_partially;
  facts.sinks = facts_of(pass.refs, pass.status);
  tell(context, writer_, pass.exporting.subject, set_conditions(pass.draft, facts));
}

}  // namespace kollect::manager
