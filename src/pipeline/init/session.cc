#include "pipeline/init/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/files.h"
#include "base/json/document.h"
#include "base/strings.h"
#include "select/label_selector.h"

namespace kollect::pipeline::init {

namespace fs = std::filesystem;

base::Result<Cluster> open_cluster(const InitOptions& options,
                                   const std::map<std::string, std::string>& env,
                                   const base::Logger& log) {
  KL_ASSIGN(kube::Kubeconfig config, kube::Kubeconfig::load_default(options.kubeconfig, env));
  std::string name = options.context.empty() ? config.current_context() : options.context;
  if (name.empty()) {
    return base::configuration("the kubeconfig has no current context; name one with --context");
  }
  const auto names = config.context_names();
  if (std::ranges::find(names, name) == names.end()) {
    const auto near = base::near_names(name, names);
    return base::configuration(
        fmt::format("context \"{}\" is not in the kubeconfig{}", name,
                    near.empty() ? "" : "; did you mean " + base::join(near, ", ") + "?"));
  }
  KL_ASSIGN(kube::ClusterConfig resolved, config.resolve(name));
  Cluster cluster;
  cluster.context = name;
  cluster.server = resolved.server;
  kube::ClientOptions client_options;
  client_options.env = env;
  cluster.client = std::make_unique<kube::Client>(
      std::make_shared<http::Client>(), std::move(resolved), std::move(client_options), &log);
  return cluster;
}

std::string OfferedKind::label() const {
  const std::string version =
      resource.group.empty() ? resource.version : resource.group + "/" + resource.version;
  return fmt::format("{} ({}){}", resource.kind, version,
                     preferred ? "" : " - not the preferred version");
}

base::Result<std::vector<OfferedKind>> offered_kinds(const base::Context& context,
                                                     const kube::Client& client,
                                                     const base::Logger& log) {
  KL_ASSIGN(kube::Discovery discovery, const_cast<kube::Client&>(client).discover(context));
  for (const auto& [group, error] : discovery.failed_groups) {
    log.warn("an API group could not be asked", {{"group", group}, {"error", error.message}});
  }
  std::vector<OfferedKind> kinds;
  for (const kube::Resource& resource : discovery.resources) {
    if (!resource.can("list") || resource.plural.find('/') != std::string::npos) continue;
    const auto versions = discovery.group_versions.find(resource.group);
    const bool preferred = versions == discovery.group_versions.end() || versions->second.empty() ||
                           versions->second.front() == resource.version;
    kinds.push_back({resource, preferred});
  }
  // A kind that the preferred version does not serve is at its best version all the same.
  for (OfferedKind& kind : kinds) {
    if (kind.preferred) continue;
    kind.preferred = std::ranges::none_of(kinds, [&](const OfferedKind& other) {
      return other.preferred && other.resource.group == kind.resource.group &&
             other.resource.kind == kind.resource.kind;
    });
  }
  std::ranges::sort(kinds, [](const OfferedKind& a, const OfferedKind& b) {
    return std::tuple(a.resource.kind, !a.preferred, a.resource.group, a.resource.version) <
           std::tuple(b.resource.kind, !b.preferred, b.resource.group, b.resource.version);
  });
  if (kinds.empty()) return base::configuration("the server offers no kind that can be listed");
  return kinds;
}

namespace {

/// Collects identity and labels of each object of a list, up to a limit.
class IdentityReceiver final : public kube::ListReceiver {
 public:
  struct Item {
    Candidate id;
    std::map<std::string, std::string> labels;
  };
  explicit IdentityReceiver(std::function<bool(const Item&)> keep, std::size_t most)
      : keep_(std::move(keep)), most_(most) {}

  base::Result<> begin() override {
    items_.clear();
    return {};
  }
  base::Result<> page(std::string_view json_text) override {
    KL_TRY(base::json::walk_list(json_text,
                                 {[this](base::json::View object) { return add(object); }, {}}));
    return {};
  }
  std::vector<Item> take() { return std::move(items_); }

 private:
  base::Result<> add(base::json::View object) {
    if (items_.size() >= most_) return {};
    Item item;
    if (auto metadata = object.find("metadata")) {
      item.id = {std::string(metadata->text("namespace")), std::string(metadata->text("name"))};
      if (auto labels = metadata->find("labels")) {
        for (const auto& label : labels->members()) {
          if (label.value.is_string()) item.labels.emplace(label.key, label.value.as_string());
        }
      }
    }
    if (!keep_ || keep_(item)) items_.push_back(std::move(item));
    return {};
  }

