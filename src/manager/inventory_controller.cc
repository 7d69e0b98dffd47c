#include "manager/inventory_controller.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "manager/inventory_conditions.h"
#include "manager/upkeep.h"

namespace kollect::manager {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

constexpr const char* kKind = "KollectInventory";
constexpr const char* kFinalizer = "kollect.dev/inventory-cleanup";
constexpr const char* kDeletionPolicy = "kollect.dev/deletion-policy";
constexpr base::Duration kDefaultInterval = std::chrono::seconds(30);
/// Sinks that cannot be resolved are looked for again after this, besides their events.
constexpr base::Duration kLookAgain = std::chrono::seconds(30);

base::Duration duration_or(const std::string& text, base::Duration other) {
  if (text.empty()) return other;
  const auto parsed = base::parse_duration(text);
  return parsed ? *parsed : other;
}

/// The scope that counts: the first by name (spec: runtime 11).
const api::ScopeSpec* scope_of(const std::vector<ObjectCache<api::Scope>::Ptr>& scopes) {
  return scopes.empty() ? nullptr : &scopes.front()->object.spec;
}

bool allowed(const std::vector<std::string>& list, const std::string& name) {
  return list.empty() || std::ranges::find(list, name) != list.end();
}

bool retains(const Cached<api::Inventory>& inventory) {
  const auto& annotations = inventory.meta().annotations;
  const auto it = annotations.find(kDeletionPolicy);
  return it != annotations.end() && it->second == "retain";
}

/// "database/pg" back into its parts.
std::optional<SinkName> parse_binding(const std::string& ns, std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return SinkName{.family = std::string(text.substr(0, slash)),
                  .ns = ns,
                  .name = std::string(text.substr(slash + 1))};
}

}  // namespace

std::vector<InventoryController::Ref> InventoryController::resolve(const base::Context& context,
                                                                   const Ptr& inventory) {
  std::vector<Ref> refs;
  const auto add = [&](const char* family, const std::vector<api::SinkReference>& list) {
    for (const api::SinkReference& reference : list) {
      Ref ref{.name = {.family = family, .ns = inventory->meta().ns, .name = reference.name},
              .reference = &reference};
      ref.sink = sinks_.resolve(context, ref.name);
      if (!ref.sink && ref.sink.error().reason.empty()) {
        base::Error error = ref.sink.error();
        error.reason = "SinkLookupFailed";
        ref.sink = error;
      }
      refs.push_back(std::move(ref));
    }
  };
  const api::InventorySpec& spec = inventory->object.spec;
  add("snapshot", spec.snapshot_sink_refs);
  add("database", spec.database_sink_refs);
  add("event", spec.event_sink_refs);
  return refs;
}

