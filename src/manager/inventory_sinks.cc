#include "manager/inventory_sinks.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"

namespace kollect::manager {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

constexpr const char* kDeletionPolicy = "kollect.dev/deletion-policy";
constexpr base::Duration kDefaultInterval = std::chrono::seconds(30);
/// Sinks that cannot be resolved are looked for again after this, besides their events.
constexpr base::Duration kLookAgain = std::chrono::seconds(30);
constexpr base::Duration kCleanTime = std::chrono::minutes(2);

/// The sink of an entry of sinkExports[]: "database/pg" and, where it is told, a namespace.
std::optional<SinkName> sink_of(const Value& entry, const std::string& ns) {
  const std::string_view text = entry.text("name");
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view told = entry.text("namespace");
  return SinkName{.family = std::string(text.substr(0, slash)),
                  .ns = told.empty() ? ns : std::string(told),
                  .name = std::string(text.substr(slash + 1))};
}

std::vector<SinkName> sinks_in_status(const Exporting& inventory) {
  std::vector<SinkName> names;
  const Value* list = inventory.manifest.at_path({"status", "sinkExports"});
  if (list == nullptr || !list->is_array()) return names;
  for (const Value& one : list->as_array()) {
    if (auto name = sink_of(one, inventory.sink_namespace)) names.push_back(std::move(*name));
  }
  return names;
}

/// The entry of sinkExports[] that tells of this sink; null: none.
const Value* entry_of(const Value* list, const SinkName& name) {
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const Value& one : list->as_array()) {
    if (sink_of(one, name.ns) == name) return &one;
  }
  return nullptr;
}

/// The references, not resolved yet. Of those with equal keys in the status the first counts.
std::vector<SinkRef> references_of(const Exporting& inventory) {
  std::vector<SinkRef> refs;
  std::set<std::string> seen;
  const auto add = [&](const char* family, const std::vector<api::SinkReference>& list) {
    for (const api::SinkReference& reference : list) {
      SinkName name{.family = family,
                    .ns = inventory.several_namespaces && !reference.ns.empty()
                              ? reference.ns
                              : inventory.sink_namespace,
                    .name = reference.name};
      if (!seen.insert(name.binding()).second) continue;
      refs.push_back({.name = std::move(name), .reference = &reference});
    }
  };
  add("snapshot", inventory.snapshot);
  add("database", inventory.database);
  add("event", inventory.event);
  return refs;
}

}  // namespace

base::Duration duration_or(const std::string& text, base::Duration other) {
  if (text.empty()) return other;
  const auto parsed = base::parse_duration(text);
  return parsed ? *parsed : other;
}

std::optional<base::Error> first_denied(const ScopeRules& rules, const std::vector<SinkRef>& refs) {
  for (const SinkRef& ref : refs) {
    if (auto denied = rules.sink_denied(ref.name.family, ref.name.name)) return denied;
  }
  return std::nullopt;
}

bool retains(const api::Metadata& meta) {
  const auto it = meta.annotations.find(kDeletionPolicy);
  return it != meta.annotations.end() && it->second == "retain";
}

std::vector<SinkFact> facts_of(const std::vector<SinkRef>& refs,
                               const exporter::InventoryStatus& status) {
  std::vector<SinkFact> facts;
  for (const SinkRef& ref : refs) {
    SinkFact fact{.name = ref.name.binding()};
    const auto it = std::ranges::find(status.bindings, fact.name, &exporter::BindingStatus::name);
    if (!ref.sink) {
      fact.unusable = ref.sink.error();
    } else if (it != status.bindings.end()) {
      fact.exported = it->last_export.has_value();
      fact.error = it->error;
      fact.warnings = it->warnings;
    }
    facts.push_back(std::move(fact));
  }
  return facts;
}

std::optional<base::Duration> next_look(const std::vector<SinkRef>& refs,
                                        const exporter::InventoryPlan& plan) {
  std::optional<base::Duration> next;
  const auto sooner = [&](base::Duration wait) { next = next ? std::min(*next, wait) : wait; };
  if (std::ranges::any_of(refs, [](const SinkRef& ref) { return !ref.sink.has_value(); })) {
    sooner(kLookAgain);
  }
  if (!plan.suspended && !refs.empty()) {
    // Secrets are looked at again, and what was exported becomes "debounced".
    base::Duration shortest = kLookAgain;
    for (const auto& binding : plan.bindings) {
      if (binding.interval >= std::chrono::seconds(1)) {
        shortest = std::min(shortest, binding.interval);
      }
    }
    sooner(std::max<base::Duration>(shortest, std::chrono::seconds(5)));
  }
  return next;
}

