#include "install/cluster.h"

#include "http/client.h"
#include "kube/kubeconfig.h"

namespace kollect::install {

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

}  // namespace kollect::install
