// Client commands for records.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/hash.h"
#include "base/strings.h"
#include "fleet/client_commands.h"

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

base::Result<std::optional<Value>> Commands::write(const Write& write) {
  KL_ASSIGN(const std::string match, if_match());
  if (said_.dry_run) {
    Object operation = write.dry_run;
    if (!match.empty()) {
      std::int64_t version = 0;
      (void)std::from_chars(match.data() + 1, match.data() + match.size() - 1, version);
      operation.set("if_match", version);
    }
    Object body;
    body.set("operations", Array{Value(std::move(operation))});
    body.set("dry_run", true);
    KL_TRY(batch(Value(std::move(body))));
    return std::optional<Value>();
  }
  std::string path = FleetClient::path_of(write.family, write.method == "POST" ? "" : write.id);
  if (!write.part.empty()) path += "/" + write.part;
  if (said_.force && write.method == "DELETE") path += "?force=true";
  KL_ASSIGN(Told told, call(write.method, path, write.body, match));
  return std::optional(std::move(told.value));
}

base::Result<> Commands::write_and_show(const Write& write) {
  KL_ASSIGN(const auto after, this->write(write));
  return after ? show(*after) : base::Result<>();
}

namespace {

/// An operation on one record.
Object operation(std::string_view op, Family family, const std::string& id = {},
                 const std::optional<Value>& record = {}) {
  Object out;
  out.set("op", op);
  out.set("family", collection_of(family));
  if (!id.empty()) out.set("id", id);
  if (record) out.set("record", *record);
  return out;
}

/// "KIND:NAME", "KIND:NAMESPACE/NAME".
base::Result<Value> subject_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
    return usage(text + ": write KIND:NAME or KIND:NAMESPACE/NAME");
  }
  Object out;
  const std::string kind = text.substr(0, colon);
  std::string name = text.substr(colon + 1);
  out.set("kind", kind);
  if (kind == "ServiceAccount") {
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos) return usage(text + ": a ServiceAccount has a namespace");
    out.set("name", name.substr(slash + 1));
    out.set("namespace", name.substr(0, slash));
  } else {
    out.set("name", name);
    out.set("apiGroup", "rbac.authorization.k8s.io");
  }
  return Value(std::move(out));
}

}  // namespace

base::Result<> Commands::remove(Family family) {
  Write gone{.method = "DELETE", .family = family, .id = said_.id};
  gone.dry_run = operation("delete", family, said_.id);
  if (said_.force) gone.dry_run.set("force", true);
  return write_and_show(gone);
}

// ---- clusters

void Commands::add_cluster_members(CLI::App& app, bool required) {
  CLI::Option* options[] = {
      cli::add_flag_value(app, "--name", said_.cluster_name, "Name"),
      cli::add_flag_value(app, "--dns", said_.cluster_dns, "DNS name: under it the cluster polls"),
      cli::add_flag_value(app, "--environment", said_.environment, "dev, qa, uat or prod")};
  for (CLI::Option* option : options) option->required(required);
  cli::add_flag_value(app, "--node-count", said_.node_count, "Number of nodes");
  cli::add_flag_value(app, "--vm-image", said_.vm_image, "Image of its machines");
  cli::add_flag_value(app, "--k0s-version", said_.k0s_version, "Version of k0s");
}

void Commands::declare_clusters(CLI::App& noun) {
  CLI::App& make =
      with_id(command(noun, "create", "Registers a cluster", [this] { return create_cluster(); }));
  add_cluster_members(make, true);
  add_write_flags(make, false);
  CLI::App& set =
      with_id(command(noun, "set", "Changes what is given", [this] { return set_cluster(); }));
  add_cluster_members(set, false);
  cli::add_flag_list(set, "--clear", said_.clears,
                     "node_count, vm_image or k0s_version: is taken away (repeatable)");
  add_write_flags(set);
}

