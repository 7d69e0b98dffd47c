#include "manager/read_api/board.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"
#include "http/client.h"
#include "manager/cluster_inventory_controller.h"
#include "manager/rollup.h"

namespace kollect::manager {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

constexpr std::array<std::string_view, 7> kSecretWords = {
    "password", "passwd", "token", "secret", "accesskey", "apikey", "credential"};

bool names_secret(std::string_view key) {
  std::string folded;
  for (const char c : base::to_lower(key)) {
    if (c != '-' && c != '_' && c != '.') folded += c;
  }
  // A reference to a Secret is a name, not its content.
  if (folded.ends_with("ref")) return false;
  return std::ranges::any_of(
      kSecretWords, [&](std::string_view word) { return folded.find(word) != std::string::npos; });
}

void copy(Object& to, const char* name, const Value* value) {
  if (value != nullptr && !value->is_null()) to.set(name, *value);
}

/// What every kind has.
Value status_of(std::string_view kind, const Value& manifest) {
  Object out;
  out.set("name", manifest.at_path({"metadata", "name"})->as_string());
  const Value* ns = manifest.at_path({"metadata", "namespace"});
  out.set("namespace", ns != nullptr && ns->is_string() ? ns->as_string() : std::string());
  out.set("kind", kind);
  copy(out, "generation", manifest.at_path({"metadata", "generation"}));
  copy(out, "observedGeneration", manifest.at_path({"status", "observedGeneration"}));
  const Value* count = manifest.at_path({"status", "itemCount"});
  copy(out, "itemCount", count != nullptr ? count : manifest.at_path({"status", "collectedCount"}));
  copy(out, "conditions", manifest.at_path({"status", "conditions"}));
  copy(out, "lastExportTime", manifest.at_path({"status", "lastExportTime"}));
  if (const Value* spec = manifest.find("spec")) out.set("spec", without_secrets(*spec));
  return out;
}

/// The binding's own word.
const Value* synced_of(const Value& entry) {
  const Value* conditions = entry.find("conditions");
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  for (const Value& one : conditions->as_array()) {
    if (one.text("type") == "Synced") return &one;
  }
  return nullptr;
}

const char* word_of(const Value* synced) {
  if (synced == nullptr || synced->text("status") == "Unknown") return "unknown";
  if (synced->text("status") == "True") return "ok";
  return synced->text("reason") == "Debounced" ? "debounced" : "degraded";
}

const Array* exports_of(const Value& manifest) {
  const Value* list = manifest.at_path({"status", "sinkExports"});
  return list != nullptr && list->is_array() ? &list->as_array() : nullptr;
}

template <class T, class F>
void each(const ObjectCache<T>& cache, const std::string& ns, F f) {
  for (const auto& object : ns.empty() ? cache.all() : cache.in_namespace(ns)) f(*object);
}

/// Of status and spec: ExportStatus, in the order of the references.
std::vector<Value> export_statuses(const Value& manifest) {
  std::vector<Value> found;
  const auto add = [&](std::string_view family, const Value& reference) {
    Object out;
    const std::string sink(reference.is_string() ? reference.as_string() : reference.text("name"));
    const std::string name = std::string(family) + "/" + sink;
    const std::string_view ns =
        reference.is_object() ? reference.text("namespace") : std::string_view();
    const Value* entry = nullptr;
    if (const Array* list = exports_of(manifest)) {
      const auto it = std::ranges::find_if(*list, [&](const Value& one) {
        return one.text("name") == name &&
               (ns.empty() || one.text("namespace").empty() || one.text("namespace") == ns);
      });
      if (it != list->end()) entry = &*it;
    }
    const Value* synced = entry != nullptr ? synced_of(*entry) : nullptr;
    out.set("sinkName", sink);
    const std::string_view place =
        entry != nullptr && !entry->text("namespace").empty() ? entry->text("namespace") : ns;
    if (!place.empty()) out.set("sinkNamespace", place);
    out.set("status", word_of(synced));
    if (entry != nullptr) copy(out, "lastExportTime", entry->find("lastExportTime"));
    if (synced != nullptr) copy(out, "message", synced->find("message"));
    found.emplace_back(std::move(out));
  };
  for (const auto& [list, family] : {std::pair{"snapshotSinkRefs", "snapshot"},
                                     {"databaseSinkRefs", "database"},
                                     {"eventSinkRefs", "event"}}) {
    const Value* references = manifest.at_path({"spec", list});
    if (references == nullptr || !references->is_array()) continue;
    for (const Value& one : references->as_array()) add(family, one);
  }
  return found;
}

}  // namespace

