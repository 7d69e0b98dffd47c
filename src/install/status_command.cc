// `kubectl kollect status` and `kubectl kollect sinks`
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "install/cluster.h"
#include "install/plugin.h"
#include "install/state.h"
#include "install/table.h"

namespace kollect::install {

using base::json::Value;

namespace {

/// The first line of a message: tables have one line per object.
std::string first_line(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

std::string number_text(const std::optional<std::int64_t>& number) {
  return number ? std::to_string(*number) : std::string();
}

base::Result<std::string> status_table(const cli::Invocation& invocation,
                                       const ClusterFlags& flags) {
  KL_ASSIGN(auto client, open_cluster(invocation, flags));
  const std::string ns = namespace_of(*client, flags);
  const base::Context context = invocation.context();
  std::vector<std::vector<std::string>> rows;
  for (const auto& [kind, word, count] :
       {std::tuple{"KollectTarget", "target", "collectedCount"},
        std::tuple{"KollectClusterTarget", "clustertarget", ""},
        std::tuple{"KollectInventory", "inventory", "itemCount"},
        std::tuple{"KollectClusterInventory", "clusterinventory", "itemCount"}}) {
    const bool cluster_wide = std::string_view(kind).starts_with("KollectCluster");
    auto objects = list_ours(*client, context, kind, ns);
    // Whoever may not read kinds of the whole cluster still has a namespace.
    if (!objects && cluster_wide && !flags.all_namespaces &&
        objects.error().kind == base::ErrorKind::kDenied) {
      continue;
    }
    if (!objects) return objects.error().with_prefix(kind);
    for (const Value& object : *objects) {
      const State state = state_of(object);
      rows.push_back({fmt::format("{}/{}", word, name_in(object)), namespace_in(object), state.word,
                      state.reason, number_text(status_number(object, count)),
                      status_text(object, "lastExportTime"), first_line(state.message)});
    }
  }
  if (rows.empty()) {
    return fmt::format("no targets and no inventories{}\n",
                       ns.empty() ? "" : " in namespace " + ns);
  }
  return table({"NAME", "NAMESPACE", "STATE", "REASON", "ROWS", "LAST EXPORT", "MESSAGE"}, rows);
}

struct Family {
  const char* kind;
  const char* name;
  const char* list;  ///< in the spec of inventories
};
constexpr std::array kFamilies = {Family{"KollectSnapshotSink", "snapshot", "snapshotSinkRefs"},
                                  Family{"KollectDatabaseSink", "database", "databaseSinkRefs"},
                                  Family{"KollectEventSink", "event", "eventSinkRefs"}};

/// One use of a sink: the inventory, and what it says about the sink.
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

base::Result<std::string> sinks_table(const cli::Invocation& invocation,
                                      const ClusterFlags& flags) {
  KL_ASSIGN(auto client, open_cluster(invocation, flags));
  const std::string ns = namespace_of(*client, flags);
  KL_ASSIGN(const Uses uses, read_uses(*client, invocation.context(), ns));
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& sink, const std::string& type, const Use& use) {
    rows.push_back({sink, type, use.inventory, use.state.word, use.state.reason, use.last_export,
                    first_line(use.state.message)});
  };
  std::set<std::string> there;
  for (const Family& family : kFamilies) {
    KL_ASSIGN(const auto sinks, list_ours(*client, invocation.context(), family.kind, ns));
    for (const Value& sink : sinks) {
      const std::string key = fmt::format("{}/{}", family.name, place_of(sink));
      there.insert(key);
      const std::string type = text_at(sink, {"spec", "type"});
      const auto [first, last] = uses.equal_range(key);
      if (first == last) {
        add(key, type, {.inventory = "(none)", .state = state_of(sink), .last_export = {}});
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
  if (rows.empty()) return std::string("no sinks\n");
  return table({"SINK", "TYPE", "INVENTORY", "STATE", "REASON", "LAST EXPORT", "MESSAGE"}, rows);
}

int show(const cli::Invocation& invocation, const std::vector<std::string>& args, const char* name,
         const char* summary,
         base::Result<std::string> (*make)(const cli::Invocation&, const ClusterFlags&)) {
  ClusterFlags flags;
  CLI::App app(summary, name);
  add_cluster_flags(app, flags, true);
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  const auto text = make(invocation, flags);
  if (!text) return failed(invocation, name, text.error());
  fmt::print(invocation.out, "{}", *text);
  return std::fflush(invocation.out) == 0 ? cli::kExitOk : cli::kExitFailed;
}

}  // namespace

int run_status_command(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  return show(invocation, args, "status", "Targets and inventories, and how they are.",
              status_table);
}

int run_sinks_command(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  return show(invocation, args, "sinks", "Sinks, who writes to them, and how that goes.",
              sinks_table);
}

}  // namespace kollect::install
