#include "manager/operator_command.h"

#include <condition_variable>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "http/client.h"
#include "kube/client.h"
#include "kube/kubeconfig.h"
#include "manager/manager.h"
#include "manager/operator_flags.h"
#include "manager/probes.h"

namespace kollect::manager {
namespace {

constexpr int kFailed = 1;

base::Result<kube::ClusterConfig> cluster_of(const cli::Invocation& invocation,
                                             const OperatorFlags& flags) {
  KL_ASSIGN(const kube::Kubeconfig config,
            kube::Kubeconfig::load_default(flags.kubeconfig, invocation.env));
  std::vector<std::string> patterns;
  if (!flags.context.empty()) patterns.push_back(flags.context);
  KL_ASSIGN(const kube::ContextSelection selection, kube::select_contexts(config, patterns));
  if (selection.names.size() != 1) {
    return base::configuration("--context must name one context");
  }
  return config.resolve(selection.names.front());
}

/// Waits for the stop signal without a clock.
void wait_for(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait(lock, stop, [] { return false; });
}

}  // namespace

int run_operator(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  OperatorFlags flags;
  if (const auto code = read_operator_flags(invocation, args, flags)) return *code;
  auto redactor = std::make_shared<base::Redactor>();
  const base::Logger log(
      {.level = flags.log_level, .format = flags.log_format, .out = invocation.err},
      *invocation.clock, redactor);
  auto cluster = cluster_of(invocation, flags);
  if (!cluster) {
    log.error(cluster.error().message);
    return kFailed;
  }
  kube::ClientOptions client_options;
  client_options.env = invocation.env;
  client_options.user_agent = "kollect-operator";
  kube::Client client(std::make_shared<http::Client>(), std::move(*cluster),
                      std::move(client_options), &log);
  Manager manager(client, *invocation.clock, &log, redactor, std::move(flags.manager));
  std::unique_ptr<http::Server> probes;
  if (flags.health_address != "0" && !flags.health_address.empty()) {
    auto served = serve_probes(
        flags.health_address, [&] { return manager.health(); }, &log);
    if (!served) {
      log.error(served.error().message);
      return kFailed;
    }
    probes = std::move(*served);
  }
  log.info("operator starts", {{"server", client.config().server}});
  manager.start();
  wait_for(invocation.stop);
  log.info("operator stops");
  manager.stop();
  if (probes) probes->stop(std::chrono::seconds(1));
  return 0;
}

}  // namespace kollect::manager