Value without_secrets(const Value& spec) {
  if (spec.is_object()) {
    Object out;
    for (const auto& [key, value] : spec.as_object()) {
      const bool hidden = value.is_string() && names_secret(key);
      out.set(key, hidden ? Value("***") : without_secrets(value));
    }
    return out;
  }
  if (spec.is_array()) {
    Array out;
    for (const Value& one : spec.as_array()) out.push_back(without_secrets(one));
    return out;
  }
  if (spec.is_string() && spec.as_string().find("://") != std::string::npos &&
      spec.as_string().find('@') != std::string::npos) {
    return http::redact_url(spec.as_string());
  }
  return spec;
}

// ---- Inventories

bool ReadBoard::open(const Cached<api::Inventory>& inventory) const {
  if (!opt_in_) return true;
  const auto& endpoint = inventory.object.spec.http_endpoint;
  return endpoint && endpoint->enabled.value_or(false);
}

namespace {

/// What status says of the last export.
void fill(readapi::LiveInventory& out, const Value& manifest, const api::Metadata& meta) {
  out.name = meta.name;
  out.generation = meta.generation;
  const Value* time = manifest.at_path({"status", "lastExportTime"});
  if (time != nullptr && time->is_string()) out.exported_at = time->as_string();
  const Array* exports = exports_of(manifest);
  if (exports == nullptr) return;
  for (const Value& one : *exports) {
    if (out.checksum.empty()) out.checksum = one.text("lastChecksum");
  }
}

}  // namespace

readapi::LiveInventory ReadBoard::of(const Cached<api::Inventory>& inventory) const {
  readapi::LiveInventory out;
  fill(out, inventory.manifest, inventory.meta());
  out.ns = inventory.meta().ns;
  const auto status = parts_.exporter.status({.ns = out.ns, .name = out.name});
  out.rows = status ? status->rows : 0;
  out.wanted = [ns = out.ns](const inventory::Owner& owner) {
    return owner.owner_class == inventory::OwnerClass::kTarget && owner.ns == ns;
  };
  out.wanted_key = "targets of " + out.ns;
  return out;
}

readapi::LiveInventory ReadBoard::of(const Cached<api::ClusterInventory>& inventory) const {
  readapi::LiveInventory out;
  fill(out, inventory.manifest, inventory.meta());
  out.cluster = true;
  const auto status =
      parts_.exporter.status({.ns = ClusterInventoryController::kPlace, .name = out.name});
  out.rows = status ? status->rows : 0;
  const collector::KnownNamespaces known = parts_.namespaces();
  const auto rollup = roll_up(
      inventory.object.spec,
      {.targets = parts_.cluster_targets.all(),
       .standing = [this](const std::string& name) { return parts_.cluster_board.of(name); },
       .namespaces = known.known ? known.all.get() : nullptr,
       .why_unknown = known.error ? known.error->message : ""});
  if (rollup) {
    out.wanted = rows_of(*rollup);
    out.wanted_key = key_of(*rollup);
  } else {  // nobody knows which: none
    out.wanted = [](const inventory::Owner&) { return false; };
    out.wanted_key = "nothing";
  }
  if (inventory.object.spec.dedupe == "byResourceUID") {
    out.choice = inventory::RowChoice::kLastOfUid;
  }
  return out;
}

std::vector<readapi::LiveInventory> ReadBoard::all() const {
  std::vector<readapi::LiveInventory> found;
  if (!opt_in_) {
    for (const auto& one : parts_.cluster_inventories.all()) found.push_back(of(*one));
  }
  for (const auto& one : parts_.inventories.all()) {
    if (open(*one)) found.push_back(of(*one));
  }
  return found;
}

std::optional<readapi::LiveInventory> ReadBoard::find(bool cluster, const std::string& ns,
                                                      const std::string& name) const {
  if (cluster) {
    const auto found = parts_.cluster_inventories.get({.ns = "", .name = name});
    return found && !opt_in_ ? std::optional(of(*found)) : std::nullopt;
  }
  const auto found = parts_.inventories.get({.ns = ns, .name = name});
  return found && open(*found) ? std::optional(of(*found)) : std::nullopt;
}

std::optional<readapi::LiveOwners> ReadBoard::limit() const {
  if (!opt_in_) return std::nullopt;
  std::vector<std::string> namespaces;
  for (const auto& one : parts_.inventories.all()) {
    if (open(*one)) namespaces.push_back(one->meta().ns);
  }
  readapi::LiveOwners out;
  out.key = "open " + base::join(namespaces, ",");
  out.wanted = [namespaces = std::move(namespaces)](const inventory::Owner& owner) {
    return owner.owner_class == inventory::OwnerClass::kTarget &&
           std::ranges::find(namespaces, owner.ns) != namespaces.end();
  };
  return out;
}

// ---- Objects

