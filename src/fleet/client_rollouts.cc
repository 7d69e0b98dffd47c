// Client commands for many records: batches, rollouts, files of desired records, restoring.
#include <fmt/format.h>

#include <charconv>

#include "base/files.h"
#include "base/hash.h"
#include "base/yaml/read.h"
#include "fleet/client_commands.h"
#include "fleet/client_output.h"

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

base::Result<std::int64_t> number_of(const std::string& flag, const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) {
    return usage(flag + ": must be a number from 1 on");
  }
  return number;
}

Array texts_in(const std::vector<std::string>& texts) {
  Array out;
  for (const std::string& one : texts) out.emplace_back(one);
  return out;
}

}  // namespace

base::Result<Value> Commands::read_file() const {
  KL_ASSIGN(const std::string text, base::read_file(said_.file == "-" ? "/dev/stdin" : said_.file));
  auto value = base::yaml::read_one(text);
  if (!value) return value.error().with_prefix(said_.file);
  return *std::move(value);
}

base::Result<> Commands::show_changes(const Value& told) const {
  if (!wants_table()) return show(told);
  fmt::print(invocation_.out, "{}", changes_text(told));
  return {};
}

base::Result<> Commands::batch(Value body) {
  KL_ASSIGN(const Told told, call("POST", "/batch", body));
  return show_changes(told.value);
}

base::Result<> Commands::batch_of_file() {
  KL_ASSIGN(Value body, read_file());
  if (body.is_array()) {
    Object whole;
    whole.set("operations", std::move(body));
    body = std::move(whole);
  }
  if (!body.is_object()) return usage(said_.file + ": must be a list of operations");
  if (said_.dry_run) body.as_object().set("dry_run", true);
  if (!said_.note.empty()) body.as_object().set("note", said_.note);
  return batch(std::move(body));
}

base::Result<> Commands::start_of_file() {
  KL_ASSIGN(Value body, read_file());
  if (!body.is_object()) return usage(said_.file + ": must be an object with a kind");
  if (said_.dry_run) body.as_object().set("dry_run", true);
  KL_ASSIGN(const Told told, call("POST", "/rollouts", body));
  return show_changes(told.value);
}

/// A file of desired records, as one batch: those that are missing are made, others changed where
/// they differ.
base::Result<> Commands::apply(bool dry_run) {
  KL_ASSIGN(Value wanted, read_file());
  if (!wanted.is_object()) return usage(said_.file + ": must be an object");
  for (const auto& [key, value] : wanted.as_object()) {
    const bool known =
        std::ranges::any_of(kAllFamilies, [&](Family one) { return key == collection_of(one); });
    if (!known) return usage(fmt::format("{}: {} is not known", said_.file, key));
  }
  Array operations;
  // Definitions first: clusters refer to them.
  for (const Family family :
       {Family::kComponent, Family::kNamespace, Family::kRoleBinding, Family::kCluster}) {
    Value* list = wanted.find(collection_of(family));
    if (list == nullptr) continue;
    if (!list->is_array()) {
      return usage(fmt::format("{}: {} must be a list", said_.file, collection_of(family)));
    }
    if (list->as_array().empty()) continue;
    for (Value& record : list->as_array()) {
      // As seed files have it.
      const Value* seeded = record.find("_id");
      if (seeded != nullptr && record.find("id") == nullptr) {
        record.as_object().set("id", *seeded);
        record.as_object().erase("_id");
      }
    }
    Object operation;
    operation.set("op", "apply");
    operation.set("family", collection_of(family));
    operation.set("records", std::move(*list));
    operations.emplace_back(std::move(operation));
  }
  if (operations.empty()) return usage(said_.file + ": has no records");
  Object body;
  body.set("operations", std::move(operations));
  if (dry_run) body.set("dry_run", true);
  if (!said_.note.empty()) body.set("note", said_.note);
  return batch(Value(std::move(body)));
}

base::Result<Object> Commands::selector() const {
  Object out;
  for (const std::string& text : said_.selects) {
    KL_ASSIGN(const Object pair, pairs_of({text}));
    const auto& [key, value] = *pair.begin();
    if (!out.contains(key)) out.set(key, Array{});
    out.find(key)->as_array().push_back(value);
  }
  if (!said_.clusters.empty()) out.set("ids", texts_in(said_.clusters));
  if (!said_.environments.empty()) out.set("environment", texts_in(said_.environments));
  if (said_.all) out.set("all", true);
  if (!said_.limit.empty()) {
    KL_ASSIGN(const std::int64_t limit, number_of("--limit", said_.limit));
    out.set("limit", limit);
  }
  if (out.empty()) {
    return usage("say which clusters: --cluster, --environment, --select or --all");
  }
  return out;
}

