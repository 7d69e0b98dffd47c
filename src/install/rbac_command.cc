// `kollect rbac`
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/files.h"
#include "base/strings.h"
#include "base/yaml/read.h"
#include "cli/flags.h"
#include "install/cluster.h"
#include "install/commands.h"
#include "install/objects.h"
#include "install/rights_yaml.h"
#include "install/state.h"

namespace kollect::install {

using base::json::Value;

namespace {

constexpr std::size_t kMaxValuesBytes = 4U << 20U;

struct Options {
  std::vector<std::string> files;
  std::string values;
  std::string service_account = "kollect-system/kollect-controller-manager";
  std::string name;
  std::string watch_namespaces;
  std::string default_included;
  std::string default_excluded;
  bool tenant = false;
  bool no_leader_election = false;
  std::string lease = kDefaultLease;
  std::string lease_namespace;
  std::size_t shards = 0;
  bool self_signed = false;
  std::string webhook_secret = kDefaultWebhookSecret;
  std::string webhook_configuration = kDefaultWebhookConfiguration;
  bool metrics = false;
  bool read_api = false;
  bool all_secrets = false;
  bool collection_only = false;
  std::string output = "manifests";
  bool discover = false;
  ClusterFlags cluster;
};

std::vector<std::string> texts(const Value& values, std::initializer_list<std::string_view> path) {
  std::vector<std::string> found;
  for (const Value& one : list_at(values, path)) {
    if (one.is_string()) found.push_back(one.as_string());
  }
  return found;
}

/// What a values file of the chart says: the mode, and the files with profiles and targets, which
/// are relative to it.
base::Result<> read_values(const std::string& path, Mode& mode, std::vector<std::string>& files) {
  KL_ASSIGN(const std::string text, base::read_file(path, kMaxValuesBytes));
  auto values = base::yaml::read_one(text);
  if (!values) return base::configuration(fmt::format("{}: {}", path, values.error().message));
  const auto is_true = [&](std::initializer_list<std::string_view> keys) {
    const Value* found = values->at_path(keys);
    return found != nullptr && found->is_bool() && found->as_bool();
  };
  mode.tenant = mode.tenant || is_true({"tenantMode"});
  if (const Value* shards = values->find("shards");
      shards != nullptr && shards->is_int() && shards->as_int() > 0) {
    mode.shards = static_cast<std::size_t>(shards->as_int());
  }
  const auto add = [&](const char* key, std::vector<std::string>& into) {
    for (std::string& one : texts(*values, {key})) into.push_back(std::move(one));
  };
  add("watchNamespaces", mode.watch_namespaces);
  add("defaultIncludedNamespaces", mode.default_included);
  add("defaultExcludedNamespaces", mode.default_excluded);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const std::string& file : texts(*values, {"collector", "profiles"})) {
    files.push_back((folder / file).string());
  }
  return {};
}

base::Result<Grantee> grantee_of(const Options& options) {
  const auto parts = base::split(options.service_account, '/');
  if (parts.size() != 2 || parts[0].empty() || parts[1].empty()) {
    return base::configuration("--service-account takes NAMESPACE/NAME");
  }
  // What is collected comes beside the operator's own role, which it must not take the place of.
  const char* usual = options.collection_only ? "kollect-collector" : "kollect-manager";
  return Grantee{.role = options.name.empty() ? usual : options.name,
                 .ns = std::string(parts[0]),
                 .service_account = std::string(parts[1])};
}

struct Answer {
  std::string text;
  std::vector<std::string> notes;
};

base::Result<Answer> answer(const cli::Invocation& invocation, Options options) {
  if (options.output != "manifests" && options.output != "values") {
    return base::configuration("--output takes manifests or values");
  }
  KL_ASSIGN(const Grantee grantee, grantee_of(options));
  Mode mode{.tenant = options.tenant,
            .watch_namespaces = comma_list(options.watch_namespaces),
            .default_included = comma_list(options.default_included),
            .default_excluded = comma_list(options.default_excluded),
            .own_namespace = grantee.ns,
            .lease = options.no_leader_election ? std::string() : options.lease,
            .lease_namespace = options.lease_namespace,
            .shards = options.shards,
            .webhook_secret = options.self_signed ? options.webhook_secret : std::string(),
            .webhook_configuration = options.webhook_configuration,
            .metrics = options.metrics,
            .read_api = options.read_api,
            .all_secrets = options.all_secrets};
  if (!options.values.empty()) KL_TRY(read_values(options.values, mode, options.files));
  if (mode.tenant && mode.watch_namespaces.empty()) mode.watch_namespaces = {grantee.ns};
  std::string stdin_text;
  if (std::ranges::find(options.files, "-") != options.files.end()) {
    KL_ASSIGN(stdin_text, invocation.read_in());
  }
  KL_ASSIGN(Files files, read_files(options.files, stdin_text));
  if (options.discover) {
    KL_ASSIGN(auto client, open_cluster(invocation, options.cluster));
    KL_ASSIGN(const kube::Discovery served, client->discover(invocation.context()));
    files.definitions.insert(files.definitions.end(), served.resources.begin(),
                             served.resources.end());
  }
  const Namer namer = [&](const api::GroupVersionKind& kind) {
    return find_resource(files.definitions, kind);
  };
  Answer made;
  Rights rights = secret_rights(files.objects, SecretUse::kReadAndWatch);
  for (const TargetRights& target : collection_rights(files.objects, mode, namer)) {
    if (!target.rights) return target.rights.error().with_prefix(target.title);
    if (target.rights->empty()) {
      made.notes.push_back(target.title + " reads nothing: no namespace is left to it");
    }
    rights.add(*target.rights);
  }
  if (!options.collection_only && options.output == "manifests") rights.add(own_rights(mode));
  rights.simplify();
  made.text =
      options.output == "values" ? rights_values(rights) : rights_manifests(rights, grantee);
  return made;
}

}  // namespace