  std::function<bool(const Item&)> keep_;
  std::size_t most_;
  std::vector<Item> items_;
};

}  // namespace

base::Result<std::vector<NamespaceInfo>> list_namespaces(const base::Context& context,
                                                         kube::Client& client) {
  kube::ListQuery query;
  query.resource.version = "v1";
  query.resource.kind = "Namespace";
  query.resource.plural = "namespaces";
  IdentityReceiver receiver({}, SIZE_MAX);
  KL_TRY(client.list(context, query, receiver));
  std::vector<NamespaceInfo> namespaces;
  for (auto& item : receiver.take()) namespaces.push_back({item.id.name, std::move(item.labels)});
  std::ranges::sort(namespaces, {}, &NamespaceInfo::name);
  return namespaces;
}

base::Result<std::vector<Candidate>> candidates(const base::Context& context, kube::Client& client,
                                                const kube::Resource& resource, const Plan& plan,
                                                std::size_t most) {
  kube::ListQuery query;
  query.resource = resource;
  query.page_size = 100;
  if (plan.included_namespaces.size() == 1) query.ns = plan.included_namespaces.front();
  if (plan.object_selector) {
    KL_ASSIGN(auto selector, select::LabelSelector::compile(*plan.object_selector));
    query.label_selector = selector.to_query();
  }
  std::vector<std::string> wanted = plan.included_namespaces;
  if (plan.namespace_selector) {
    KL_ASSIGN(auto selector, select::LabelSelector::compile(*plan.namespace_selector));
    KL_ASSIGN(auto namespaces, list_namespaces(context, client));
    for (const auto& ns : namespaces) {
      if (selector.matches(ns.labels)) wanted.push_back(ns.name);
    }
    if (wanted.empty()) return std::vector<Candidate>{};
  }
  auto keep = [&](const IdentityReceiver::Item& item) {
    const bool named =
        plan.names.empty() || std::ranges::find(plan.names, item.id.name) != plan.names.end();
    const bool placed = wanted.empty() || item.id.ns.empty() ||
                        std::ranges::find(wanted, item.id.ns) != wanted.end();
    return named && placed;
  };
  IdentityReceiver receiver(keep, most);
  KL_TRY(client.list(context, query, receiver));
  std::vector<Candidate> found;
  for (auto& item : receiver.take()) found.push_back(std::move(item.id));
  return found;
}

namespace {

/// Puts back what was there before a failed write.
void restore(const std::string& path, const base::Result<std::string>& before) {
  std::error_code ignored;
  if (before) {
    if (!base::write_file_atomic(path, *before, 0600)) fs::remove(path, ignored);
  } else {
    fs::remove(path, ignored);
  }
}

}  // namespace

base::Result<> write_all(const std::string& folder, const std::vector<Output>& outputs) {
  std::error_code error;
  const bool existed = fs::exists(folder, error);
  fs::create_directories(folder, error);
  if (error)
    return base::configuration(fmt::format("cannot create folder {}: {}", folder, error.message()));
  if (!existed) {
    fs::permissions(folder, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec,
                    error);
  }
  std::vector<std::pair<std::string, base::Result<std::string>>> done;
  for (const Output& output : outputs) {
    auto before = base::read_file(output.path);
    auto written = base::write_file_atomic(output.path, output.content, 0600);
    if (!written) {
      for (const auto& [path, old] : done) restore(path, old);
      return written.error();
    }
    done.emplace_back(output.path, std::move(before));
  }
  return {};
}

std::string next_steps(const InitOptions& options) {
  std::string cluster;
  if (!options.kubeconfig.empty()) cluster += " --kubeconfig " + options.kubeconfig;
  if (!options.context.empty()) cluster += " --context " + options.context;
  const std::string collect = "kollect collect --config " + options.output_dir + cluster;
  return fmt::format(
      "Try it:\n  {0} --output -\n  {0} --output ./inventory\nLater, for the operator:\n  kubectl "
      "apply -f {1}\n",
      collect, options.output_dir);
}

}  // namespace kollect::pipeline::init
