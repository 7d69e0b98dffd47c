#include "install/sink_uses.h"

#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "install/cluster.h"

namespace kollect::install {

using base::json::Value;

namespace {

struct Family {
  const char* kind;
  const char* name;
  const char* list;  ///< in the spec of inventories
};
constexpr std::array kFamilies = {Family{"KollectSnapshotSink", "snapshot", "snapshotSinkRefs"},
                                  Family{"KollectDatabaseSink", "database", "databaseSinkRefs"},
                                  Family{"KollectEventSink", "event", "eventSinkRefs"}};

/// What an inventory says of a sink.
struct Use {
  std::string inventory;
  State state;
  std::string last_export;
};

std::string ref_name(const Value& reference) {
  return reference.is_string() ? reference.as_string() : std::string(reference.text("name"));
}

/// Namespace of a sink that an inventory names.
std::string sink_namespace(const Value& inventory, const Value& reference) {
  const std::string own = namespace_in(inventory);
  if (!own.empty()) return own;
  if (!reference.text("namespace").empty()) return std::string(reference.text("namespace"));
  const std::string common = text_at(inventory, {"spec", "sinkNamespace"});
  return common.empty() ? "kollect-system" : common;
}

/// What the inventory says of a sink.
Use use_of(const Value& inventory, const std::string& sink, const std::string& ns) {
  Use use{.inventory = place_of(inventory), .state = {}, .last_export = {}};
  for (const Value& one : list_at(inventory, {"status", "sinkExports"})) {
    const std::string_view where = one.text("namespace");
    if (one.text("name") != sink || (!where.empty() && where != ns)) continue;
    use.last_export = one.text("lastExportTime");
    const Value* synced = find_condition(one, "Synced");
    if (synced == nullptr) continue;
    const bool bad = synced->text("reason") == "ExportFailed";
    use.state = {.word = bad ? "Failed" : "Ready",
                 .reason = std::string(synced->text("reason")),
                 .message = bad ? std::string(synced->text("message")) : std::string()};
  }
  return use;
}

/// Uses by "family/namespace/name" of the sink.
using Uses = std::multimap<std::string, Use>;

base::Result<Uses> read_uses(kube::Client& client, const base::Context& context,
                             const std::string& ns) {
  Uses uses;
  for (const char* kind : {"KollectInventory", "KollectClusterInventory"}) {
    const auto inventories = list_ours(client, context, kind, ns);
    if (!inventories) {
      if (inventories.error().kind == base::ErrorKind::kDenied) continue;
      return inventories.error().with_prefix(kind);
    }
    for (const Value& inventory : *inventories) {
      for (const Family& family : kFamilies) {
        for (const Value& reference : list_at(inventory, {"spec", family.list})) {
          const std::string sink = fmt::format("{}/{}", family.name, ref_name(reference));
          const std::string where = sink_namespace(inventory, reference);
          uses.emplace(fmt::format("{}/{}/{}", family.name, where, ref_name(reference)),
                       use_of(inventory, sink, where));
        }
      }
    }
  }
  return uses;
}

}  // namespace

base::Result<std::vector<SinkUse>> read_sink_uses(kube::Client& client,
                                                  const base::Context& context,
                                                  const std::string& ns) {
  KL_ASSIGN(const Uses uses, read_uses(client, context, ns));
  std::vector<SinkUse> out;
  const auto add = [&](const std::string& sink, const std::string& type, const Use& use) {
    out.push_back({.sink = sink,
                   .type = type,
                   .inventory = use.inventory,
                   .state = use.state,
                   .last_export = use.last_export});
  };
  std::set<std::string> there;
  for (const Family& family : kFamilies) {
    KL_ASSIGN(const auto sinks, list_ours(client, context, family.kind, ns));
    for (const Value& sink : sinks) {
      const std::string key = fmt::format("{}/{}", family.name, place_of(sink));
      there.insert(key);
      const std::string type = text_at(sink, {"spec", "type"});
      const auto [first, last] = uses.equal_range(key);
      if (first == last) {
        add(key, type, {.inventory = kNobody, .state = state_of(sink), .last_export = {}});
      }
      for (auto it = first; it != last; ++it) add(key, type, it->second);
    }
  }
  for (const auto& [key, use] : uses) {
    const bool asked = ns.empty() || key.find("/" + ns + "/") != std::string::npos;
    if (there.contains(key) || !asked) continue;
    Use missing = use;
    missing.state = {.word = "Missing", .reason = "SinkNotFound", .message = {}};
    add(key, "", missing);
  }
  return out;
}

}  // namespace kollect::install
