#include "manager/inventory_controller.h"

#include "manager/inventory_conditions.h"
#include "manager/scope_rules.h"
#include "manager/upkeep.h"

namespace kollect::manager {

namespace {

constexpr const char* kKind = "KollectInventory";
constexpr const char* kFinalizer = "kollect.dev/inventory-cleanup";
/// While something is not read yet; its first list wakes all.
constexpr base::Duration kLookAgain = std::chrono::seconds(10);

Exporting exporting(const Cached<api::Inventory>& inventory, Subject subject) {
  const api::InventorySpec& spec = inventory.object.spec;
  const Key key = inventory.key();
  return {.manifest = inventory.manifest,
          .meta = inventory.meta(),
          .subject = std::move(subject),
          .id = {.ns = key.ns, .name = key.name},
          .snapshot = spec.snapshot_sink_refs,
          .database = spec.database_sink_refs,
          .event = spec.event_sink_refs,
          .interval = spec.export_min_interval,
          .max_export_bytes = spec.max_export_bytes,
          .sink_namespace = key.ns};
}

}  // namespace

InventoryController::Readiness InventoryController::readiness(const std::string& ns) const {
  Readiness result;
  result.as_of = exporter_.holds();
  if (!caches_.targets.synced(ns) || !caches_.profiles.synced(ns) || !caches_.scopes.synced(ns)) {
    result.complete = false;
  }
  add_unlisted(caches_.targets.lookup_error(ns), "targets", result.waiting);
  add_unlisted(caches_.profiles.lookup_error(ns), "profiles", result.waiting);
  for (const auto& target : caches_.targets.in_namespace(ns)) {
    const TargetStanding standing = board_.of(target->key());
    if (standing.phase == TargetPhase::kComplete) {
      for (const std::string& one : standing.unread) {
        result.parts.push_back({.target = target->meta().name, .ns = one});
      }
    }
    switch (standing.phase) {
      case TargetPhase::kUnknown:
        if (target->deleting()) break;
        result.complete = false;
        result.waiting.push_back(target->meta().name);
        break;
      case TargetPhase::kUnreadable:
        result.keep.push_back(target->meta().name);
        break;
      case TargetPhase::kComplete:
      case TargetPhase::kGone:
        break;
    }
    const auto profile = caches_.profiles.get({ns, target->object.spec.profile_ref});
    if (!profile) continue;
    note_resource_key(profile->object.spec, result.resource_key);
    sinks::declare_types(profile->object.spec.attributes, result.attribute_types);
  }
  return result;
}

exporter::InventoryPlan InventoryController::plan_of(const Ptr& inventory,
                                                     const Readiness& readiness) const {
  const std::string ns = inventory->meta().ns;
  exporter::InventoryPlan plan;
  plan.id = {.ns = ns, .name = inventory->meta().name};
  plan.uid = inventory->meta().uid;
  plan.generation = inventory->meta().generation;
  plan.suspended = inventory->object.spec.suspend.value_or(false);
  plan.complete = readiness.complete;
  plan.spread_start = true;
  plan.wanted = [ns](const inventory::Owner& owner) {
    return owner.owner_class == inventory::OwnerClass::kTarget && owner.ns == ns;
  };
  plan.wanted_key = "targets of " + ns;
  plan.resource_key = readiness.resource_key;
  plan.attribute_types = readiness.attribute_types;
  plan.keep_targets = readiness.keep;
  plan.keep_parts = readiness.parts;
  plan.as_of = readiness.as_of;
  return plan;
}

/// One look at a living inventory.
struct InventoryController::Pass {
  Ptr inventory;
  Exporting exporting;
  std::vector<SinkRef> refs;
  Readiness readiness;
  exporter::InventoryPlan plan;
  std::optional<base::Error> denied;  ///< a scope says no: nothing is exported
  exporter::InventoryStatus status;
  StatusDraft draft;
  InventorySinks::Described described = {};
};

base::Result<std::optional<base::Duration>> InventoryController::reconcile(
    const base::Context& context, const Key& key) {
  const sinks::InventoryId id{.ns = key.ns, .name = key.name};
  const Ptr inventory = caches_.inventories.get(key);
  if (!inventory || inventory->deleting()) exporter_.remove(id);
  if (!inventory) {
    sinks_.forget(id);
    return std::optional<base::Duration>();
  }
  const Subject subject = subject_of(kKind, inventory->manifest);
  if (inventory->deleting()) {
    return clean_up(context, sinks_, writer_, caches_.inventories, exporting(*inventory, subject),
                    kFinalizer, clock_.now());
  }
  KL_ASSIGN(const Ptr kept,
            with_finalizer(context, writer_, caches_.inventories, inventory, subject, kFinalizer));
  if (!kept) return std::optional<base::Duration>();
  return live(context, kept, subject_of(kKind, kept->manifest));
}

base::Result<std::optional<base::Duration>> InventoryController::live(const base::Context& context,
                                                                      const Ptr& inventory,
                                                                      const Subject& subject) {
  // A scope or sink that the caches do not have yet is not one that does not exist.
  if (caches_.scopes.waiting(subject.key.ns) || sinks_.waiting(exporting(*inventory, subject))) {
    return std::optional<base::Duration>(kLookAgain);
  }
  Pass pass{.inventory = inventory,
            .exporting = exporting(*inventory, subject),
            .refs = {},
            .readiness = readiness(inventory->meta().ns),
            .plan = {},
            .denied = std::nullopt,
            .status = {},
            .draft = StatusDraft(inventory->manifest, clock_.now())};
  pass.refs = sinks_.resolve(context, pass.exporting);
  base::Duration floor{};
  if (inventory->problem) {
    pass.denied = inventory->problem;
    pass.denied->reason = "ExportTerminal";
  } else if (const auto scope = enforced_scope(caches_.scopes, subject.key.ns); !scope) {
    pass.denied = scope.error();
  } else if (*scope) {
    floor = duration_or((*scope)->object.spec.min_export_interval, base::Duration::zero());
    pass.denied = first_denied(rules_of(**scope), pass.refs);
  }
  pass.plan = plan_of(inventory, pass.readiness);
  pass.plan.bindings = sinks_.bindings(pass.exporting, pass.refs, floor);
  if (pass.denied) pass.plan.suspended = true;
  exporter_.set(pass.plan);
  pass.status = exporter_.status(pass.plan.id).value_or(exporter::InventoryStatus());
  if (!pass.plan.suspended) KL_TRY(sinks_.clean_dropped(context, pass.exporting, pass.refs));
  describe(context, pass);
  KL_TRY(write_status(context, writer_, caches_.inventories, subject, pass.draft));
  sinks_.told(pass.exporting, std::move(pass.described));
  return next_look(pass.refs, pass.plan);
}

void InventoryController::describe(const base::Context& context, Pass& pass) {
  pass.draft.set_field("itemCount", static_cast<std::int64_t>(pass.status.rows));
  pass.described = sinks_.describe(pass.exporting, pass.refs, pass.status, pass.draft);
  InventoryFacts facts;
  facts.suspended = pass.inventory->object.spec.suspend.value_or(false);
  facts.denied = pass.denied;
  facts.rows = pass.status.rows;
  facts.complete = pass.readiness.complete;
  facts.waiting = pass.readiness.waiting;
  facts.unreadable = pass.readiness.keep;
  facts.unread = unread_text(pass.readiness.parts);
  facts.wrote_partially = pass.described.wrote_partially;
  facts.sinks = facts_of(pass.refs, pass.status);
  tell(context, writer_, pass.exporting.subject, set_conditions(pass.draft, facts));
}

}  // namespace kollect::manager
