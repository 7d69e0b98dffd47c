#include "collector/applier.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace kollect::collector {
namespace {

constexpr std::size_t kMostText = 384;

std::string failure_text(const Identity& id, const extract::ExtractError& error) {
  const std::string text =
      fmt::format("{}{}{}: {}: {}: {}", id.ns, id.ns.empty() ? "" : "/", id.name, error.attribute,
                  extract::to_string(error.error_class), error.message);
  return std::string(base::cut_utf8(text, kMostText));
}

}  // namespace

Applier::Applier(inventory::RowStore& store, const NamespaceBook& namespaces, Bell& bell,
                 kube::Resource resource, inventory::SourceId source)
    : store_(store),
      namespaces_(namespaces),
      bell_(bell),
      resource_(std::move(resource)),
      source_(source) {}

std::optional<Identity> Applier::identify(base::json::View object) const {
  const auto metadata = object.find("metadata");
  if (!metadata) return std::nullopt;
  Identity id{.uid = metadata->text("uid"),
              .name = metadata->text("name"),
              .ns = resource_.namespaced ? metadata->text("namespace") : std::string_view()};
  if (id.uid.empty()) return std::nullopt;
  id.uid_hash = Tally::hash(id.uid);
  return id;
}

const select::Namespace* Applier::home_of(std::string_view ns) {
  if (!resource_.namespaced) return nullptr;
  if (const std::uint64_t version = namespaces_.version(); version != version_) {
    all_ = namespaces_.known().all;
    version_ = version;
    home_ = nullptr;
  }
  if (home_ != nullptr && home_->name == ns) return home_;
  const auto found = all_->find(std::string(ns));
  if (found != all_->end()) return home_ = &found->second;
  home_ = nullptr;
  stranger_.name = ns;
  return &stranger_;
}

bool Applier::exists(const LaneIndex& index, base::json::View object, const Identity& id,
                     const std::vector<const Core*>& only) {
  const auto& entries = index.in(id.ns);
  if (entries.empty()) return false;
  const select::Namespace* home = home_of(id.ns);
  for (const LaneIndex::Entry& entry : entries) {
    const Core& core = *entry.lane->core;
    if (core.closed) continue;
    if (!only.empty() && std::ranges::find(only, &core) == only.end()) continue;
    select::PolicyErrors errors;
    const select::Verdict verdict =
        core.selection.judge(object, resource_.group, resource_.kind, home, resource_.namespaced,
                             entry.lane->effective, errors);
    if (errors.count > 0) {
      core.tally->add(errors);
      bell_.signal(core.target);
    }
    if (verdict == select::Verdict::kTaken) {
      take(entry, object, id);
    } else {
      leave(entry, id);
    }
  }
  return true;
}

bool Applier::gone(const LaneIndex& index, const Identity& id) {
  const auto& entries = index.in(id.ns);
  for (const LaneIndex::Entry& entry : entries) {
    if (!entry.lane->core->closed) leave(entry, id);
  }
  return !entries.empty();
}

void Applier::take(const LaneIndex::Entry& entry, base::json::View object, const Identity& id) {
  const Core& core = *entry.lane->core;
  const bool stranger = home_ == nullptr;
  const auto extracted = core.program.extract(
      object, {.cluster = core.cluster,
               .namespace_labels =
                   !resource_.namespaced ? nullptr : &(stranger ? stranger_ : *home_).labels});
  if (!extracted) {
    store_.remove(*entry.owner, id.uid);
    if (core.tally->failed(id.uid_hash, Tally::hash(id.ns), source_,
                           failure_text(id, extracted.error()))) {
      bell_.signal(core.target);
    }
    return;
  }
  core.tally->add(extracted->mistyped, extracted->prune_errors);
  if (core.tally->succeeded(id.uid_hash)) bell_.signal(core.target);
  store_.upsert(*entry.owner, source_,
                {.target_namespace = entry.owner->ns,
                 .target_name = entry.owner->name,
                 .ns = id.ns,
                 .name = id.name,
                 .group = resource_.group,
                 .version = resource_.version,
                 .kind = resource_.kind,
                 .uid = id.uid,
                 .attributes = extracted->attributes_json});
}

void Applier::leave(const LaneIndex::Entry& entry, const Identity& id) {
  store_.remove(*entry.owner, id.uid);
  if (entry.lane->core->tally->succeeded(id.uid_hash)) bell_.signal(entry.lane->core->target);
}

}  // namespace kollect::collector