int run_rbac_command(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  Options o;
  CLI::App app(
      "Prints the roles that an operator needs, and nothing beyond: for itself, for the objects "
      "that the targets in FILES select, for the Secrets that the sinks in FILES name. Without "
      "targets, profiles count as if all of their kinds were read.",
      "rbac");
  app.add_option("files", o.files, "Files, folders or - with profiles, targets, scopes and sinks");
  cli::add_flag_value(app, "--values", o.values,
                      "Values file of the chart: its mode, and the files of collector.profiles");
  cli::add_flag_value(app, "--service-account", o.service_account, "NAMESPACE/NAME of the operator")
      ->capture_default_str();
  cli::add_flag_value(app, "--name", o.name,
                      "Name of roles and bindings; default: kollect-manager, with "
                      "--collection-only kollect-collector");
  cli::add_flag_value(app, "--watch-namespaces", o.watch_namespaces, "As the operator's flag");
  cli::add_flag_value(app, "--default-included-namespaces", o.default_included,
                      "As the operator's flag");
  cli::add_flag_value(app, "--default-excluded-namespaces", o.default_excluded,
                      "As the operator's flag");
  app.add_flag("--tenant-mode", o.tenant, "Roles in namespaces only");
  app.add_flag("--no-leader-election", o.no_leader_election, "Without rights on Leases");
  cli::add_flag_value(app, "--leader-elect-id", o.lease, "As the operator's flag")
      ->capture_default_str();
  cli::add_flag_value(app, "--leader-elect-namespace", o.lease_namespace, "As the operator's flag");
  cli::add_flag_value(app, "--shards", o.shards, "As the operator's flag")
      ->check(CLI::Range(0, 64));
  app.add_flag("--webhook-self-signed", o.self_signed, "With rights on its own certificate");
  cli::add_flag_value(app, "--webhook-secret", o.webhook_secret, "As the operator's flag")
      ->capture_default_str();
  cli::add_flag_value(app, "--webhook-configuration", o.webhook_configuration,
                      "As the operator's flag")
      ->capture_default_str();
  app.add_flag("--metrics", o.metrics, "With the right to ask who may read its metrics");
  app.add_flag("--read-api", o.read_api, "With the right to ask who may read its inventories");
  app.add_flag("--all-secrets", o.all_secrets, "Every Secret, not only those that sinks name");
  app.add_flag("--collection-only", o.collection_only, "Without what the operator itself needs");
  cli::add_flag_value(app, "--output", o.output,
                      "manifests, or values: of the chart, what is collected and Secrets alone")
      ->capture_default_str();
  app.add_flag("--discover", o.discover, "Ask a cluster for the resources of kinds");
  add_cluster_flags(app, o.cluster, false);
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  const auto made = answer(invocation, o);
  if (!made) {
    fmt::print(invocation.err, "{} rbac: {}\n", invocation.program, made.error().message);
    return invocation.exit_code(cli::kExitFailed);
  }
  for (const std::string& note : made->notes) fmt::print(invocation.err, "warning: {}\n", note);
  fmt::print(invocation.out, "{}", made->text);
  return std::fflush(invocation.out) == 0 ? cli::kExitOk : cli::kExitFailed;
}

}  // namespace kollect::install
