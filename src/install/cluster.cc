#include "install/cluster.h"

#include <fmt/format.h>

#include "api/codec.h"
#include "base/json/document.h"
#include "http/client.h"
#include "kube/kubeconfig.h"

namespace kollect::install {

using base::json::Value;

namespace {

class Taker final : public kube::ListReceiver {
 public:
  Taker(const kube::Resource& resource, std::vector<Value>& into) : into_(into) {
    handler_.item_api_version =
        resource.group.empty() ? resource.version : resource.group + "/" + resource.version;
    handler_.item_kind = resource.kind;
    handler_.on_item = [this](base::json::View item) -> base::Result<> {
      into_.push_back(base::json::to_value(item));
      return {};
    };
    handler_.on_bad_item = [](const base::Error&) {};
  }
  base::Result<> begin() override {
    into_.clear();
    return {};
  }
  base::Result<> page(std::string_view text) override {
    KL_TRY(base::json::walk_list(text, handler_));
    return {};
  }

 private:
  std::vector<Value>& into_;
  base::json::ListHandler handler_;
};

}  // namespace

void add_cluster_flags(CLI::App& app, ClusterFlags& flags, bool namespaced) {
  cli::add_flag_value(app, "--kubeconfig", flags.kubeconfig,
                      "Kubeconfig file; default $KUBECONFIG, then ~/.kube/config, then in-cluster");
  cli::add_flag_value(app, "--context", flags.context, "Context; default: the current one");
  if (!namespaced) return;
  cli::add_flag_value(app, "-n,--namespace", flags.ns, "Namespace; default: the context's");
  app.add_flag("-A,--all-namespaces", flags.all_namespaces, "In all namespaces");
}

base::Result<std::unique_ptr<kube::Client>> open_cluster(const cli::Invocation& invocation,
                                                         const ClusterFlags& flags) {
  KL_ASSIGN(const kube::Kubeconfig config,
            kube::Kubeconfig::load_default(flags.kubeconfig, invocation.env));
  std::vector<std::string> patterns;
  if (!flags.context.empty()) patterns.push_back(flags.context);
  KL_ASSIGN(const kube::ContextSelection selection, kube::select_contexts(config, patterns));
  if (selection.names.size() != 1) return base::configuration("--context must name one context");
  KL_ASSIGN(kube::ClusterConfig cluster, config.resolve(selection.names.front()));
  kube::ClientOptions options;
  options.env = invocation.env;
  options.retries = 1;  // a person waits for the answer
  return std::make_unique<kube::Client>(std::make_shared<http::Client>(), std::move(cluster),
                                        std::move(options), nullptr);
}

std::string namespace_of(const kube::Client& client, const ClusterFlags& flags) {
  if (flags.all_namespaces) return {};
  if (!flags.ns.empty()) return flags.ns;
  const std::string& own = client.config().default_namespace;
  return own.empty() ? "default" : own;
}

kube::Resource our_resource(const std::string& kind) {
  const api::KindInfo* info = api::find_kind(kind);
  return resource(api::kGroup, api::kVersion, kind, info->plural, info->namespaced);
}

kube::Resource resource(std::string group, std::string version, std::string kind,
                        std::string plural, bool namespaced) {
  return {.group = std::move(group),
          .version = std::move(version),
          .kind = std::move(kind),
          .plural = std::move(plural),
          .namespaced = namespaced,
          .verbs = {"get", "list", "watch", "patch"}};
}

base::Result<std::vector<Value>> list_all(kube::Client& client, const base::Context& context,
                                          const kube::Resource& resource, const std::string& ns,
                                          const std::string& label_selector) {
  std::vector<Value> found;
  Taker taker(resource, found);
  KL_TRY(client.list(context,
                     {.resource = resource,
                      .ns = ns,
                      .label_selector = label_selector,
                      .field_selector = {},
                      .retry_first = false},
                     taker));
  return found;
}

base::Result<std::vector<Value>> list_ours(kube::Client& client, const base::Context& context,
                                           const std::string& kind, const std::string& ns) {
  const kube::Resource resource = our_resource(kind);
  return list_all(client, context, resource, resource.namespaced ? ns : std::string());
}

int failed(const cli::Invocation& invocation, const char* command, const base::Error& error) {
  fmt::print(invocation.err, "{} {}: {}\n", invocation.program, command, error.message);
  return invocation.exit_code(cli::kExitFailed);
}

}  // namespace kollect::install