base::Result<Object> Commands::cluster_members() const {
  Object out;
  for (const auto& [key, value] :
       {std::pair("cluster_name", &said_.cluster_name),
        std::pair("cluster_dns", &said_.cluster_dns), std::pair("environment", &said_.environment),
        std::pair("vm_image", &said_.vm_image), std::pair("k0s_version", &said_.k0s_version)}) {
    if (!value->empty()) out.set(key, *value);
  }
  if (!said_.node_count.empty()) {
    const std::string& text = said_.node_count;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      return usage("--node-count: must be a number");
    }
    out.set("node_count", number);
  }
  for (const std::string& key : said_.clears) out.set(key, Value());
  return out;
}

base::Result<> Commands::create_cluster() {
  KL_ASSIGN(Object members, cluster_members());
  members.set("id", said_.id);
  members.set("platform_components", Array{});
  const Value body(std::move(members));
  return write_and_show({.method = "POST",
                         .family = Family::kCluster,
                         .id = said_.id,
                         .body = body,
                         .dry_run = operation("create", Family::kCluster, {}, body)});
}

base::Result<> Commands::set_cluster() {
  KL_ASSIGN(Object members, cluster_members());
  if (members.empty()) return usage("cluster set: nothing is given to change");
  const Value body(std::move(members));
  return write_and_show({.method = "PATCH",
                         .family = Family::kCluster,
                         .id = said_.id,
                         .body = body,
                         .dry_run = operation("patch", Family::kCluster, said_.id, body)});
}

// ---- components

void Commands::add_component_members(CLI::App& app, bool required) {
  CLI::Option* options[] = {
      cli::add_flag_value(app, "--component-path", said_.component_path,
                          "Path in the artifact, or chart name"),
      cli::add_flag_value(app, "--component-version", said_.component_version, "Upstream version"),
      cli::add_flag_value(app, "--oci-url", said_.oci_url, "Address of the source"),
      cli::add_flag_value(app, "--oci-tag", said_.oci_tag, "Tag")};
  for (CLI::Option* option : options) option->required(required);
  app.add_flag("--cluster-env-enabled,!--no-cluster-env-enabled", said_.cluster_env_enabled,
               "Append the environment to the path");
  cli::add_flag_list(app, "--depends-on", said_.depends_on, "Id of a component (repeatable)");
}

/// What one cluster may have otherwise than the catalog.
void Commands::add_overrides(CLI::App& app) {
  app.add_flag("--enabled,!--disabled", said_.enabled, "Rendered or only listed (enabled)");
  cli::add_flag_value(app, "--cluster-oci-tag", said_.cluster_oci_tag, "Tag for this cluster");
  cli::add_flag_value(app, "--cluster-component-path", said_.cluster_component_path,
                      "Path for this cluster");
}

void Commands::declare_components(CLI::App& noun) {
  CLI::App& make = with_id(command(noun, "create", "Makes a catalog entry; one that is there stays",
                                   [this] { return create_component(); }));
  add_component_members(make, true);
  cli::add_flag_value(make, "--cluster", said_.cluster, "Assign it to this cluster as well");
  add_overrides(make);
  CLI::App& set = with_id(command(noun, "set", "Changes what is given of a catalog entry, for all",
                                  [this] { return set_component(); }));
  add_component_members(set, false);
  add_write_flags(set);
  CLI::App& patch = with_id(command(noun, "patch", "Sets patches of a component of a cluster",
                                    [this] { return patch_component(); }));
  cli::add_flag_value(patch, "--cluster", said_.cluster, "Id of the cluster")->required();
  cli::add_flag_list(patch, "--set", said_.sets,
                     "KEY=VALUE (repeatable); readable in the cluster: no passwords")
      ->required();
  add_write_flags(patch);
}

Object Commands::component_members(bool empty_too) const {
  Object out;
  for (const auto& [key, value] :
       {std::pair("component_path", &said_.component_path),
        std::pair("component_version", &said_.component_version),
        std::pair("oci_url", &said_.oci_url), std::pair("oci_tag", &said_.oci_tag)}) {
    if (empty_too || !value->empty()) out.set(key, *value);
  }
  Array needs;
  for (const std::string& one : said_.depends_on) needs.emplace_back(one);
  if (!needs.empty()) out.set("depends_on", std::move(needs));
  return out;
}

