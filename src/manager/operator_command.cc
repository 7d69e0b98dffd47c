#include "manager/operator_command.h"

#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "cli/program.h"
#include "http/client.h"
#include "kube/client.h"
#include "kube/kubeconfig.h"
#include "manager/leader/elector.h"
#include "manager/leader/fence.h"
#include "manager/manager.h"
#include "manager/operator_flags.h"
#include "manager/probes.h"
#include "manager/read_api/server.h"
#include "manager/shards/handover.h"
#include "manager/shards/shards.h"
#include "manager/telemetry/metrics_server.h"
#include "manager/webhooks.h"
#include "metrics/process.h"
#include "profiling/server.h"

namespace kollect::manager {
namespace {

constexpr int kFailed = 1;
/// A lease that the server does not take back in time runs out by itself.
constexpr base::Duration kReleaseLimit = std::chrono::seconds(5);

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

/// Why the operator ends.
class End {
 public:
  void lost(const std::string& why) {
    {
      const std::scoped_lock lock(mutex_);
      lost_ = why;
    }
    changed_.notify_all();
  }
  /// Waits for the stop signal or a lost lease; without a clock.
  void wait(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return lost_.has_value(); });
  }
  [[nodiscard]] std::optional<std::string> why_lost() const {
    const std::scoped_lock lock(mutex_);
    return lost_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<std::string> lost_;
};

ElectorOptions elector_options(const OperatorFlags& flags, const kube::ClusterConfig& cluster) {
  std::string ns =
      flags.lease_namespace.empty() ? cluster.default_namespace : flags.lease_namespace;
  return {.ns = ns.empty() ? "default" : std::move(ns),
          .name = flags.lease_name,
          .identity = new_identity(),
          .times = flags.election};
}

kube::ClientOptions client_options(const cli::Invocation& invocation) {
  kube::ClientOptions options;
  options.env = invocation.env;
  options.user_agent = "kollect-operator";
  return options;
}

ShardOptions shard_options(const OperatorFlags& flags, const kube::ClusterConfig& cluster) {
  ElectorOptions lease = elector_options(flags, cluster);
  return {.parts = flags.manager.shards,
          .ns = std::move(lease.ns),
          .id = std::move(lease.name),
          .identity = std::move(lease.identity),
          .times = lease.times,
          .drain = flags.manager.drain};
}

/// The parts of the manager's work, as the leases say.
ShardHooks hooks_of(Manager& manager) {
  Handover& handover = manager.handover();
  return {.refresh = [&handover] { return handover.refresh(); },
          .open = [&handover](std::size_t part) { handover.open(part); },
          .close = [&handover](const std::set<std::size_t>& parts,
                               base::Duration grace) { handover.close(parts, grace); },
          .last_resort = [] { std::_Exit(kFailed); }};
}

/// What is not the manager's: the process, and whether it leads or has a part.
void add_own_metrics(metrics::Registry& registry, const cli::Invocation& invocation,
                     const OperatorFlags& flags, const Elector* elector, const Shards* shards) {
  metrics::add_process_metrics(registry, {.version = cli::version(), .commit = cli::commit()},
                               *invocation.clock);
  if (shards != nullptr) {
    registry.on_page([shards](metrics::Page& page) {
      const ShardStatus status = shards->status();
      page.gauge("kollect_shards", "Parts of the work, of all replicas.", {},
                 static_cast<double>(status.parts));
      page.gauge("kollect_shards_held", "Parts of the work that this process has.", {},
                 static_cast<double>(status.held.size()));
      page.gauge("kollect_shards_replicas", "Replicas that this process knows to take part.", {},
                 static_cast<double>(status.members));
    });
  }
  if (elector == nullptr) return;
  registry.on_page([elector, name = flags.lease_name](metrics::Page& page) {
    const bool leads = elector->status().state == Election::State::kLeading;
    page.gauge("leader_election_master_status", "1: this process holds the lease.",
               {{"name", name}}, leads ? 1 : 0);
  });
}

/// Why the read API cannot answer here; empty: it can. The rows are where the work is done.
std::string why_closed(const Manager& manager, const Elector* elector, const Shards* shards) {
  if (elector != nullptr && elector->status().state != Election::State::kLeading) {
    return "this replica does not lead; the one that does answers";
  }
  if (shards != nullptr) {
    const ShardStatus status = shards->status();
    if (status.held.size() < status.parts) {
      return "the rows are shared by several replicas (--shards), and none has all of them: read "
             "a database sink with kollect serve";
    }
  }
  const ManagerHealth health = manager.health();
  if (health.stopping) return "this replica stops";
  return health.caches_synced ? "" : "the kinds of kollect.dev are not read yet";
}

/// Everything from the first thread to the last.
int run(const cli::Invocation& invocation, OperatorFlags flags, const kube::ClusterConfig& cluster,
        const base::Logger& log, const std::shared_ptr<base::Redactor>& redactor) {
  const base::Clock& clock = *invocation.clock;
  kube::Client client(std::make_shared<http::Client>(), cluster, client_options(invocation), &log);
  Fence fence(clock);
  const admission::Settings admission_settings = settings_of(flags.manager);
  kube::Client lease_client(std::make_shared<http::Client>(), cluster, client_options(invocation),
                            &log);
  std::unique_ptr<Shards> shards;
  if (flags.manager.shards > 0) {
    shards = std::make_unique<Shards>(lease_client, clock, &log, shard_options(flags, cluster));
  }
  Manager manager(client, clock, &log, redactor, std::move(flags.manager),
                  shards ? static_cast<const Fences&>(*shards) : fence);
  End end;
  std::unique_ptr<Elector> elector;
  if (flags.leader_elect) {
    elector = std::make_unique<Elector>(lease_client, clock, &log, elector_options(flags, cluster),
                                        fence);
  }
  std::unique_ptr<Webhooks> webhooks;
  if (flags.webhooks.enabled) {
    auto served = Webhooks::start(flags.webhooks, admission_settings, client, manager.lookup(),
                                  clock, &log, invocation.env);
    if (!served) {
      log.error(served.error().message);
      return kFailed;
    }
    webhooks = std::move(*served);
  }
  const auto state = [&]() -> ProbeState {
    return {.health = manager.health(),
            .webhooks_wait = webhooks && !webhooks->serving(),
            .election = elector ? std::optional(elector->status()) : std::nullopt,
            .shards = shards ? std::optional(shards->status()) : std::nullopt};
  };
  std::unique_ptr<http::Server> probes;
  if (flags.health_address != "0" && !flags.health_address.empty()) {
    auto served = serve_probes(flags.health_address, state, &log);
    if (!served) {
      log.error(served.error().message);
      return kFailed;
    }
    probes = std::move(*served);
  }
  std::unique_ptr<MetricsServer> metrics;
  if (flags.metrics.enabled()) {
    add_own_metrics(manager.metrics(), invocation, flags, elector.get(), shards.get());
    auto served = MetricsServer::start(flags.metrics, manager.metrics(), client, clock, &log);
    if (!served) {
      log.error(served.error().message);
      return kFailed;
    }
    metrics = std::move(*served);
    log.info("metrics are served", {{"port", std::to_string(metrics->port())}});
    if (!flags.metrics.secure) log.warn("everybody may read the metrics: --metrics-secure is off");
  }
  std::unique_ptr<ReadApi> read_api;
  if (flags.read_api.enabled) {
    auto served = ReadApi::start(
        flags.read_api, manager, client,
        [&] { return why_closed(manager, elector.get(), shards.get()); }, clock, &log);
    if (!served) {
      log.error(served.error().message);
      return kFailed;
    }
    read_api = std::move(*served);
    log.info("the read API is served", {{"port", std::to_string(read_api->port())}});
  }
  log.info("operator starts", {{"server", cluster.server},
                               {"version", cli::version()},
                               {"commit", cli::commit()},
                               {"flags", flags.given}});
  for (const std::string& flag : flags.without_effect) {
    log.info("a flag is accepted and has no effect", {{"flag", flag}});
  }
  manager.start();
  if (elector) {
    elector->start([&] { manager.lead(); }, [&](const std::string& why) { end.lost(why); },
                   [] { std::_Exit(kFailed); });
  } else if (shards) {
    manager.lead();
    shards->start(hooks_of(manager));
  } else {
    fence.open();
    manager.lead();
  }
  end.wait(invocation.stop);
  if (const auto why = end.why_lost()) log.error("not the leader any more", {{"error", *why}});
  log.info("operator stops");
  if (read_api) read_api->stop();
  if (shards) shards->stop();
  manager.stop();
  if (elector && !end.why_lost()) elector->release(kReleaseLimit);
  // Late: what goes on until the end may be asked about, our own finalizers among it.
  if (webhooks) webhooks->stop();
  if (probes) probes->stop(std::chrono::seconds(1));
  return end.why_lost() ? kFailed : 0;
}

}  // namespace

int run_operator(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  OperatorFlags flags;
  if (const auto code = read_operator_flags(invocation, args, flags)) return *code;
  auto redactor = std::make_shared<base::Redactor>();
  const base::Logger log(
      {.level = flags.log_level, .format = flags.log_format, .out = invocation.err},
      *invocation.clock, redactor);
  const auto cluster = cluster_of(invocation, flags);
  if (!cluster) {
    log.error(cluster.error().message);
    return kFailed;
  }
  std::unique_ptr<http::Server> profiles;
  if (flags.pprof) {  // first: what is allocated before is not in the profile of the heap
    auto served = profiling::serve_profiles(flags.pprof_address, *invocation.clock, &log);
    if (!served) {
      log.error(served.error().with_prefix("--pprof-bind-address").message);
      return kFailed;
    }
    profiles = std::move(*served);
    log.info("profiles are served", {{"port", std::to_string(profiles->port())}});
  }
  return run(invocation, std::move(flags), *cluster, log, redactor);
}

}  // namespace kollect::manager
