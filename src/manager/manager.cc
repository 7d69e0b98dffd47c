#include "manager/manager.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "api/codec.h"
#include "collector/collector.h"
#include "inventory/row_store.h"
#include "kube/reflector.h"
#include "manager/admission_lookup.h"
#include "manager/cluster_inventory_controller.h"
#include "manager/cluster_target_controller.h"
#include "manager/connection/checks.h"
#include "manager/inventory_controller.h"
#include "manager/object_cache.h"
#include "manager/owners.h"
#include "manager/read_api/board.h"
#include "manager/secret_reader.h"
#include "manager/secret_watch.h"
#include "manager/shards/handover.h"
#include "manager/shards/tenures.h"
#include "manager/sink_registry.h"
#include "manager/target_board.h"
#include "manager/target_controller.h"
#include "manager/telemetry/observer.h"
#include "manager/telemetry/telemetry.h"
#include "manager/work_queue.h"
#include "manager/workers.h"
#include "manager/writer.h"

namespace kollect::manager {
namespace {

/// Status of an inventory whose rows move all the time is written at most this often.
constexpr base::Duration kStatusPace = std::chrono::seconds(1);
/// Signals of a target are gathered this long before its status is looked at.
constexpr base::Duration kSignalPace = std::chrono::milliseconds(20);
constexpr std::size_t kListsAtOnce = 4;

WorkQueue::Options queue_options(base::Duration rate_limit) {
  if (rate_limit <= base::Duration::zero()) return {};
  return {.backoff_base = rate_limit, .backoff_cap = rate_limit * 300};
}

collector::CollectorOptions collector_options(const ManagerOptions& options) {
  collector::CollectorOptions made;
  made.tenant_mode = options.tenant_mode;
  made.watch_namespaces = options.watch_namespaces;
  made.reflector.watch_list = options.watch_list;
  made.reflector.silence = options.watch_silence;
  made.reflector.queue_bytes = options.watch_queue_bytes;
  made.resync = options.resync;
  made.workers = options.collect_workers;
  return made;
}

}  // namespace

struct Manager::Impl {
  Impl(kube::Client& the_client, const base::Clock& the_clock, const base::Logger* logger,
       std::shared_ptr<base::Redactor> the_redactor, ManagerOptions the_options,
       const Fences& the_fences)
      : client(the_client),
        clock(the_clock),
        log(logger),
        redactor(std::move(the_redactor)),
        options(std::move(the_options)),
        fences(the_fences),
        collector(client, store, clock, log, collector_options(options)) {
    if (options.shards == 0) tenures.open(0);  // everything is ours
    wire();
  }

  void wire();
  [[nodiscard]] BoardParts read_board_parts();
  void wake_namespace_inventories(const std::string& ns, base::Duration wait);
  void wake_namespace_targets(const std::string& ns);
  void wake_all_targets();
  void wake_cluster_targets();
  void wake_cluster_inventories(base::Duration wait = {});
  void wake_all_inventories();
  /// That has the same place in sinks as a namespace's inventory.
  void wake_cluster_inventory_of(const Key& inventory);
  [[nodiscard]] TargetOptions target_options() const;
  template <class T>
  void sink_changed(const char* family, const CacheEvent<T>& event);
  void sink_touched(std::string_view family, const Key& key, bool probe);
  template <class T>
  void watch(const std::string& kind, ObjectCache<T>& cache);
  template <class T>
  void watch_in(const std::string& kind, ObjectCache<T>& cache, const std::string& ns);
  [[nodiscard]] bool synced() const;

  kube::Client& client;
  const base::Clock& clock;
  const base::Logger* log;
  std::shared_ptr<base::Redactor> redactor;
  ManagerOptions options;
  const Fences& fences;
  Tenures tenures{options.shards};

  metrics::Registry registry;
  Telemetry telemetry{registry};

  WorkQueue target_queue{clock, queue_options(options.reconcile_rate_limit)};
  WorkQueue inventory_queue{clock, queue_options(options.reconcile_rate_limit)};
  WorkQueue cluster_target_queue{clock, queue_options(options.reconcile_rate_limit)};
  WorkQueue cluster_inventory_queue{clock, queue_options(options.reconcile_rate_limit)};

