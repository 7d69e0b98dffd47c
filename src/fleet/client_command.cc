#include "fleet/client_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/json/write.h"
#include "base/yaml/read.h"
#include "cli/flags.h"
#include "fleet/client.h"

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

/// Everything that the command line may say.
struct Said {
  std::string id;
  std::string file;
  std::string cluster;
  bool force = false;
  bool enabled = true;
  std::string component_path, component_version, oci_url, oci_tag;
  std::string cluster_oci_tag, cluster_component_path;
  bool cluster_env_enabled = false;
  std::vector<std::string> depends_on, sets, labels, annotations;
  std::vector<std::string> filters;
};

using Step = std::function<base::Result<>()>;

class Commands {
 public:
  explicit Commands(const cli::Invocation& invocation) : invocation_(invocation) {}

  int run(const std::vector<std::string>& args);

 private:
  void declare();
  void declare_family(const std::string& name, Family family);
  void declare_components(CLI::App& noun);
  void declare_references(CLI::App& noun, Family family);
  void declare_others();
  void declare_demo();
  CLI::App& command(CLI::App& parent, const char* name, const char* help, Step step);
  CLI::App& with_id(CLI::App& app) {
    app.add_option("id", said_.id, "Id")->required();
    return app;
  }
  /// What one cluster may have otherwise than the catalog.
  void add_overrides(CLI::App& app) {
    app.add_flag("--enabled,!--disabled", said_.enabled, "Rendered or only listed (enabled)");
    cli::add_flag_value(app, "--cluster-oci-tag", said_.cluster_oci_tag, "Tag for this cluster");
    cli::add_flag_value(app, "--cluster-component-path", said_.cluster_component_path,
                        "Path for this cluster");
  }
  void add_metadata(CLI::App& app) {
    cli::add_flag_list(app, "--label", said_.labels, "KEY=VALUE (repeatable)");
    cli::add_flag_list(app, "--annotation", said_.annotations, "KEY=VALUE (repeatable)");
  }

  base::Result<> show(const Value& value) const {
    fmt::print(invocation_.out, "{}", base::json::pretty(value));
    return {};
  }
  /// A part of an answer of several, named by a line that begins with "#".
  base::Result<> show_part(const std::string& name, const Value& value) const {
    fmt::print(invocation_.out, "# {}\n", name);
    return show(value);
  }
  /// GET of a path with the filters of the command line.
  base::Result<> show_filtered(std::string path);
  base::Result<> show_call(const std::string& method, const std::string& path,
                           const std::optional<Value>& body = {}) {
    KL_ASSIGN(const Told told, client_->call(invocation_.context(), method, path, body));
    return show(told.value);
  }
  /// What a cluster polls.
  base::Result<> show_poll(const std::string& what) {
    return show_call("GET", "/api/v2/flux/clusters/" + base::percent_encode(said_.id) + "/" + what);
  }
  base::Result<Value> edit(Family family, const std::string& id,
                           const std::function<base::Result<Value>(const Value&)>& change) {
    return client_->edit(invocation_.context(), family, id, change);
  }
  base::Result<Value> create(Family family, const Value& body, bool keep_existing);
  base::Result<Value> assign(Family family);
  base::Result<Value> unassign(Family family);
  base::Result<> create_component();
  base::Result<> create_namespace();
  base::Result<> patch_component();
  base::Result<> apply();

  const cli::Invocation& invocation_;
  CLI::App app_{"The fleet API: its server, and what can be asked of it.", "fleet"};
  ClientOptions options_;
  std::string read_token_, write_token_;
  Said said_;
  Step chosen_;
  std::unique_ptr<FleetClient> client_;
};