base::Result<> Commands::roll_out(const std::string& kind) {
  Object body;
  body.set("kind", kind);
  if (said_.dry_run) body.set("dry_run", true);
  if (!said_.note.empty()) body.set("note", said_.note);
  if (kind != "decommission") body.set("component", said_.id);
  for (const auto& [key, value] :
       {std::pair("component_path", &said_.component_path),
        std::pair("component_version", &said_.component_version),
        std::pair("oci_url", &said_.oci_url), std::pair("from", &said_.from),
        std::pair("from_cluster", &said_.from_cluster), std::pair("to", &said_.to)}) {
    if (!value->empty()) body.set(key, *value);
  }
  if (!said_.oci_tag.empty()) body.set("oci_tag", said_.oci_tag);
  if (said_.assign_missing) body.set("assign_missing", true);
  if (said_.clear_overrides) body.set("clear_overrides", true);
  if (kind == "component") {
    // Here they are what the clusters have otherwise than the catalog.
    Object reference;
    for (const char* key : {"oci_tag", "component_path"}) {
      if (const Value* value = body.find(key)) reference.set(key, *value);
      body.erase(key);
    }
    if (!said_.enabled) reference.set("enabled", false);
    if (!reference.empty()) body.set("reference", std::move(reference));
    if (!said_.sets.empty()) {
      KL_ASSIGN(Object patches, pairs_of(said_.sets));
      body.set("patches", std::move(patches));
    }
  }
  if (kind != "upgrade" && kind != "promote") {
    KL_ASSIGN(Object clusters, selector());
    body.set("selector", std::move(clusters));
  }
  KL_ASSIGN(const Told told, call("POST", "/rollouts", Value(std::move(body))));
  return show_changes(told.value);
}

CLI::App& Commands::flow(CLI::App& parent, const std::string& kind, const std::string& help) {
  CLI::App& app = command(parent, kind, help, [this, kind] { return roll_out(kind); });
  if (kind != "decommission")
    app.add_option("component", said_.id, "Id of the component")->required();
  if (kind != "upgrade" && kind != "promote") {
    cli::add_flag_list(app, "--cluster", said_.clusters, "Id of a cluster (repeatable)");
    cli::add_flag_list(app, "--environment", said_.environments, "dev, qa, uat, prod (repeatable)");
    cli::add_flag_list(app, "--select", said_.selects,
                       "has_component=ID, lacks_component=ID, cluster_dns=NAME, ... (repeatable)");
    app.add_flag("--all", said_.all, "All clusters");
    cli::add_flag_value(app, "--limit", said_.limit, "No more clusters than this");
  }
  if (kind == "component" || kind == "upgrade" || kind == "canary") {
    cli::add_flag_value(app, "--component-path", said_.component_path, "Path in the artifact");
  }
  if (kind != "decommission" && kind != "promote") {
    cli::add_flag_value(app, "--oci-tag", said_.oci_tag, "Tag");
  }
  if (kind == "component") {
    app.add_flag("--enabled,!--disabled", said_.enabled, "Rendered or only listed (enabled)");
    cli::add_flag_list(app, "--set", said_.sets, "Patch KEY=VALUE (repeatable): no passwords");
  }
  if (kind == "upgrade") {
    cli::add_flag_value(app, "--component-version", said_.component_version, "Upstream version");
    cli::add_flag_value(app, "--oci-url", said_.oci_url, "Address of the source");
    app.add_flag("--clear-overrides", said_.clear_overrides,
                 "Also for clusters that have a path or a tag of their own");
  }
  if (kind == "promote") {
    cli::add_flag_value(app, "--from", said_.from, "Environment whose clusters have it");
    cli::add_flag_value(app, "--from-cluster", said_.from_cluster, "One cluster that has it");
    cli::add_flag_value(app, "--to", said_.to, "Environment, or catalog: the default of all")
        ->required();
    app.add_flag("--assign-missing", said_.assign_missing, "To clusters that lack it, too");
  }
  cli::add_flag_value(app, "--note", said_.note, "Kept with the rollout");
  add_write_flags(app, false);
  return app;
}

