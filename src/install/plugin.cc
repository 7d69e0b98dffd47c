#include "install/plugin.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/codec.h"
#include "base/files.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "install/cluster.h"
#include "install/commands.h"
#include "install/state.h"
#include "kube/objects.h"
#include "pipeline/collect_command.h"
#include "pipeline/commands.h"

namespace kollect::install {

using base::json::Object;
using base::json::Value;

namespace {

constexpr const char* kRequestedAt = "kollect.dev/requestedAt";

/// "inventory/all" or "kinv/all": the kind and the name. Error: configuration.
base::Result<kube::ObjectRef> ref_of(const std::string& text, const std::string& ns) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == text.size()) {
    return base::configuration(
        fmt::format("\"{}\": give KIND/NAME, for example inventory/all", text));
  }
  const std::string word = base::to_lower(text.substr(0, slash));
  for (const api::KindInfo& info : api::kinds()) {
    const std::string kind = base::to_lower(info.kind);
    if (!is_looked_at(info.kind) ||
        (word != kind && "kollect" + word != kind && word != info.plural &&
         "kollect" + word != info.plural && word != info.short_name)) {
      continue;
    }
    if (info.namespaced && ns.empty()) {
      return base::configuration("--all-namespaces does not go with names");
    }
    return kube::ObjectRef{.resource = our_resource(info.kind),
                           .ns = info.namespaced ? ns : std::string(),
                           .name = text.substr(slash + 1)};
  }
  return base::configuration(
      fmt::format("\"{}\": no kind that an operator looks at has this name", text));
}

base::Result<> trigger(const cli::Invocation& invocation, const ClusterFlags& flags,
                       const std::vector<std::string>& names) {
  KL_ASSIGN(auto client, open_cluster(invocation, flags));
  const std::string ns = namespace_of(*client, flags);
  std::vector<kube::ObjectRef> refs;
  for (const std::string& name : names) {
    KL_ASSIGN(kube::ObjectRef ref, ref_of(name, ns));
    refs.push_back(std::move(ref));
  }
  Object annotations;
  annotations.set(kRequestedAt, base::format_rfc3339(invocation.clock->now()));
  Object metadata;
  metadata.set("annotations", std::move(annotations));
  Object patch;
  patch.set("metadata", std::move(metadata));
  const Value asked(std::move(patch));
  kube::Objects objects(*client);
  for (std::size_t i = 0; i < refs.size(); ++i) {
    KL_TRY(objects.patch(invocation.context(), refs[i], asked));
    fmt::print(invocation.out, "{} is looked at\n", names[i]);
  }
  return {};
}

/// A manifest as somebody would write it: without what the server adds.
Value as_written(const Value& object) {
  Object metadata;
  for (const char* member : {"name", "namespace", "annotations", "labels"}) {
    if (const Value* found = object.at_path({"metadata", member})) metadata.set(member, *found);
  }
  Object made;
  made.set("apiVersion", std::string(object.text("apiVersion")));
  made.set("kind", std::string(object.text("kind")));
  made.set("metadata", std::move(metadata));
  if (const Value* spec = object.find("spec")) made.set("spec", *spec);
  return made;
}

/// Targets of a namespace (those named, else all) and all its profiles.
base::Result<std::vector<Value>> targets_and_profiles(const cli::Invocation& invocation,
                                                      const ClusterFlags& flags,
                                                      const std::vector<std::string>& names) {
  KL_ASSIGN(auto client, open_cluster(invocation, flags));
  const std::string ns = namespace_of(*client, flags);
  const base::Context context = invocation.context();
  KL_ASSIGN(const auto targets, list_ours(*client, context, "KollectTarget", ns));
  std::vector<Value> found;
  for (const Value& target : targets) {
    if (names.empty() || std::ranges::find(names, name_in(target)) != names.end()) {
      found.push_back(as_written(target));
    }
  }
  const std::string where = ns.empty() ? "" : " in namespace " + ns;
  if (found.empty() && names.empty()) {
    return base::not_found(fmt::format("there is no target{}", where));
  }
  for (const std::string& name : names) {
    if (std::ranges::none_of(found, [&](const Value& one) { return name_in(one) == name; })) {
      return base::not_found(fmt::format("there is no target {}{}", name, where));
    }
  }
  KL_ASSIGN(const auto profiles, list_ours(*client, context, "KollectProfile", ns));
  for (const Value& profile : profiles) found.push_back(as_written(profile));
  return found;
}

struct RowFlags {
  ClusterFlags cluster;
  std::vector<std::string> targets;
  std::string format = "rows";
};

void add_row_flags(CLI::App& app, RowFlags& flags) {
  add_cluster_flags(app, flags.cluster, true);
  app.add_option("targets", flags.targets, "Targets; default: all of the namespace");
}