base::Result<> Commands::create_component() {
  Object members = component_members(true);
  members.set("id", said_.id);
  members.set("cluster_env_enabled", said_.cluster_env_enabled);
  if (!members.contains("depends_on")) members.set("depends_on", Array{});
  const Value body(std::move(members));
  auto made = call("POST", FleetClient::path_of(Family::kComponent), body);
  if (!made && made.error().reason == "conflict") {
    made = call("GET", FleetClient::path_of(Family::kComponent, said_.id));
    for (const auto& [key, wanted] : body.as_object()) {
      const Value* is = made ? made->value.find(key) : nullptr;
      if (!made || (is != nullptr && *is == wanted)) continue;
      fmt::print(invocation_.err, "{}: is there already and stays as it is, with another {}\n",
                 said_.id, key);
    }
  }
  if (!made) return made.error();
  if (said_.cluster.empty()) return show(made->value);
  KL_TRY(show_part("component", made->value));
  KL_ASSIGN(const auto cluster, write(assignment(Family::kComponent)));
  return cluster ? show_part("cluster", *cluster) : base::Result<>();
}

base::Result<> Commands::set_component() {
  Object members = component_members(false);
  const CLI::App* set = app_.get_subcommand("component")->get_subcommand("set");
  if (set->count("--cluster-env-enabled") > 0) {
    members.set("cluster_env_enabled", said_.cluster_env_enabled);
  }
  if (members.empty()) return usage("component set: nothing is given to change");
  const Value body(std::move(members));
  return write_and_show({.method = "PUT",
                         .family = Family::kComponent,
                         .id = said_.id,
                         .body = body,
                         .dry_run = operation("update", Family::kComponent, said_.id, body)});
}

base::Result<> Commands::patch_component() {
  KL_ASSIGN(const Object set, pairs_of(said_.sets));
  KL_ASSIGN(const std::string match, if_match());
  Object patches;
  patches.set(said_.id, Value(set));
  Object body;
  body.set("patches", std::move(patches));
  if (said_.dry_run) {
    const Value record(std::move(body));
    return write_and_show({.method = "PATCH",
                           .family = Family::kCluster,
                           .id = said_.cluster,
                           .dry_run = operation("patch", Family::kCluster, said_.cluster, record)});
  }
  const auto side = [&](const Value& cluster) {
    Object out;
    out.set("environment", cluster.text("environment"));
    const Value* own = cluster.at_path({"patches", said_.id});
    out.set("component_patches", own != nullptr ? *own : Value());
    return out;
  };
  Object told;
  told.set("cluster_id", said_.cluster);
  told.set("component_id", said_.id);
  KL_ASSIGN(const Told after, client_->edit(invocation_.context(), Family::kCluster, said_.cluster,
                                            match, [&](const Value& record) -> base::Result<Value> {
                                              told.set("before", side(record));
                                              return Value(body);
                                            }));
  warn(after);
  told.set("after", side(after.value));
  return show(Value(std::move(told)));
}

// ---- namespaces, role bindings

void Commands::add_metadata(CLI::App& app) {
  cli::add_flag_list(app, "--label", said_.labels, "KEY=VALUE (repeatable)");
  cli::add_flag_list(app, "--annotation", said_.annotations, "KEY=VALUE (repeatable)");
}

void Commands::declare_namespaces(CLI::App& noun) {
  CLI::App& make = with_id(command(noun, "create", "Makes a namespace, or sets what is given",
                                   [this] { return create_namespace(); }));
  cli::add_flag_value(make, "--cluster", said_.cluster, "Assign it to this cluster as well");
  add_metadata(make);
}

