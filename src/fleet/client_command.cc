#include "fleet/client_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "fleet/client_commands.h"
#include "fleet/client_output.h"

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

base::Error usage(std::string message) {
  return base::configuration(std::move(message), "usage");
}

base::Result<Object> pairs_of(const std::vector<std::string>& texts) {
  Object out;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return usage(fmt::format("{}: write KEY=VALUE", text));
    }
    out.set(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

CLI::App& Commands::noun(CLI::App& parent, const std::string& name, const std::string& help) {
  CLI::App* app = parent.add_subcommand(name, help);
  app->require_subcommand(1);
  app->fallthrough();
  return *app;
}

CLI::App& Commands::command(CLI::App& parent, const std::string& name, const std::string& help,
                            Step step) {
  CLI::App* app = parent.add_subcommand(name, help);
  app->fallthrough();
  app->callback([this, step = std::move(step)] { chosen_ = step; });
  return *app;
}

CLI::App& Commands::with_id(CLI::App& app) {
  app.add_option("id", said_.id, "Id")->required();
  return app;
}

void Commands::add_write_flags(CLI::App& app, bool if_match) {
  app.add_flag("--dry-run", said_.dry_run, "Show what would change, and change nothing");
  if (!if_match) return;
  cli::add_flag_value(app, "--if-match", said_.if_match,
                      "Only if the record (of parts: the cluster) still has this version");
}

base::Result<> Commands::show(const Value& value) const {
  fmt::print(invocation_.out, "{}", base::json::pretty(value));
  return {};
}

/// A part of an answer of several, named by a line that begins with "#".
base::Result<> Commands::show_part(const std::string& name, const Value& value) const {
  fmt::print(invocation_.out, "# {}\n", name);
  return show(value);
}

void Commands::warn(const Told& told) const {
  for (const std::string& warning : told.warnings) {
    fmt::print(invocation_.err, "warning: {}\n", warning);
  }
}

base::Result<Told> Commands::call(const std::string& method, const std::string& path,
                                  const std::optional<Value>& body, const std::string& if_match) {
  auto told = client_->call(invocation_.context(), method, path, body, if_match);
  if (told) warn(*told);
  return told;
}

base::Result<> Commands::show_call(const std::string& method, const std::string& path,
                                   const std::optional<Value>& body) {
  KL_ASSIGN(const Told told, call(method, path, body));
  return show(told.value);
}

/// What a cluster polls.
base::Result<> Commands::show_poll(const std::string& what) {
  return show_call("GET", "/api/v2/flux/clusters/" + base::percent_encode(said_.id) + "/" + what);
}

namespace {

/// By what a list can be asked for. The server passes over anything else in silence and answers
/// with the whole list, so that a misspelt name would look like an answer.
std::vector<std::string> filters_of(std::string_view list) {
  if (list == "audit") {
    return {"family", "id", "actor", "batch", "since", "until", "limit", "cursor"};
  }
  if (list == "rollouts") return {"limit", "cursor"};
  std::vector<std::string> names;
  if (list == "clusters") names = {"cluster_dns", "environment"};
  if (list == "platform_components") names = {"component_version"};
  names.insert(names.end(), {"limit", "offset", "cursor", "shard"});
  return names;
}

std::string filter_help(std::string_view list) {
  return "KEY=TEXT (repeatable); keys: " + base::join(filters_of(list), ", ");
}

}  // namespace

base::Result<std::string> Commands::filtered(std::string_view list) const {
  KL_ASSIGN(const Object filters, pairs_of(said_.filters));
  const std::vector<std::string> known = filters_of(list);
  std::string path = fmt::format("/{}", list);
  char mark = '?';
  for (const auto& [key, value] : filters) {
    if (std::ranges::find(known, key) == known.end()) {
      const auto near = base::near_names(key, known);
      return usage(
          fmt::format("--filter: there is no key \"{}\"; {} {}", key,
                      near.empty() ? "keys are" : "did you mean",
                      base::join(near.empty() ? known : near, ", ") + (near.empty() ? "" : "?")));
    }
    path += std::exchange(mark, '&') + key + "=" + base::percent_encode(value.as_string());
  }
  return path;
}

base::Result<> Commands::show_records(Family family) {
  KL_ASSIGN(const std::string path, filtered(collection_of(family)));
  KL_ASSIGN(const Told told, call("GET", path));
  if (!wants_table() || !told.value.is_array()) return show(told.value);
  fmt::print(invocation_.out, "{}", table(columns_of(family), told.value.as_array()));
  return {};
}

base::Result<> Commands::show_list(const std::string& name) {
  KL_ASSIGN(const std::string path, filtered(name));
  KL_ASSIGN(const Told told, call("GET", path));
  const Value* list = &told.value;
  for (const char* member : {"entries", "rollouts", "unknown"}) {
    if (const Value* found = told.value.find(member)) list = found;
  }
  if (!wants_table() || !list->is_array()) return show(told.value);
  fmt::print(invocation_.out, "{}", table(columns_of(name), list->as_array()));
  const Value* cursor = told.value.find("cursor");
  if (cursor != nullptr && !cursor->is_null()) {
    fmt::print(invocation_.err, "there are more: --filter cursor={}\n",
               base::json::compact(*cursor));
  }
  return {};
}

base::Result<> Commands::show_record(Family family) {
  KL_ASSIGN(const Told told, call("GET", FleetClient::path_of(family, said_.id)));
  if (said_.version_only) {
    std::string version = told.etag;
    std::erase(version, '"');
    fmt::print(invocation_.out, "{}\n", version);
    return {};
  }
  if (said_.output != "table") return show(told.value);
  fmt::print(invocation_.out, "{}", table(columns_of(family), Array{told.value}));
  return {};
}

base::Result<std::string> Commands::if_match() const {
  if (said_.if_match.empty()) return std::string();
  std::string version = said_.if_match;
  std::erase(version, '"');
  if (version.empty() || version.find_first_not_of("0123456789") != std::string::npos) {
    return usage("--if-match: must be a version, a number");
  }
  return "\"" + version + "\"";
}

void Commands::declare_family(const std::string& name, Family family) {
  CLI::App& records =
      noun(app_, name, "Records of the family " + std::string(collection_of(family)));
  CLI::App& list =
      command(records, "list", "All records", [this, family] { return show_records(family); });
  cli::add_flag_list(list, "--filter", said_.filters, filter_help(collection_of(family)));
  CLI::App& get =
      with_id(command(records, "get", "A record", [this, family] { return show_record(family); }));
  get.add_flag("--version-only", said_.version_only, "Its version alone, for --if-match");
  CLI::App& remove_one =
      with_id(command(records, "delete", "Deletes a record and shows it as it was",
                      [this, family] { return remove(family); }));
  remove_one.add_flag("--force", said_.force, "A definition that clusters refer to, too");
  add_write_flags(remove_one);
  if (family == Family::kCluster) declare_clusters(records);
  if (family == Family::kComponent) declare_components(records);
  if (family == Family::kNamespace) declare_namespaces(records);
  if (family == Family::kRoleBinding) declare_role_bindings(records);
  if (family != Family::kCluster) declare_references(records, family);
}

void Commands::declare_others() {
  for (const auto& [name, what, help] :
       {std::tuple("poll-components", "platform-components",
                   "Inputs that a cluster polls, by its DNS name"),
        std::tuple("poll-namespaces", "namespaces", "The same for namespaces"),
        std::tuple("poll-rolebindings", "rolebindings", "The same for role bindings")}) {
    with_id(
        command(app_, name, help, [this, what = std::string(what)] { return show_poll(what); }));
  }
  CLI::App& audit = command(app_, "audit", "The audit trail, newest first",
                            [this] { return show_list("audit"); });
  cli::add_flag_list(audit, "--filter", said_.filters, filter_help("audit"));
  add_drift_flags(
      command(app_, "drift", "What clusters have against what they should have",
              [this] { return show_drift(invocation_, *client_, drift_, wants_table()); }),
      drift_);
  command(app_, "tombstones", "Deleted clusters, whose polls are answered with nothing",
          [this] { return show_list("tombstones"); });
  command(app_, "unknown-polls", "Names that were polled and that nobody registered",
          [this] { return show_list("unknown_polls"); });
}

void Commands::declare_demo() {
  CLI::App& demo = noun(app_, "demo", "The steps of the walk-through");
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
  cli::add_flag_value(app_, "-o,--output", said_.output,
                      "table (lists, and what a batch changes) or json")
      ->check(CLI::IsMember({"table", "json"}));
  app_.require_subcommand(1);
  app_.add_subcommand("serve", "The server; see fleet serve --help");
  app_.add_subcommand("token", "Tokens for the server's file; see fleet token --help");
  declare_family("cluster", Family::kCluster);
  declare_family("component", Family::kComponent);
  declare_family("namespace", Family::kNamespace);
  declare_family("rolebinding", Family::kRoleBinding);
  declare_rollouts();
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
  if (!options_.url.starts_with("http://") && !options_.url.starts_with("https://")) {
    fmt::print(invocation_.err,
               "{} fleet: --api-url (FLUX_API_URL): write https://HOST or http://HOST:PORT\n",
               invocation_.program);
    return cli::kExitFailed;
  }
  client_ = std::make_unique<FleetClient>(options_);
  const auto done = chosen_();
  if (done) return cli::kExitOk;
  fmt::print(invocation_.err, "{} fleet: {}\n", invocation_.program, done.error().message);
  return done.error().reason == "usage" ? cli::kExitFailed : cli::kExitPartial;
}

int run_client(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  return Commands(invocation).run(args);
}

}  // namespace kollect::fleet