base::Result<> Commands::undo() {
  const std::string path = "/rollouts/" + base::percent_encode(said_.id) + "/undo";
  KL_ASSIGN(const Told told, call("POST", path + (said_.dry_run ? "?dry_run=true" : "")));
  return show_changes(told.value);
}

base::Result<> Commands::restore() {
  std::optional<Family> family;
  for (const auto& [name, one] :
       {std::pair("cluster", Family::kCluster), std::pair("component", Family::kComponent),
        std::pair("namespace", Family::kNamespace),
        std::pair("rolebinding", Family::kRoleBinding)}) {
    if (said_.family == name || said_.family == collection_of(one)) family = one;
  }
  if (!family) return usage("restore: the family is cluster, component, namespace or rolebinding");
  if (said_.version.empty() == said_.sequence.empty()) {
    return usage("restore: one of --version and --seq must be given");
  }
  Object body;
  const bool by_version = !said_.version.empty();
  KL_ASSIGN(const std::int64_t number, by_version ? number_of("--version", said_.version)
                                                  : number_of("--seq", said_.sequence));
  body.set(by_version ? "version" : "seq", number);
  KL_ASSIGN(const std::string match, if_match());
  KL_ASSIGN(const Told told, call("POST", FleetClient::path_of(*family, said_.id) + "/restore",
                                  Value(std::move(body)), match));
  return show(told.value);
}

void Commands::declare_rollouts() {
  const auto with_file = [&](CLI::App& app, const char* help) -> CLI::App& {
    cli::add_flag_value(app, "-f,--file", said_.file, help)->required();
    cli::add_flag_value(app, "--note", said_.note, "Kept with the rollout");
    return app;
  };
  constexpr const char* kRecords =
      "YAML or JSON with the members clusters, platform_components, namespaces, rolebindings; -: "
      "standard input";
  with_file(command(app_, "plan", "What apply would change", [this] { return apply(true); }),
            kRecords);
  add_write_flags(
      with_file(command(app_, "apply", "Makes records as a file wants them: all or none",
                        [this] { return apply(said_.dry_run); }),
                kRecords),
      false);
  add_write_flags(with_file(command(app_, "batch", "Does a list of operations: all or none",
                                    [this] { return batch_of_file(); }),
                            "YAML or JSON: a list of operations; -: standard input"),
                  false);
  CLI::App& rollouts = noun(app_, "rollout", "Changes of many clusters, recorded, can be undone");
  CLI::App& list =
      command(rollouts, "list", "Newest first", [this] { return show_list("rollouts"); });
  cli::add_flag_list(list, "--filter", said_.filters, "limit=N, cursor=N (repeatable)");
  with_id(command(rollouts, "get", "What a rollout changed", [this] {
    return show_call("GET", "/rollouts/" + base::percent_encode(said_.id));
  }));
  add_write_flags(with_id(command(rollouts, "undo", "Puts back what a rollout changed",
                                  [this] { return undo(); })),
                  false);
  add_write_flags(with_file(command(rollouts, "start", "A rollout as a file describes it",
                                    [this] { return start_of_file(); }),
                            "YAML or JSON: an object with a kind; -: standard input"),
                  false);
  flow(rollouts, "component", "A component of the catalog goes to clusters");
  flow(rollouts, "upgrade", "A catalog entry changes, for all that do not override it");
  flow(rollouts, "decommission", "Clusters are deleted; their Flux removes everything");
  for (CLI::App* parent : {&rollouts, &app_}) {
    flow(*parent, "canary", "Some clusters get another path or tag of a component first");
    flow(*parent, "hotfix", "Clusters get another tag of a component; nothing else moves");
    flow(*parent, "promote", "What one environment runs of a component goes to the next");
  }
  CLI::App& back = command(app_, "restore", "Makes a record as it was, a deleted one too",
                           [this] { return restore(); });
  back.add_option("family", said_.family, "cluster, component, namespace, rolebinding")->required();
  with_id(back);
  cli::add_flag_value(back, "--version", said_.version, "As it was with this version");
  cli::add_flag_value(back, "--seq", said_.sequence, "As it was behind this audit entry");
  cli::add_flag_value(back, "--if-match", said_.if_match, "Only if it still has this version");
}

}  // namespace kollect::fleet