/// What targets select now, by the rights of the caller, as `collect` prints it to `out`. Gives its
/// exit code.
base::Result<int> rows_now(const cli::Invocation& invocation, const RowFlags& flags,
                           std::FILE* out) {
  KL_ASSIGN(auto manifests, targets_and_profiles(invocation, flags.cluster, flags.targets));
  KL_ASSIGN(const auto folder, base::TempDir::create());
  Object list;
  list.set("apiVersion", "v1");
  list.set("kind", "List");
  list.set("items", base::json::Array(std::make_move_iterator(manifests.begin()),
                                      std::make_move_iterator(manifests.end())));
  KL_TRY(base::write_file_atomic(folder.path() / "targets.json",
                                 base::json::compact(Value(std::move(list)))));
  std::vector<std::string> args = {"--config",   folder.path().string(), "--output",  "-",
                                   "--format",   flags.format,           "--summary", "none",
                                   "--no-sinks", "--log-level",          "warn"};
  if (!flags.cluster.kubeconfig.empty()) {
    args.insert(args.end(), {"--kubeconfig", flags.cluster.kubeconfig});
  }
  if (!flags.cluster.context.empty()) args.insert(args.end(), {"--context", flags.cluster.context});
  cli::Invocation collecting = invocation;
  collecting.out = out;
  return pipeline::run_collect(collecting, args);
}

/// The comparison of an earlier export with what there is now.
base::Result<int> diff_now(const cli::Invocation& invocation, const RowFlags& flags,
                           const std::string& before, const std::vector<std::string>& more) {
  KL_ASSIGN(const auto folder, base::TempDir::create());
  const std::string now = (folder.path() / "now.ndjson").string();
  std::FILE* out = std::fopen(now.c_str(), "w");
  if (out == nullptr) return base::terminal("no file can be written in the temporary folder");
  const auto code = rows_now(invocation, flags, out);
  const bool written = std::fclose(out) == 0;
  if (!code) return code.error();
  if (*code != cli::kExitOk || !written) {
    return base::terminal("not everything could be read, so nothing is compared");
  }
  std::vector<std::string> args = {before, now};
  args.insert(args.end(), more.begin(), more.end());
  return pipeline::run_diff_command(invocation, args);
}

}  // namespace

int run_trigger_command(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  ClusterFlags flags;
  std::vector<std::string> names;
  CLI::App app("Asks the operator to look at objects now.", "trigger");
  add_cluster_flags(app, flags, true);
  app.add_option("names", names, "KIND/NAME, for example inventory/all or target/web")->required();
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  const auto done = trigger(invocation, flags, names);
  return done ? cli::kExitOk : failed(invocation, "trigger", done.error());
}

int run_rows_command(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  RowFlags flags;
  CLI::App app("The rows that targets select now, read with your own rights.", "rows");
  add_row_flags(app, flags);
  cli::add_flag_value(app, "--format", flags.format, "rows, ndjson, yaml, json")
      ->capture_default_str();
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  const auto code = rows_now(invocation, flags, invocation.out);
  return code ? *code : failed(invocation, "rows", code.error());
}

int run_live_diff_command(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  RowFlags flags;
  std::string before;
  bool json = false;
  bool exit_code = false;
  std::string table_name;
  CLI::App app("What changed since an export: envelopes, row files, output folders, SQLite files.",
               "diff");
  app.add_option("before", before, "The export")->required();
  add_row_flags(app, flags);
  app.add_flag("--json", json, "One JSON object");
  app.add_flag("--exit-code", exit_code, "Exit with 1 when there are differences");
  cli::add_flag_value(app, "--table", table_name, "Table of SQLite files");
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  std::vector<std::string> more;
  if (json) more.emplace_back("--json");
  if (exit_code) more.emplace_back("--exit-code");
  if (!table_name.empty()) more.insert(more.end(), {"--table", table_name});
  const auto code = diff_now(invocation, flags, before, more);
  return code ? *code : failed(invocation, "diff", code.error());
}

const std::vector<cli::Command>& plugin_commands() {
  static const std::vector<cli::Command> kCommands = [] {
    std::vector<cli::Command> all = {
        {"status", "Targets and inventories, and how they are", run_status_command},
        {"sinks", "Sinks, who writes to them, and how that goes", run_sinks_command},
        {"rows", "The rows that targets select now", run_rows_command},
        {"diff", "What changed since an export", run_live_diff_command},
        {"trigger", "Have objects looked at now", run_trigger_command},
    };
    all.insert(all.end(), commands().begin(), commands().end());
    return all;
  }();
  return kCommands;
}

}  // namespace kollect::install