base::Result<Object> pairs_of(const std::vector<std::string>& texts) {
  Object out;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return base::configuration(fmt::format("{}: write KEY=VALUE", text), "usage");
    }
    out.set(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

CLI::App& Commands::command(CLI::App& parent, const char* name, const char* help, Step step) {
  CLI::App* app = parent.add_subcommand(name, help);
  app->callback([this, step = std::move(step)] { chosen_ = step; });
  return *app;
}

base::Result<> Commands::show_filtered(std::string path) {
  KL_ASSIGN(const Object filters, pairs_of(said_.filters));
  char mark = '?';
  for (const auto& [key, value] : filters) {
    path += std::exchange(mark, '&') + key + "=" + base::percent_encode(value.as_string());
  }
  return show_call("GET", path);
}

base::Result<Value> Commands::create(Family family, const Value& body, bool keep_existing) {
  auto made = client_->call(invocation_.context(), "POST", FleetClient::path_of(family), body);
  if (made) return std::move(made->value);
  if (!keep_existing || made.error().reason != "conflict") return made.error();
  KL_ASSIGN(Told known, client_->call(invocation_.context(), "GET",
                                      FleetClient::path_of(family, body.text("id"))));
  for (const auto& [key, wanted] : body.as_object()) {
    const Value* is = known.value.find(key);
    if (is != nullptr && *is == wanted) continue;
    fmt::print(invocation_.err, "{}: is there already and stays as it is, with another {}\n",
               said_.id, key);
  }
  return std::move(known.value);
}

/// Adds the reference at the end, or changes the one that is there.
base::Result<Value> Commands::assign(Family family) {
  return edit(Family::kCluster, said_.cluster, [&](const Value& record) -> base::Result<Value> {
    Object reference;
    reference.set("id", said_.id);
    if (family == Family::kComponent) {
      reference.set("enabled", said_.enabled);
      if (!said_.cluster_oci_tag.empty()) reference.set("oci_tag", said_.cluster_oci_tag);
      if (!said_.cluster_component_path.empty()) {
        reference.set("component_path", said_.cluster_component_path);
      }
    }
    Array list = record.find(references_of(family))->as_array();
    const auto known =
        std::ranges::find_if(list, [&](const Value& one) { return one.text("id") == said_.id; });
    if (known != list.end()) {
      *known = std::move(reference);
    } else {
      list.emplace_back(std::move(reference));
    }
    Object body;
    body.set(std::string(references_of(family)), std::move(list));
    return Value(std::move(body));
  });
}

/// Takes the reference away, and the patches of a component with it.
base::Result<Value> Commands::unassign(Family family) {
  return edit(Family::kCluster, said_.cluster, [&](const Value& record) -> base::Result<Value> {
    Array list = record.find(references_of(family))->as_array();
    const auto gone =
        std::erase_if(list, [&](const Value& one) { return one.text("id") == said_.id; });
    if (gone == 0) {
      return base::not_found(
          fmt::format("cluster {} has no {} {}", said_.cluster, noun_of(family), said_.id));
    }
    Object body;
    body.set(std::string(references_of(family)), std::move(list));
    if (family == Family::kComponent) {
      Value patches = *record.find("patches");
      if (patches.as_object().erase(said_.id)) body.set("patches", std::move(patches));
    }
    return Value(std::move(body));
  });
}

base::Result<> Commands::create_component() {
  Object body;
  body.set("id", said_.id);
  body.set("component_path", said_.component_path);
  body.set("component_version", said_.component_version);
  body.set("cluster_env_enabled", said_.cluster_env_enabled);
  body.set("oci_url", said_.oci_url);
  body.set("oci_tag", said_.oci_tag);
  Array needs;
  for (const std::string& one : said_.depends_on) needs.emplace_back(one);
  body.set("depends_on", std::move(needs));
  KL_ASSIGN(const Value record, create(Family::kComponent, Value(std::move(body)), true));
  if (said_.cluster.empty()) return show(record);
  KL_TRY(show_part("component", record));
  KL_ASSIGN(const Value cluster, assign(Family::kComponent));
  return show_part("cluster", cluster);
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
  auto made =
      client_->call(invocation_.context(), "POST", FleetClient::path_of(Family::kNamespace), whole);
  if (!made && made.error().reason == "conflict") {
    made = client_->call(invocation_.context(), "PUT",
                         FleetClient::path_of(Family::kNamespace, said_.id), whole);
  }
  if (!made) return made.error();
  if (said_.cluster.empty()) return show(made->value);
  KL_TRY(show_part("namespace", made->value));
  KL_ASSIGN(const Value cluster, assign(Family::kNamespace));
  return show_part("cluster", cluster);
}

base::Result<> Commands::patch_component() {
  KL_ASSIGN(const Object set, pairs_of(said_.sets));
  const auto side = [&](const Value& cluster) {
    Object out;
    out.set("environment", cluster.text("environment"));
    const Value* patches = cluster.at_path({"patches", said_.id});
    out.set("component_patches", patches != nullptr ? *patches : Value());
    return out;
  };
  Object told;
  told.set("cluster_id", said_.cluster);
  told.set("component_id", said_.id);
  KL_ASSIGN(const Value after,
            edit(Family::kCluster, said_.cluster, [&](const Value& record) -> base::Result<Value> {
              told.set("before", side(record));
              Value patches = *record.find("patches");
              Value& own = patches.as_object()[said_.id];
              if (!own.is_object()) own = Object{};
              for (const auto& [key, value] : set) own.as_object().set(key, value);
              Object body;
              body.set("patches", std::move(patches));
              return Value(std::move(body));
            }));
  told.set("after", side(after));
  return show(Value(std::move(told)));
}

/// A file of desired records: those that are missing are made, others changed where they differ.
base::Result<> Commands::apply() {
  KL_ASSIGN(const std::string text, base::read_file(said_.file));
  auto wanted = base::yaml::read_one(text);
  if (!wanted) return wanted.error().with_prefix(said_.file);
  std::size_t same = 0;
  // Definitions first: clusters refer to them.
  for (const Family family :
       {Family::kComponent, Family::kNamespace, Family::kRoleBinding, Family::kCluster}) {
    const Value* list = wanted->find(collection_of(family));
    if (list == nullptr) continue;
    if (!list->is_array()) {
      return base::configuration(
          fmt::format("{}: {} must be a list", said_.file, collection_of(family)));
    }
    for (const Value& record : list->as_array()) {
      const std::string id(record.text("id"));
      const auto before =
          client_->call(invocation_.context(), "GET", FleetClient::path_of(family, id));
      if (!before && before.error().reason != "not_found") return before.error();
      KL_ASSIGN(const Told after, before ? client_->call(invocation_.context(), "PUT",
                                                         FleetClient::path_of(family, id), record)
                                         : client_->call(invocation_.context(), "POST",
                                                         FleetClient::path_of(family), record));
      if (before && before->value == after.value) {
        ++same;
        continue;
      }
      fmt::print(invocation_.out, "{} {} {}\n", before ? "changed" : "created", noun_of(family),
                 id);
    }
  }
  fmt::print(invocation_.out, "unchanged: {}\n", same);
  return {};
}

void Commands::declare_family(const std::string& name, Family family) {
  CLI::App& noun =
      *app_.add_subcommand(name, "Records of the family " + std::string(collection_of(family)));
  noun.require_subcommand(1);
  CLI::App& list = command(noun, "list", "All records",
                           [this, family] { return show_filtered(FleetClient::path_of(family)); });
  cli::add_flag_list(list, "--filter", said_.filters,
                     "MEMBER=TEXT, also limit=N and offset=N (repeatable)");
  with_id(command(noun, "get", "A record", [this, family] {
    return show_call("GET", FleetClient::path_of(family, said_.id));
  }));
  CLI::App& remove =
      command(noun, "delete", "Deletes a record and shows it as it was", [this, family] {
        return show_call(
            "DELETE", FleetClient::path_of(family, said_.id) + (said_.force ? "?force=true" : ""));
      });
  with_id(remove).add_flag("--force", said_.force, "A definition that clusters refer to, too");
  if (family == Family::kComponent) declare_components(noun);
  if (family == Family::kNamespace) {
    CLI::App& make = with_id(command(noun, "create", "Makes a namespace, or sets what is given",
                                     [this] { return create_namespace(); }));
    cli::add_flag_value(make, "--cluster", said_.cluster, "Assign it to this cluster as well");
    add_metadata(make);
  }
  if (family != Family::kCluster) declare_references(noun, family);
}

void Commands::declare_references(CLI::App& noun, Family family) {
  CLI::App& add = with_id(command(noun, "assign", "Assigns it to a cluster", [this, family] {
    auto cluster = assign(family);
    return cluster ? show(*cluster) : base::Result<>(cluster.error());
  }));
  CLI::App& take = with_id(command(noun, "unassign", "Takes it from a cluster", [this, family] {
    auto cluster = unassign(family);
    return cluster ? show(*cluster) : base::Result<>(cluster.error());
  }));
  for (CLI::App* app : {&add, &take}) {
    cli::add_flag_value(*app, "--cluster", said_.cluster, "Id of the cluster")->required();
  }
  if (family != Family::kComponent) return;
  add_overrides(add);
}

void Commands::declare_components(CLI::App& noun) {
  CLI::App& make = with_id(command(noun, "create", "Makes a catalog entry; one that is there stays",
                                   [this] { return create_component(); }));
  cli::add_flag_value(make, "--component-path", said_.component_path,
                      "Path in the artifact, or chart name")
      ->required();
  cli::add_flag_value(make, "--component-version", said_.component_version, "Upstream version")
      ->required();
  cli::add_flag_value(make, "--oci-url", said_.oci_url, "Address of the source")->required();
  cli::add_flag_value(make, "--oci-tag", said_.oci_tag, "Tag")->required();
  make.add_flag("--cluster-env-enabled", said_.cluster_env_enabled,
                "Append the environment to the path");
  cli::add_flag_list(make, "--depends-on", said_.depends_on, "Id of a component (repeatable)");
  cli::add_flag_value(make, "--cluster", said_.cluster, "Assign it to this cluster as well");
  add_overrides(make);
  CLI::App& patch = with_id(command(noun, "patch", "Sets patches of a component of a cluster",
                                    [this] { return patch_component(); }));
  cli::add_flag_value(patch, "--cluster", said_.cluster, "Id of the cluster")->required();
  cli::add_flag_list(patch, "--set", said_.sets,
                     "KEY=VALUE (repeatable); readable in the cluster: no passwords")
      ->required();
}

void Commands::declare_others() {
  CLI::App& file = command(app_, "apply", "Makes records as a file of YAML or JSON wants them",
                           [this] { return apply(); });
  cli::add_flag_value(file, "-f,--file", said_.file,
                      "File with the members clusters, platform_components, ...")
      ->required();
  for (const auto& [name, what, help] :
       {std::tuple("poll-components", "platform-components",
                   "Inputs that a cluster polls, by its DNS name"),
        std::tuple("poll-namespaces", "namespaces", "The same for namespaces"),
        std::tuple("poll-rolebindings", "rolebindings", "The same for role bindings")}) {
    with_id(
        command(app_, name, help, [this, what = std::string(what)] { return show_poll(what); }));
  }
  CLI::App& audit = command(app_, "audit", "The audit trail, newest first",
                            [this] { return show_filtered("/audit"); });
  cli::add_flag_list(audit, "--filter", said_.filters,
                     "family, id, actor, since, until, limit, cursor = TEXT (repeatable)");
  command(app_, "tombstones", "Deleted clusters, whose polls are answered with nothing",
          [this] { return show_call("GET", "/tombstones"); });
}

void Commands::declare_demo() {
  CLI::App& demo = *app_.add_subcommand("demo", "The steps of the walk-through");
  demo.require_subcommand(1);
  CLI::App& add = command(demo, "add-namespace", "Makes a namespace and assigns it",
                          [this] { return create_namespace(); });
  add.add_option("cluster", said_.cluster, "Id of the cluster")->required();
  with_id(add);
  add_metadata(add);
  with_id(command(demo, "flux-namespaces", "Namespaces that a cluster polls, by its DNS name",
                  [this] { return show_poll("namespaces"); }));
  CLI::App& patch = command(demo, "patch-component", "Sets patches of a component",
                            [this] { return patch_component(); });
  patch.add_option("cluster", said_.cluster, "Id of the cluster")->required();
  with_id(patch);
  cli::add_flag_list(patch, "--set", said_.sets, "KEY=VALUE (repeatable)")->required();
}

void Commands::declare() {
  const auto from = [&](const char* name, const std::string& otherwise) {
    const auto found = invocation_.env.find(name);
    return found == invocation_.env.end() ? otherwise : found->second;
  };
  options_.url = from("FLUX_API_URL", options_.url);
  read_token_ = from("FLUX_API_TOKEN", "");
  write_token_ = from("FLUX_API_WRITE_TOKEN", "");
  cli::add_flag_value(app_, "--api-url", options_.url, "Address of the server (FLUX_API_URL)");
  cli::add_flag_value(app_, "--api-token", read_token_, "Token for reading (FLUX_API_TOKEN)");
  cli::add_flag_value(app_, "--write-token", write_token_,
                      "Token for writing (FLUX_API_WRITE_TOKEN; default: the one for reading)");
  app_.require_subcommand(1);
  app_.add_subcommand("serve", "The server; see fleet serve --help");
  declare_family("cluster", Family::kCluster);
  declare_family("component", Family::kComponent);
  declare_family("namespace", Family::kNamespace);
  declare_family("rolebinding", Family::kRoleBinding);
  declare_others();
  declare_demo();
}

int Commands::run(const std::vector<std::string>& args) {
  declare();
  if (const auto code = cli::parse_flags(app_, invocation_, args)) return *code;
  if (!chosen_) return cli::kExitFailed;
  if (read_token_.empty()) {
    fmt::print(invocation_.err, "{} fleet: FLUX_API_TOKEN or --api-token must be given\n",
               invocation_.program);
    return cli::kExitFailed;
  }
  options_.read_token = base::Secret(read_token_);
  options_.write_token = base::Secret(write_token_.empty() ? read_token_ : write_token_);
  while (options_.url.ends_with('/')) options_.url.pop_back();
  client_ = std::make_unique<FleetClient>(options_);
  const auto done = chosen_();
  if (done) return cli::kExitOk;
  fmt::print(invocation_.err, "{} fleet: {}\n", invocation_.program, done.error().message);
  return done.error().reason == "usage" ? cli::kExitFailed : cli::kExitPartial;
}

}  // namespace

int run_client(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  return Commands(invocation).run(args);
}

}  // namespace kollect::fleet