std::vector<Value> ReadBoard::exports(bool cluster, const std::string& ns,
                                      const std::string& name) const {
  if (cluster) {
    const auto found = parts_.cluster_inventories.get({.ns = "", .name = name});
    return found ? export_statuses(found->manifest) : std::vector<Value>();
  }
  const auto found = parts_.inventories.get({.ns = ns, .name = name});
  return found ? export_statuses(found->manifest) : std::vector<Value>();
}

std::string ReadBoard::sink_type(std::string_view family, const Key& sink) const {
  if (family == "snapshot") {
    const auto found = parts_.sinks.snapshot.get(sink);
    return found ? found->object.spec.type : "";
  }
  if (family == "database") {
    const auto found = parts_.sinks.database.get(sink);
    return found ? found->object.spec.type : "";
  }
  const auto found = parts_.sinks.event.get(sink);
  return found ? found->object.spec.type : "";
}

Value ReadBoard::with_exports(Value status, const Value& manifest,
                              const std::string& sink_namespace) const {
  Array exports;
  if (const Array* list = exports_of(manifest)) {
    for (const Value& entry : *list) {
      Object out;
      const std::string name(entry.text("name"));
      const std::size_t slash = name.find('/');
      const std::string_view place = entry.text("namespace");
      out.set("sink", name);
      if (!place.empty()) out.set("namespace", place);
      if (slash != std::string::npos) {
        const std::string type = sink_type(
            name.substr(0, slash), {.ns = place.empty() ? sink_namespace : std::string(place),
                                    .name = name.substr(slash + 1)});
        if (!type.empty()) out.set("type", type);
      }
      const Value* synced = synced_of(entry);
      out.set("status", word_of(synced));
      if (synced != nullptr) {
        copy(out, "reason", synced->find("reason"));
        copy(out, "message", synced->find("message"));
      }
      for (const char* member : {"lastExportTime", "itemCount", "consecutiveFailures"}) {
        copy(out, member, entry.find(member));
      }
      exports.emplace_back(std::move(out));
    }
  }
  status.as_object().set("sinkExports", std::move(exports));
  return status;
}

Value ReadBoard::with_users(Value status, std::string_view family, const Key& sink) const {
  Array users;
  const auto uses = [&](const auto& spec, const std::string& own) {
    const auto& references = family == "snapshot"   ? spec.snapshot_sink_refs
                             : family == "database" ? spec.database_sink_refs
                                                    : spec.event_sink_refs;
    return std::ranges::any_of(references, [&](const auto& one) {
      return one.name == sink.name && (one.ns.empty() ? own : one.ns) == sink.ns;
    });
  };
  for (const auto& one : parts_.inventories.in_namespace(sink.ns)) {
    if (uses(one->object.spec, sink.ns)) users.emplace_back(sink.ns + "/" + one->meta().name);
  }
  for (const auto& one : parts_.cluster_inventories.all()) {
    const auto& spec = one->object.spec;
    if (uses(spec, ClusterInventoryController::sink_namespace(spec))) {
      users.emplace_back(one->meta().name);
    }
  }
  status.as_object().set("usedBy", std::move(users));
  return status;
}

std::vector<Value> ReadBoard::statuses(std::string_view kind, const std::string& ns) const {
  std::vector<Value> found;
  const auto add = [&](const auto& cache) {
    each(cache, ns, [&](const auto& one) { found.push_back(status_of(kind, one.manifest)); });
  };
  const auto add_sinks = [&](const auto& cache, std::string_view family) {
    each(cache, ns, [&](const auto& one) {
      found.push_back(with_users(status_of(kind, one.manifest), family, one.key()));
    });
  };
  if (kind == "KollectInventory") {
    each(parts_.inventories, ns, [&](const auto& one) {
      found.push_back(with_exports(status_of(kind, one.manifest), one.manifest, one.key().ns));
    });
  } else if (kind == "KollectClusterInventory") {
    each(parts_.cluster_inventories, ns, [&](const auto& one) {
      found.push_back(with_exports(status_of(kind, one.manifest), one.manifest,
                                   ClusterInventoryController::sink_namespace(one.object.spec)));
    });
  } else if (kind == "KollectTarget") {
    add(parts_.targets);
  } else if (kind == "KollectClusterTarget") {
    add(parts_.cluster_targets);
  } else if (kind == "KollectProfile") {
    add(parts_.profiles);
  } else if (kind == "KollectScope") {
    add(parts_.scopes);
  } else if (kind == "KollectClusterScope") {
    add(parts_.cluster_scopes);
  } else if (kind == "KollectSnapshotSink") {
    add_sinks(parts_.sinks.snapshot, "snapshot");
  } else if (kind == "KollectDatabaseSink") {
    add_sinks(parts_.sinks.database, "database");
  } else if (kind == "KollectEventSink") {
    add_sinks(parts_.sinks.event, "event");
  }
  return found;
}

}  // namespace kollect::manager