InventoryController::Readiness InventoryController::readiness(const std::string& ns) const {
  Readiness result;
  if (!caches_.targets.synced() || !caches_.profiles.synced() || !caches_.scopes.synced()) {
    result.complete = false;
  }
  for (const auto& target : caches_.targets.in_namespace(ns)) {
    switch (board_.of(target->key())) {
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
    if (profile && profile->object.spec.export_spec &&
        profile->object.spec.export_spec->mode == "Resource") {
      const std::string& as = profile->object.spec.export_spec->as;
      result.resource_key = as.empty() ? "resource" : as;
    }
  }
  return result;
}

exporter::InventoryPlan InventoryController::plan_of(const Ptr& inventory,
                                                     const std::vector<Ref>& refs,
                                                     const Readiness& readiness,
                                                     base::Duration floor) const {
  const api::InventorySpec& spec = inventory->object.spec;
  const std::string ns = inventory->meta().ns;
  exporter::InventoryPlan plan;
  plan.id = {.ns = ns, .name = inventory->meta().name};
  plan.uid = inventory->meta().uid;
  plan.generation = inventory->meta().generation;
  plan.suspended = spec.suspend.value_or(false);
  plan.complete = readiness.complete;
  plan.spread_start = true;
  plan.wanted = [ns](const inventory::Owner& owner) {
    return owner.owner_class == inventory::OwnerClass::kTarget && owner.ns == ns;
  };
  plan.wanted_key = "targets of " + ns;
  plan.resource_key = readiness.resource_key;
  plan.keep_targets = readiness.keep;
  for (const Ref& ref : refs) {
    if (!ref.sink) continue;
    const std::string& chosen = !ref.reference->export_min_interval.empty()
                                    ? ref.reference->export_min_interval
                                : !ref.sink->interval.empty() ? ref.sink->interval
                                                              : spec.export_min_interval;
    exporter::Binding binding;
    binding.name = ref.name.binding();
    binding.sink_key = ref.name.text();
    binding.sink_identity = ref.sink->identity;
    binding.cluster = std::string(base::trim(ref.sink->cluster));
    binding.interval = std::max(duration_or(chosen, kDefaultInterval), floor);
    const auto bytes =
        ref.reference->max_export_bytes ? ref.reference->max_export_bytes : spec.max_export_bytes;
    binding.max_bytes =
        bytes && *bytes > 0 ? static_cast<std::size_t>(*bytes) : options_.max_export_bytes;
    binding.open = ref.sink->open;
    plan.bindings.push_back(std::move(binding));
  }
  return plan;
}

/// One look at a living inventory.
struct InventoryController::Pass {
  Ptr inventory;
  Subject subject;
  std::vector<Ref> refs;
  Readiness readiness;
  exporter::InventoryPlan plan;
  std::optional<base::Error> denied;  ///< a scope says no: nothing is exported
  exporter::InventoryStatus status;
  StatusDraft draft;
  bool wrote_partially = false;
  std::map<std::string, std::uint64_t> seen =
      {};  ///< exports that this status tells of, by binding
};

base::Result<std::optional<base::Duration>> InventoryController::reconcile(
    const base::Context& context, const Key& key) {
  const Ptr inventory = caches_.inventories.get(key);
  if (!inventory) {
    exporter_.remove({.ns = key.ns, .name = key.name});
    const std::scoped_lock lock(mutex_);
    seen_exports_.erase(key);
    return std::optional<base::Duration>();
  }
  const Subject subject = subject_of(kKind, inventory->manifest);
  if (inventory->deleting()) return clean_up(context, inventory, subject);
  KL_ASSIGN(const Ptr kept,
            with_finalizer(context, writer_, caches_.inventories, inventory, subject, kFinalizer));
  if (!kept) return std::optional<base::Duration>();
  return live(context, kept, subject_of(kKind, kept->manifest));
}

base::Result<std::optional<base::Duration>> InventoryController::live(const base::Context& context,
                                                                      const Ptr& inventory,
                                                                      const Subject& subject) {
  const auto scopes = caches_.scopes.in_namespace(inventory->meta().ns);
  const api::ScopeSpec* scope = scope_of(scopes);
  Pass pass{.inventory = inventory,
            .subject = subject,
            .refs = resolve(context, inventory),
            .readiness = readiness(inventory->meta().ns),
            .plan = {},
            .denied = std::nullopt,
            .status = {},
            .draft = StatusDraft(inventory->manifest, clock_.now())};
  base::Duration floor{};
  if (scope != nullptr) {
    floor = duration_or(scope->min_export_interval, base::Duration::zero());
    for (const Ref& ref : pass.refs) {
      const auto& list = ref.name.family == "snapshot"   ? scope->snapshot_sink_refs
                         : ref.name.family == "database" ? scope->database_sink_refs
                                                         : scope->event_sink_refs;
      if (allowed(list, ref.name.name)) continue;
      pass.denied =
          base::configuration(fmt::format("scope {} does not allow the sink {}",
                                          scopes.front()->meta().name, ref.name.binding()),
                              "ScopeSinkDenied");
      break;
    }
  }
  pass.plan = plan_of(inventory, pass.refs, pass.readiness, floor);
  if (pass.denied) pass.plan.suspended = true;
  exporter_.set(pass.plan);
  pass.status = exporter_.status(pass.plan.id).value_or(exporter::InventoryStatus());
  if (!pass.plan.suspended) KL_TRY(clean_dropped(context, pass));
  describe(context, pass);
  KL_TRY(write_status(context, writer_, caches_.inventories, subject, pass.draft));
  {
    // Only now: what a refused write would have told is told by the next one.
    const std::scoped_lock lock(mutex_);
    seen_exports_[subject.key] = std::move(pass.seen);
  }
  std::optional<base::Duration> next;
  const auto sooner = [&](base::Duration wait) { next = next ? std::min(*next, wait) : wait; };
  if (std::ranges::any_of(pass.refs, [](const Ref& ref) { return !ref.sink.has_value(); })) {
    sooner(kLookAgain);
  }
  if (!pass.plan.suspended && !pass.refs.empty()) {
    // Secrets are looked at again, and what was exported becomes "debounced".
    base::Duration shortest = kLookAgain;
    for (const auto& binding : pass.plan.bindings) {
      if (binding.interval >= std::chrono::seconds(1))
        shortest = std::min(shortest, binding.interval);
    }
    sooner(std::max<base::Duration>(shortest, std::chrono::seconds(5)));
  }
  return next;
}

void InventoryController::describe(const base::Context& context, Pass& pass) {
  pass.draft.set_field("itemCount", static_cast<std::int64_t>(pass.status.rows));
  describe_sinks(pass);
  InventoryFacts facts;
  facts.suspended = pass.inventory->object.spec.suspend.value_or(false);
  facts.denied = pass.denied;
  facts.rows = pass.status.rows;
  facts.complete = pass.readiness.complete;
  facts.waiting = pass.readiness.waiting;
  facts.unreadable = pass.readiness.keep;
  facts.wrote_partially = pass.wrote_partially;
  for (const Ref& ref : pass.refs) {
    SinkFact fact{.name = ref.name.binding()};
    if (!ref.sink) {
      fact.unusable = ref.sink.error();
    } else {
      const auto it =
          std::ranges::find(pass.status.bindings, fact.name, &exporter::BindingStatus::name);
      if (it != pass.status.bindings.end()) {
        fact.exported = it->last_export.has_value();
        fact.error = it->error;
        fact.warnings = it->warnings;
      }
    }
    facts.sinks.push_back(std::move(fact));
  }
  tell(context, writer_, pass.subject, set_conditions(pass.draft, facts));
}

void InventoryController::describe_sinks(Pass& pass) {
  const Value* before = pass.draft.field("sinkExports");
  const auto entry_before = [&](const std::string& name) -> const Value* {
    if (before == nullptr || !before->is_array()) return nullptr;
    for (const Value& one : before->as_array()) {
      if (one.text("name") == name) return &one;
    }
    return nullptr;
  };
  std::map<std::string, std::uint64_t> seen;
  {
    const std::scoped_lock lock(mutex_);
    seen = seen_exports_[pass.subject.key];
  }
  Array entries;
  std::string newest;
  if (const Value* time = pass.draft.field("lastExportTime");
      time != nullptr && time->is_string()) {
    newest = time->as_string();
  }
  std::size_t wrote = 0;
  std::size_t fine = 0;
  for (const Ref& ref : pass.refs) {
    const std::string name = ref.name.binding();
    const Value* old = entry_before(name);
    Object entry;
    const auto it = std::ranges::find(pass.status.bindings, name, &exporter::BindingStatus::name);
    const exporter::BindingStatus* binding =
        ref.sink && it != pass.status.bindings.end() ? &*it : nullptr;
    const bool fresh = binding != nullptr && binding->last_export && binding->writes > seen[name];
    if (binding != nullptr) seen[name] = binding->writes;
    const bool untold = old == nullptr || old->find("lastChecksum") == nullptr;
    if (binding != nullptr && binding->last_write && (fresh || untold)) {
      entry.set("lastChecksum", binding->last_checksum);
      const std::string time = base::format_rfc3339_seconds(*binding->last_write);
      entry.set("lastExportTime", time);
      newest = std::max(newest, time);
    } else if (old != nullptr) {
      for (const char* field : {"lastChecksum", "lastExportTime"}) {
        if (const Value* value = old->find(field)) entry.set(field, *value);
      }
    }
    const auto condition = sink_condition(ref.sink ? nullptr : &ref.sink.error(), binding, fresh);
    if (condition) {
      entry.set("conditions", pass.draft.conditions_like(
                                  old != nullptr ? old->find("conditions") : nullptr, *condition));
      if (condition->reason == "Exported") ++wrote;
      if (condition->reason == "Exported" || condition->reason == "Debounced") ++fine;
    } else if (old != nullptr && old->find("conditions") != nullptr) {
      entry.set("conditions", *old->find("conditions"));
    }
    entry.set("name", name);
    entries.emplace_back(std::move(entry));
  }
  pass.wrote_partially = wrote > 0 && wrote < fine;
  pass.draft.set_field("sinkExports", entries.empty() ? Value() : Value(std::move(entries)));
  if (!newest.empty()) pass.draft.set_field("lastExportTime", newest);
  pass.seen = std::move(seen);
}

base::Result<> InventoryController::clean_dropped(const base::Context& context, const Pass& pass) {
  const Value* before = pass.inventory->manifest.at_path({"status", "sinkExports"});
  if (before == nullptr || !before->is_array() || retains(*pass.inventory)) return {};
  for (const Value& one : before->as_array()) {
    const auto name = parse_binding(pass.subject.key.ns, one.text("name"));
    if (!name || std::ranges::any_of(pass.refs, [&](const Ref& ref) {
          return ref.name.binding() == name->binding();
        })) {
      continue;
    }
    KL_TRY(clean_binding(context, pass.inventory, pass.subject, *name));
  }
  return {};
}

base::Result<> InventoryController::clean_binding(const base::Context& context,
                                                  const Ptr& inventory, const Subject& subject,
                                                  const SinkName& name) {
  const auto sink = sinks_.resolve(context, name);
  if (!sink) {
    if (sink.error().kind == base::ErrorKind::kRetryable &&
        sink.error().reason != "SinkUnreachable") {
      return sink.error();
    }
    // There is nothing to clean through any more.
    writer_.event(
        context, subject, "clean " + name.binding(), true, sink.error().reason,
        fmt::format("what was exported to {} stays: {}", name.binding(), sink.error().message));
    return {};
  }
  exporter::InventoryPlan plan;
  plan.id = {.ns = subject.key.ns, .name = subject.key.name};
  plan.generation = inventory->meta().generation;
  exporter::Binding binding;
  binding.name = name.binding();
  binding.sink_key = name.text();
  binding.cluster = std::string(base::trim(sink->cluster));
  binding.open = sink->open;
  binding.max_bytes = options_.max_export_bytes;
  return exporter_.clean(context.with_timeout(std::chrono::minutes(2)), plan, binding);
}

base::Result<std::optional<base::Duration>> InventoryController::clean_up(
    const base::Context& context, const Ptr& inventory, const Subject& subject) {
  exporter_.remove({.ns = subject.key.ns, .name = subject.key.name});
  if (!has_finalizer(inventory->manifest, kFinalizer)) return std::optional<base::Duration>();
  std::set<std::string> names;
  std::vector<SinkName> sinks;
  if (!retains(*inventory)) {
    for (const Ref& ref : resolve(context, inventory)) {
      if (names.insert(ref.name.binding()).second) sinks.push_back(ref.name);
    }
    if (const Value* before = inventory->manifest.at_path({"status", "sinkExports"});
        before != nullptr && before->is_array()) {
      for (const Value& one : before->as_array()) {
        const auto name = parse_binding(subject.key.ns, one.text("name"));
        if (name && names.insert(name->binding()).second) sinks.push_back(*name);
      }
    }
  }
  std::vector<std::string> failures;
  bool transient = false;
  for (const SinkName& name : sinks) {
    if (const auto cleaned = clean_binding(context, inventory, subject, name); !cleaned) {
      const base::Error& error = cleaned.error();
      failures.push_back(name.binding() + ": " + error.message);
      transient = transient || error.kind == base::ErrorKind::kRetryable ||
                  error.kind == base::ErrorKind::kCancelled ||
                  error.kind == base::ErrorKind::kConflict;
    }
  }
  if (failures.empty()) {
    KL_TRY(let_go(context, writer_, inventory->manifest, subject, kFinalizer));
    return std::optional<base::Duration>();
  }
  const std::string message = base::join(failures, "; ");
  if (transient) return base::retryable("clean-up: " + message);
  StatusDraft draft(inventory->manifest, clock_.now());
  draft.drop("Ready");
  draft.set({.type = "Degraded",
             .status = "True",
             .reason = "CleanupTerminal",
             .message = fmt::format("what was exported cannot be removed ({}); to give up on it, "
                                    "remove the finalizer {} by hand",
                                    message, kFinalizer)});
  writer_.event(context, subject, "Degraded", true, "CleanupTerminal", message);
  KL_TRY(write_status(context, writer_, caches_.inventories, subject, draft));
  return std::optional<base::Duration>();
}

}  // namespace kollect::manager