std::string unread_text(const std::vector<sinks::KeptPart>& parts) {
  std::map<std::string, std::vector<std::string>> by_target;
  for (const sinks::KeptPart& part : parts) by_target[part.target].push_back(part.ns);
  std::vector<std::string> texts;
  for (const auto& [target, namespaces] : by_target) {
    texts.push_back(fmt::format("{} in {}", target, base::join(namespaces, ", ")));
  }
  return base::join(texts, "; ");
}

void note_resource_key(const api::ProfileSpec& profile, std::optional<std::string>& resource_key) {
  if (!profile.export_spec || profile.export_spec->mode != "Resource") return;
  const std::string& as = profile.export_spec->as;
  resource_key = as.empty() ? "resource" : as;
}

bool InventorySinks::waiting(const Exporting& inventory) const {
  return std::ranges::any_of(references_of(inventory), [&](const SinkRef& ref) {
    return registry_.waiting(ref.name.family, ref.name.ns);
  });
}

std::vector<SinkRef> InventorySinks::resolve(const base::Context& context,
                                             const Exporting& inventory) {
  std::vector<SinkRef> refs = references_of(inventory);
  for (SinkRef& ref : refs) ref.sink = registry_.resolve(context, ref.name);
  return refs;
}

std::vector<exporter::Binding> InventorySinks::bindings(const Exporting& inventory,
                                                        const std::vector<SinkRef>& refs,
                                                        base::Duration floor) const {
  std::vector<exporter::Binding> bindings;
  for (const SinkRef& ref : refs) {
    if (!ref.sink) continue;
    const std::string& chosen = !ref.reference->export_min_interval.empty()
                                    ? ref.reference->export_min_interval
                                : !ref.sink->interval.empty() ? ref.sink->interval
                                                              : inventory.interval;
    exporter::Binding binding;
    binding.name = ref.name.binding();
    binding.sink_key = ref.name.text();
    binding.sink_identity = ref.sink->identity;
    binding.cluster = std::string(base::trim(ref.sink->cluster));
    binding.interval = std::max(duration_or(chosen, kDefaultInterval), floor);
    const auto bytes = ref.reference->max_export_bytes ? ref.reference->max_export_bytes
                                                       : inventory.max_export_bytes;
    binding.max_bytes = bytes && *bytes > 0 ? static_cast<std::size_t>(*bytes) : max_export_bytes_;
    binding.open = ref.sink->open;
    bindings.push_back(std::move(binding));
  }
  return bindings;
}

InventorySinks::Described InventorySinks::describe(const Exporting& inventory,
                                                   const std::vector<SinkRef>& refs,
                                                   const exporter::InventoryStatus& status,
                                                   StatusDraft& draft) {
  const Value* before = draft.field("sinkExports");
  Described result;
  {
    const std::scoped_lock lock(mutex_);
    result.seen = seen_[inventory.id];
  }
  Array entries;
  std::string newest;
  if (const Value* time = draft.field("lastExportTime"); time != nullptr && time->is_string()) {
    newest = time->as_string();
  }
  std::size_t wrote = 0;
  std::size_t fine = 0;
  for (const SinkRef& ref : refs) {
    const std::string name = ref.name.binding();
    const Value* old = entry_of(before, ref.name);
    Object entry;
    const auto it = std::ranges::find(status.bindings, name, &exporter::BindingStatus::name);
    const exporter::BindingStatus* binding =
        ref.sink && it != status.bindings.end() ? &*it : nullptr;
    std::uint64_t& seen = result.seen[name];
    const bool fresh = binding != nullptr && binding->last_export && binding->writes > seen;
    if (binding != nullptr) seen = binding->writes;
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
      entry.set("conditions", draft.conditions_like(
                                  old != nullptr ? old->find("conditions") : nullptr, *condition));
      if (condition->reason == "Exported") ++wrote;
      if (condition->reason == "Exported" || condition->reason == "Debounced") ++fine;
    } else if (old != nullptr && old->find("conditions") != nullptr) {
      entry.set("conditions", *old->find("conditions"));
    }
    entry.set("name", name);
    if (inventory.several_namespaces) entry.set("namespace", ref.name.ns);
    entries.emplace_back(std::move(entry));
  }
  result.wrote_partially = wrote > 0 && wrote < fine;
  draft.set_field("sinkExports", entries.empty() ? Value() : Value(std::move(entries)));
  if (!newest.empty()) draft.set_field("lastExportTime", newest);
  return result;
}