  ObjectCache<api::Profile> profiles{"KollectProfile", [this](const auto& event) {
                                       if (!event.matters()) return;
                                       wake_namespace_targets(event.key().ns);
                                       const Key key = event.key();
                                       for (const auto& target : cluster_targets.all()) {
                                         const auto& ref = target->object.spec.profile_ref;
                                         if (ref.ns == key.ns && ref.name == key.name) {
                                           cluster_target_queue.add(target->key());
                                         }
                                       }
                                     }};
  // Not watched in tenant mode.
  ObjectCache<api::ClusterTarget> cluster_targets{"KollectClusterTarget",
                                                  [this](const auto& event) {
                                                    if (!event.matters()) return;
                                                    cluster_target_queue.add(event.key());
                                                    wake_cluster_inventories();
                                                  }};
  ObjectCache<api::ClusterScope> cluster_scopes{"KollectClusterScope", [this](const auto& event) {
                                                  if (!event.matters()) return;
                                                  wake_cluster_targets();
                                                  wake_cluster_inventories();
                                                }};
  ObjectCache<api::ClusterInventory> cluster_inventories{
      "KollectClusterInventory", [this](const auto& event) {
        if (event.matters()) cluster_inventory_queue.add(event.key());
      }};
  ObjectCache<api::Target> targets{"KollectTarget", [this](const auto& event) {
                                     if (!event.matters()) return;
                                     target_queue.add(event.key());
                                     wake_namespace_inventories(event.key().ns, kSignalPace);
                                   }};
  ObjectCache<api::Scope> scopes{"KollectScope", [this](const auto& event) {
                                   if (!event.matters()) return;
                                   wake_namespace_targets(event.key().ns);
                                   wake_namespace_inventories(event.key().ns, {});
                                   wake_cluster_inventories();
                                 }};
  ObjectCache<api::Inventory> inventories{"KollectInventory", [this](const auto& event) {
                                            if (!event.matters()) return;
                                            inventory_queue.add(event.key());
                                            wake_namespace_targets(event.key().ns);
                                            wake_cluster_inventory_of(event.key());
                                          }};
  ObjectCache<api::SnapshotSink> snapshot_sinks{
      "KollectSnapshotSink", [this](const auto& event) { sink_changed("snapshot", event); }};
  ObjectCache<api::DatabaseSink> database_sinks{
      "KollectDatabaseSink", [this](const auto& event) { sink_changed("database", event); }};
  ObjectCache<api::EventSink> event_sinks{
      "KollectEventSink", [this](const auto& event) { sink_changed("event", event); }};
  ObjectCache<api::ConnectionTest> connection_tests{"KollectConnectionTest",
                                                    [this](const auto& event) {
                                                      if (event.matters())
                                                        checks.test_changed(event.key());
                                                    }};

  inventory::RowStore store;
  collector::Collector collector;
  exporter::Exporter exporter{store, clock, log, options.exporter};
  SecretWatch secret_watch{client, clock, {.silence = options.watch_silence}};
  SecretReader secrets{client, clock, *redactor, &secret_watch};
  SinkRegistry sinks{{.snapshot = snapshot_sinks, .database = database_sinks, .event = event_sinks},
                     secrets,
                     clock,
                     options.sinks,
                     options.watch_namespaces,
                     fences,
                     telemetry};
  TargetBoard board;
  ClusterTargetBoard cluster_board;
  Writer writer{client, log, fences};
  TenantCaches caches{
      .profiles = profiles, .targets = targets, .scopes = scopes, .inventories = inventories};
  InventoryController inventory_controller{caches,
                                           sinks,
                                           exporter,
                                           board,
                                           writer,
                                           clock,
                                           {.max_export_bytes = options.max_export_bytes}};
  TargetController target_controller{caches, targets, sinks, collector,       board,
                                     writer, clock,   log,   target_options()};
  ClusterTargetController cluster_target_controller{
      {.profiles = profiles, .targets = cluster_targets, .scopes = cluster_scopes},
      collector,
      cluster_board,
      writer,
      clock,
      target_options()};
  ClusterInventoryController cluster_inventory_controller{
      {.profiles = profiles,
       .targets = cluster_targets,
       .cluster_scopes = cluster_scopes,
       .scopes = scopes,
       .inventories = inventories,
       .rollups = cluster_inventories},
      sinks,
      exporter,
      cluster_board,
      [this] { return collector.namespaces(); },
      writer,
      clock,
      {.max_export_bytes = options.max_export_bytes}};

