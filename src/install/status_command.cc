// `kubectl kollect status` and `kubectl kollect sinks`
#include <algorithm>

#include <fmt/format.h>

#include "install/cluster.h"
#include "install/plugin.h"
#include "install/sink_uses.h"
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

std::string nothing_of(std::string_view what, const std::string& ns) {
  return ns.empty() ? fmt::format("no {}\n", what)
                    : fmt::format("no {} in namespace {}; -A looks at all\n", what, ns);
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
  if (rows.empty()) return nothing_of("targets and no inventories", ns);
  return table({"NAME", "NAMESPACE", "STATE", "REASON", "ROWS", "LAST EXPORT", "MESSAGE"}, rows);
}

base::Result<std::string> sinks_table(const cli::Invocation& invocation,
                                      const ClusterFlags& flags) {
  KL_ASSIGN(auto client, open_cluster(invocation, flags));
  const std::string ns = namespace_of(*client, flags);
  KL_ASSIGN(const auto uses, read_sink_uses(*client, invocation.context(), ns));
  std::vector<std::vector<std::string>> rows;
  for (const SinkUse& use : uses) {
    rows.push_back({use.sink, use.type, use.inventory, use.state.word, use.state.reason,
                    use.last_export, first_line(use.state.message)});
  }
  if (rows.empty()) return nothing_of("sinks", ns);
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