void InventorySinks::told(const Exporting& inventory, Described described) {
  const std::scoped_lock lock(mutex_);
  seen_[inventory.id] = std::move(described.seen);
}

void InventorySinks::forget(const sinks::InventoryId& id) {
  const std::scoped_lock lock(mutex_);
  seen_.erase(id);
}

base::Result<> InventorySinks::clean_dropped(const base::Context& context,
                                             const Exporting& inventory,
                                             const std::vector<SinkRef>& refs) {
  if (retains(inventory.meta)) return {};
  for (const SinkName& name : sinks_in_status(inventory)) {
    if (std::ranges::none_of(refs, [&](const SinkRef& ref) { return ref.name == name; })) {
      KL_TRY(clean(context, inventory, name));
    }
  }
  return {};
}

std::optional<CleanupFailure> InventorySinks::clean_all(const base::Context& context,
                                                        const Exporting& inventory) {
  if (retains(inventory.meta)) return std::nullopt;
  std::vector<SinkName> names;
  for (SinkRef& ref : references_of(inventory)) names.push_back(std::move(ref.name));
  for (SinkName& name : sinks_in_status(inventory)) names.push_back(std::move(name));
  std::set<std::string> seen;
  std::vector<std::string> failures;
  bool transient = false;
  for (const SinkName& name : names) {
    if (!seen.insert(name.text()).second) continue;
    const auto cleaned = clean(context, inventory, name);
    if (cleaned) continue;
    failures.push_back(name.binding() + ": " + cleaned.error().message);
    transient = transient || !is_terminal(cleaned.error());
  }
  if (failures.empty()) return std::nullopt;
  return CleanupFailure{.message = base::join(failures, "; "), .transient = transient};
}

base::Result<> InventorySinks::clean(const base::Context& context, const Exporting& inventory,
                                     const SinkName& name) {
  // A probe that failed is no reason to leave rows behind: it is tried, and tried again.
  const auto sink = registry_.resolve_anyway(context, name);
  if (!sink) {
    if (sink.error().kind == base::ErrorKind::kRetryable) return sink.error();
    // There is nothing to clean through any more.
    writer_.event(
        context, inventory.subject, "clean " + name.binding(), true, sink.error().reason,
        fmt::format("what was exported to {} stays: {}", name.binding(), sink.error().message));
    return {};
  }
  exporter::InventoryPlan plan;
  plan.id = inventory.id;
  plan.generation = inventory.meta.generation;
  exporter::Binding binding;
  binding.name = name.binding();
  binding.sink_key = name.text();
  binding.cluster = std::string(base::trim(sink->cluster));
  binding.open = sink->open;
  binding.max_bytes = max_export_bytes_;
  return exporter_.clean(context.with_timeout(kCleanTime), plan, binding);
}

Told set_cleanup_failed(StatusDraft& draft, const CleanupFailure& failure, const char* finalizer) {
  const std::string reason = failure.transient ? "Progressing" : "CleanupTerminal";
  const std::string message =
      failure.transient
          ? fmt::format(
                "what was exported is not removed yet ({}), this is tried again; to leave "
                "it there, delete the sink or set the annotation {}: retain",
                failure.message, kDeletionPolicy)
          : fmt::format(
                "what was exported cannot be removed ({}); to give up on it, "
                "remove the finalizer {} by hand",
                failure.message, finalizer);
  draft.drop("Ready");
  draft.drop("ExportSucceeded");
  draft.set({.type = "Degraded", .status = "True", .reason = reason, .message = message});
  draft.set({.type = "Synced", .status = "False", .reason = reason, .message = message});
  return {.topic = "Degraded", .warning = true, .reason = reason, .message = message};
}

}  // namespace kollect::manager