  Observer observer{
      {.profiles = profiles,
       .targets = targets,
       .cluster_targets = cluster_targets,
       .inventories = inventories,
       .cluster_inventories = cluster_inventories,
       .sinks = {.snapshot = snapshot_sinks, .database = database_sinks, .event = event_sinks},
       .store = store,
       .collector = collector,
       .exporter = exporter,
       .client = client,
       .tenures = tenures,
       .watch_namespaces = options.watch_namespaces},
      registry,
      telemetry,
      clock,
      options.metrics_interval};
  std::unique_ptr<ReadBoard> read_board;  ///< these two: null where the read API is off
  std::unique_ptr<readapi::LiveSource> read_source;
  AdmissionLookup lookup{{.profiles = profiles, .scopes = scopes, .cluster_scopes = cluster_scopes},
                         client,
                         clock,
                         options.watch_namespaces};
  ConnectionChecks checks{{.snapshot = snapshot_sinks,
                           .database = database_sinks,
                           .event = event_sinks,
                           .tests = connection_tests},
                          sinks,
                          writer,
                          tenures,
                          clock,
                          *redactor,
                          log,
                          queue_options(options.reconcile_rate_limit),
                          [this](const std::string& kind) { return observer.seen_by(kind); }};

  kube::ListGate gate{kListsAtOnce};
  std::vector<std::unique_ptr<kube::Reflector>> reflectors;
  Handover handover{{.tenures = tenures,
                     .reflectors = reflectors,
                     .targets = targets,
                     .inventories = inventories,
                     .cluster_targets = cluster_targets,
                     .cluster_inventories = cluster_inventories,
                     .sinks = {.snapshot = snapshot_sinks,
                               .database = database_sinks,
                               .event = event_sinks,
                               .tests = connection_tests},
                     .target_queue = target_queue,
                     .inventory_queue = inventory_queue,
                     .cluster_target_queue = cluster_target_queue,
                     .cluster_inventory_queue = cluster_inventory_queue,
                     .collector = collector,
                     .exporter = exporter,
                     .board = board,
                     .cluster_board = cluster_board,
                     .inventory_controller = inventory_controller,
                     .cluster_inventory_controller = cluster_inventory_controller,
                     .checks = checks}};
  /// What caches have to be told of their reflectors; true when it is news.
  std::vector<std::function<bool(const kube::ReflectorStatus&)>> tellers;
  std::mutex work_mutex;  ///< of the start and the end of workers
  std::vector<std::unique_ptr<Workers>> workers;
  std::atomic<bool> stopping = false;
};

void Manager::Impl::wire() {
  secret_watch.on_change([this](const std::string& ns, const std::string& name) {
    for (const SinkName& user : sinks.users_of(ns, name))
      sink_touched(user.family, {.ns = user.ns, .name = user.name}, true);
  });
  if (options.read_api) {
    read_board = std::make_unique<ReadBoard>(read_board_parts(), options.read_opt_in);
    read_source = std::make_unique<readapi::LiveSource>(store, *read_board, clock);
  }
  store.on_change([this](const inventory::Owner& owner) {
    exporter.rows_changed(owner);
    if (read_source) read_source->rows_changed(owner);
  });
  collector.on_signal([this](const inventory::Owner& owner) {
    WorkQueue& queue = owner.owner_class == inventory::OwnerClass::kClusterTarget
                           ? cluster_target_queue
                           : target_queue;
    queue.add_after({.ns = owner.ns, .name = owner.name}, kSignalPace);
  });
  // What may not be read any more is no change of what there is: exports wait until they know.
  collector.on_refused([this](const collector::Refusal& refusal) {
    const inventory::Owner& owner = refusal.target;
    if (owner.owner_class == inventory::OwnerClass::kClusterTarget) {
      cluster_board.refuse(owner.name, refusal.namespaces, refusal.everything);
    } else {
      board.refuse({.ns = owner.ns, .name = owner.name}, refusal.namespaces, refusal.everything);
    }
    exporter.hold(owner);
  });
  collector.on_namespaces_changed([this] {
    wake_all_targets();
    wake_cluster_inventories(kSignalPace);
  });
  cluster_target_controller.on_standing([this](const std::string& target, bool leaves) {
    if (leaves) exporter.hold(owner_of_cluster_target(target));
    wake_cluster_inventories();
  });
  collector.on_kinds_changed([this] { wake_all_targets(); });
  target_controller.on_phase([this](const Key& key) {
    if (board.of(key).phase == TargetPhase::kUnreadable) exporter.hold(owner_of_target(key));
    observer.waking_inventories("store");
    wake_namespace_inventories(key.ns, {});
  });
  observer.add_queue("KollectTarget", target_queue);
  observer.add_queue("KollectClusterTarget", cluster_target_queue);
  observer.add_queue("KollectInventory", inventory_queue);
  observer.add_queue("KollectClusterInventory", cluster_inventory_queue);
  checks.for_queues([this](const std::string& controller, const WorkQueue& queue) {
    observer.add_queue(controller, queue);
  });
  observer.start();
  exporter.on_outcome([this](const sinks::InventoryId& id) {
    const Key key{.ns = id.ns, .name = id.name};
    if (inventories.get(key)) {
      inventory_queue.add_after(key, kStatusPace);
      if (const auto status = exporter.status(id)) checks.exported(id, *status);
    } else {
      wake_cluster_inventory_of(key);
    }
  });
}

BoardParts Manager::Impl::read_board_parts() {
  return {.profiles = profiles,
          .targets = targets,
          .scopes = scopes,
          .inventories = inventories,
          .cluster_targets = cluster_targets,
          .cluster_scopes = cluster_scopes,
          .cluster_inventories = cluster_inventories,
          .sinks = {.snapshot = snapshot_sinks, .database = database_sinks, .event = event_sinks},
          .exporter = exporter,
          .cluster_board = cluster_board,
          .namespaces = [this] { return collector.namespaces(); }};
}

void Manager::Impl::wake_namespace_inventories(const std::string& ns, base::Duration wait) {
  for (const auto& inventory : inventories.in_namespace(ns)) {
    inventory_queue.add_after(inventory->key(), wait);
  }
}

void Manager::Impl::wake_namespace_targets(const std::string& ns) {
  for (const auto& target : targets.in_namespace(ns)) target_queue.add(target->key());
}

void Manager::Impl::wake_all_targets() {
  for (const auto& target : targets.all()) target_queue.add_after(target->key(), kSignalPace);
  wake_cluster_targets();
}

void Manager::Impl::wake_cluster_targets() {
  for (const auto& target : cluster_targets.all()) {
    cluster_target_queue.add_after(target->key(), kSignalPace);
  }
}

void Manager::Impl::wake_cluster_inventories(base::Duration wait) {
  for (const auto& inventory : cluster_inventories.all()) {
    cluster_inventory_queue.add_after(inventory->key(), wait);
  }
}

void Manager::Impl::wake_all_inventories() {
  for (const auto& inventory : inventories.all()) inventory_queue.add(inventory->key());
  wake_cluster_inventories();
}

void Manager::Impl::wake_cluster_inventory_of(const Key& inventory) {
  const Key key{.ns = "", .name = inventory.name};
  if (inventory.ns != ClusterInventoryController::kPlace || !cluster_inventories.get(key)) return;
  cluster_inventory_queue.add_after(key, kStatusPace);
}

TargetOptions Manager::Impl::target_options() const {
  return {.count_resync = options.count_resync,
          .default_included = options.default_included,
          .default_excluded = options.default_excluded,
          .watch_namespaces = options.watch_namespaces,
          .extract = options.extract,
          .tenant_mode = options.tenant_mode};
}

template <class T>
void Manager::Impl::sink_changed(const char* family, const CacheEvent<T>& event) {
  // Status counts here: a probe that fails or succeeds decides whether a sink can be used.
  sink_touched(family, event.key(), event.matters());
}

void Manager::Impl::sink_touched(std::string_view family, const Key& key, bool probe) {
  if (probe) checks.sink_changed(family, key);
  observer.waking_inventories("sink");
  const auto names = [&](const auto& spec, const std::string& own) {
    const auto& refs = family == "snapshot"   ? spec.snapshot_sink_refs
                       : family == "database" ? spec.database_sink_refs
                                              : spec.event_sink_refs;
    return std::ranges::any_of(refs, [&](const auto& ref) {
      return ref.name == key.name && (ref.ns.empty() ? own : ref.ns) == key.ns;
    });
  };
  for (const auto& inventory : inventories.in_namespace(key.ns)) {
    if (names(inventory->object.spec, key.ns)) inventory_queue.add(inventory->key());
  }
  for (const auto& inventory : cluster_inventories.all()) {
    const api::ClusterInventorySpec& spec = inventory->object.spec;
    if (names(spec, ClusterInventoryController::sink_namespace(spec))) {
      cluster_inventory_queue.add(inventory->key());
    }
  }
  wake_namespace_targets(key.ns);
}

template <class T>
void Manager::Impl::watch(const std::string& kind, ObjectCache<T>& cache) {
  std::vector<std::string> namespaces = options.watch_namespaces;
  if (namespaces.empty()) namespaces.emplace_back();
  for (const std::string& ns : namespaces) watch_in(kind, cache, ns);
}

template <class T>
void Manager::Impl::watch_in(const std::string& kind, ObjectCache<T>& cache,
                             const std::string& ns) {
  reflectors.push_back(std::make_unique<kube::Reflector>(
      client,
      kube::WatchQuery{
          .resource = resource_of(kind), .ns = ns, .label_selector = {}, .field_selector = {}},
      cache.feed(ns), gate, clock, log, kube::ReflectorOptions{.silence = options.watch_silence}));
  tellers.emplace_back(
      [&cache, ns](const kube::ReflectorStatus& status) { return cache.tell(ns, status.error); });
}

bool Manager::Impl::synced() const {
  return profiles.synced() && targets.synced() && scopes.synced() && inventories.synced() &&
         snapshot_sinks.synced() && database_sinks.synced() && event_sinks.synced() &&
         connection_tests.synced() &&
         (options.tenant_mode ||
          (cluster_targets.synced() && cluster_scopes.synced() && cluster_inventories.synced()));
}

Manager::Manager(kube::Client& client, const base::Clock& clock, const base::Logger* log,
                 std::shared_ptr<base::Redactor> redactor, ManagerOptions options,
                 const Fences& fences)
    : impl_(std::make_unique<Impl>(client, clock, log, std::move(redactor), std::move(options),
                                   fences)) {}

Manager::~Manager() {
  stop();
}

void Manager::start() {
  Impl& impl = *impl_;
  // Sinks and profiles first: targets and inventories are judged by them.
  impl.watch("KollectProfile", impl.profiles);
  impl.watch("KollectScope", impl.scopes);
  impl.watch("KollectSnapshotSink", impl.snapshot_sinks);
  impl.watch("KollectDatabaseSink", impl.database_sinks);
  impl.watch("KollectEventSink", impl.event_sinks);
  impl.watch("KollectConnectionTest", impl.connection_tests);
  impl.watch("KollectTarget", impl.targets);
  impl.watch("KollectInventory", impl.inventories);
  if (!impl.options.tenant_mode) {
    impl.watch_in("KollectClusterScope", impl.cluster_scopes, "");
    impl.watch_in("KollectClusterTarget", impl.cluster_targets, "");
    impl.watch_in("KollectClusterInventory", impl.cluster_inventories, "");
  }
  impl.collector.start();
  for (std::size_t i = 0; i < impl.reflectors.size(); ++i) {
    impl.reflectors[i]->start(
        [this, tell = impl.tellers[i], told = std::make_shared<bool>(false),
         was = std::make_shared<bool>(false)](const kube::ReflectorStatus& status) {
          // What passes by itself is no news; what needs somebody's hand is.
          if (status.error && status.error->kind != base::ErrorKind::kRetryable && !*told &&
              impl_->log != nullptr) {
            *told = true;
            impl_->log->warn("a kind of kollect.dev cannot be watched",
                             {{"error", status.error->message},
                              {"hint", "kollect crds | kubectl apply --server-side -f -"}});
          }
          // What was judged without this kind, or waits for it, is judged again.
          const bool fresh = status.synced && !*was;
          if (fresh) {
            *was = true;
            *told = false;
          }
          if (tell(status) || fresh) {
            impl_->wake_all_targets();
            impl_->wake_all_inventories();
          }
        });
  }
  impl.workers.push_back(
      std::make_unique<Workers>("kollecttarget", impl.target_queue, impl.options.target_workers,
                                within(impl.tenures,
                                       [this](const base::Context& context, const Key& key) {
                                         return impl_->target_controller.reconcile(context, key);
                                       }),
                                impl.clock, impl.log, impl.observer.seen_by("KollectTarget")));
  impl.workers.push_back(std::make_unique<Workers>(
      "kollectclustertarget", impl.cluster_target_queue, impl.options.cluster_target_workers,
      within(impl.tenures,
             [this](const base::Context& context, const Key& key) {
               return impl_->cluster_target_controller.reconcile(context, key);
             }),
      impl.clock, impl.log, impl.observer.seen_by("KollectClusterTarget")));
}

void Manager::lead() {
  Impl& impl = *impl_;
  const std::scoped_lock lock(impl.work_mutex);
  if (impl.stopping) return;
  impl.exporter.start();
  // What a standby judged it did not write down.
  impl.wake_all_targets();
  impl.checks.start();
  impl.workers.push_back(std::make_unique<Workers>(
      "kollectinventory", impl.inventory_queue, impl.options.inventory_workers,
      within(impl.tenures,
             [this](const base::Context& context, const Key& key) {
               return impl_->inventory_controller.reconcile(context, key);
             }),
      impl.clock, impl.log, impl.observer.seen_by("KollectInventory")));
  impl.workers.push_back(std::make_unique<Workers>(
      "kollectclusterinventory", impl.cluster_inventory_queue,
      impl.options.cluster_inventory_workers,
      within(impl.tenures,
             [this](const base::Context& context, const Key& key) {
               return impl_->cluster_inventory_controller.reconcile(context, key);
             }),
      impl.clock, impl.log, impl.observer.seen_by("KollectClusterInventory")));
}

void Manager::stop() {
  Impl& impl = *impl_;
  {
    const std::scoped_lock lock(impl.work_mutex);
    if (impl.stopping.exchange(true)) return;
  }
  impl.workers.clear();
  impl.checks.stop();
  impl.secret_watch.stop();
  for (auto& reflector : impl.reflectors) reflector->stop();
  impl.collector.stop();
  if (!impl.fences.of("")->fallen()) impl.exporter.drain(impl.options.drain);
  impl.exporter.stop();
}

const admission::Lookup& Manager::lookup() const {
  return impl_->lookup;
}

Handover& Manager::handover() {
  return impl_->handover;
}

metrics::Registry& Manager::metrics() {
  return impl_->registry;
}

ManagerReadParts Manager::read_parts() {
  return {.rows = impl_->read_source.get(), .objects = impl_->read_board.get()};
}

ManagerHealth Manager::health() const {
  const auto stats = impl_->store.stats();
  return {.caches_synced = impl_->synced(),
          .rows = stats.rows,
          .store_bytes = stats.bytes,
          .targets_waiting = impl_->target_queue.waiting(),
          .inventories_waiting =
              impl_->inventory_queue.waiting() + impl_->cluster_inventory_queue.waiting(),
          .stopping = impl_->stopping};
}

}  // namespace kollect::manager
