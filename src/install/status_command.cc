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

/// "family/namespace/name" of each sink that the inventory names, with what it says of it.
void add_uses(const Value& inventory, std::multimap<std::string, Use>& uses) {
  for (const Family& family : kFamilies) {
    const Value* list = inventory.at_path({"spec", family.list});
    if (list == nullptr || !list->is_array()) continue;
    for (const Value& reference : list->as_array()) {
      const std::string name = ref_name(reference);
      std::string ns = namespace_in(inventory);
      if (ns.empty()) {
        const Value* own = inventory.at_path({"spec", "sinkNamespace"});
        ns = own != nullptr && own->is_string() ? own->as_string() : "kollect-system";
        if (!reference.text("namespace").empty()) ns = reference.text("namespace");
      }
      Use use{.inventory = place_of(inventory), .state = {}, .last_export = {}};
      const Value* exports = inventory.at_path({"status", "sinkExports"});
      if (exports != nullptr && exports->is_array()) {
        for (const Value& one : exports->as_array()) {
          if (one.text("name") != fmt::format("{}/{}", family.name, name)) continue;
          use.last_export = one.text("lastExportTime");
          if (const Value* synced = find_condition(one, "Synced")) {
            const bool bad = synced->text("reason") == "ExportFailed";
            use.state = {.word = bad ? "Failed" : "Ready",
                         .reason = std::string(synced->text("reason")),
                         .message = bad ? std::string(synced->text("message")) : std::string()};
          }
        }
      }
      uses.emplace(fmt::format("{}/{}/{}", family.name, ns, name), std::move(use));
    }
  }
}

base::Result<std::string> sinks_table(const cli::Invocation& invocation,
                                      const ClusterFlags& flags) {
  KL_ASSIGN(auto client, open_cluster(invocation, flags));
  const std::string ns = namespace_of(*client, flags);
  const base::Context context = invocation.context();
  std::multimap<std::string, Use> uses;
  for (const char* kind : {"KollectInventory", "KollectClusterInventory"}) {
    auto inventories = list_ours(*client, context, kind, ns);
    if (!inventories) {
      if (inventories.error().kind == base::ErrorKind::kDenied) continue;
      return inventories.error().with_prefix(kind);
    }
    for (const Value& inventory : *inventories) add_uses(inventory, uses);
  }
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& sink, const std::string& type, const Use& use) {
    rows.push_back({sink, type, use.inventory, use.state.word, use.state.reason, use.last_export,
                    first_line(use.state.message)});
  };
  std::set<std::string> there;
  for (const Family& family : kFamilies) {
    KL_ASSIGN(const auto sinks, list_ours(*client, context, family.kind, ns));
    for (const Value& sink : sinks) {
      const std::string key = fmt::format("{}/{}", family.name, place_of(sink));
      there.insert(key);
      const Value* type = sink.at_path({"spec", "type"});
      const std::string type_text = type != nullptr && type->is_string() ? type->as_string() : "";
      const auto [first, last] = uses.equal_range(key);
      if (first == last) {
        add(key, type_text, {.inventory = "(none)", .state = state_of(sink), .last_export = {}});
      }
      for (auto it = first; it != last; ++it) add(key, type_text, it->second);
    }
  }
  for (const auto& [key, use] : uses) {
    const bool asked = ns.empty() || key.find("/" + ns + "/") != std::string::npos;
    if (there.contains(key) || !asked) continue;
    add(key, "",
        {.inventory = use.inventory,
         .state = {.word = "Missing", .reason = "SinkNotFound", .message = {}},
         .last_export = use.last_export});
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