/// What is given is set; what is not given stays as it is.
base::Result<> Commands::create_namespace() {
  KL_ASSIGN(Object labels, pairs_of(said_.labels));
  KL_ASSIGN(Object annotations, pairs_of(said_.annotations));
  Object body;
  body.set("id", said_.id);
  if (!labels.empty()) body.set("labels", std::move(labels));
  if (!annotations.empty()) body.set("annotations", std::move(annotations));
  const Value whole(std::move(body));
  auto made = call("POST", FleetClient::path_of(Family::kNamespace), whole);
  if (!made && made.error().reason == "conflict") {
    made = call("PUT", FleetClient::path_of(Family::kNamespace, said_.id), whole);
  }
  if (!made) return made.error();
  if (said_.cluster.empty()) return show(made->value);
  KL_TRY(show_part("namespace", made->value));
  KL_ASSIGN(const auto cluster, write(assignment(Family::kNamespace)));
  return cluster ? show_part("cluster", *cluster) : base::Result<>();
}

void Commands::declare_role_bindings(CLI::App& noun) {
  CLI::App& make = with_id(command(noun, "create", "Makes a binding to a cluster role",
                                   [this] { return create_role_binding(); }));
  cli::add_flag_value(make, "--role", said_.role, "Name of the ClusterRole")->required();
  cli::add_flag_list(make, "--subject", said_.subjects,
                     "User:NAME, Group:NAME, ServiceAccount:NAMESPACE/NAME (repeatable)");
  add_write_flags(make, false);
}

base::Result<> Commands::create_role_binding() {
  Array subjects;
  for (const std::string& text : said_.subjects) {
    KL_ASSIGN(Value subject, subject_of(text));
    subjects.push_back(std::move(subject));
  }
  Object members;
  members.set("id", said_.id);
  members.set("role", said_.role);
  members.set("subjects", std::move(subjects));
  const Value body(std::move(members));
  return write_and_show({.method = "POST",
                         .family = Family::kRoleBinding,
                         .id = said_.id,
                         .body = body,
                         .dry_run = operation("create", Family::kRoleBinding, {}, body)});
}

// ---- references of clusters

void Commands::declare_references(CLI::App& noun, Family family) {
  CLI::App& add = with_id(command(noun, "assign", "Assigns it to a cluster",
                                  [this, family] { return assign(family); }));
  CLI::App& take = with_id(command(noun, "unassign", "Takes it from a cluster",
                                   [this, family] { return unassign(family); }));
  for (CLI::App* app : {&add, &take}) {
    cli::add_flag_value(*app, "--cluster", said_.cluster, "Id of the cluster")->required();
    add_write_flags(*app);
  }
  if (family == Family::kComponent) add_overrides(add);
}

namespace {

std::string_view member_of(Family definitions) {
  return definitions == Family::kRoleBinding ? "rolebinding" : noun_of(definitions);
}

}  // namespace

/// Puts the reference; an override that is left out is cleared.
Commands::Write Commands::assignment(Family family) const {
  Object reference;
  if (family == Family::kComponent) {
    reference.set("enabled", said_.enabled);
    for (const auto& [key, value] : {std::pair("oci_tag", &said_.cluster_oci_tag),
                                     std::pair("component_path", &said_.cluster_component_path)}) {
      reference.set(key, value->empty() ? Value() : Value(*value));
    }
  }
  Write out{.method = "PUT", .family = Family::kCluster, .id = said_.cluster};
  out.part = fmt::format("{}/{}", references_of(family), base::percent_encode(said_.id));
  out.body = Value(reference);
  reference.set("id", said_.id);
  out.dry_run.set("op", fmt::format("assign_{}", member_of(family)));
  out.dry_run.set("id", said_.cluster);
  out.dry_run.set(std::string(member_of(family)), Value(std::move(reference)));
  return out;
}

base::Result<> Commands::assign(Family family) {
  return write_and_show(assignment(family));
}

base::Result<> Commands::unassign(Family family) {
  Write write{.method = "DELETE", .family = Family::kCluster, .id = said_.cluster};
  write.part = fmt::format("{}/{}", references_of(family), base::percent_encode(said_.id));
  write.dry_run.set("op", fmt::format("unassign_{}", member_of(family)));
  write.dry_run.set("id", said_.cluster);
  write.dry_run.set(std::string(member_of(family)), said_.id);
  return write_and_show(write);
}

}  // namespace kollect::fleet
