#include "manager/connection/checks.h"

#include <vector>

#include "base/strings.h"
#include "manager/connection/sink_controller.h"
#include "manager/connection/test_controller.h"
#include "manager/workers.h"

namespace kollect::manager {
namespace {

constexpr const char* kSnapshot = "KollectSnapshotSink";
constexpr const char* kDatabase = "KollectDatabaseSink";
constexpr const char* kEvent = "KollectEventSink";
constexpr const char* kTest = "KollectConnectionTest";

/// A controller with its queue.
template <class T>
struct Family {
  WorkQueue queue;
  SinkController<T> controller;
};

}  // namespace

struct ConnectionChecks::Impl {
  Impl(Caches the_caches, SinkRegistry& registry, Writer& writer, Tenures& the_tenures,
       const base::Clock& the_clock, const base::Redactor& redactor, const base::Logger* the_log,
       WorkQueue::Options options, SeenOf the_seen)
      : caches(the_caches),
        tenures(the_tenures),
        clock(the_clock),
        log(the_log),
        seen(std::move(the_seen)),
        snapshot{
            .queue{clock, options},
            .controller{kSnapshot, "snapshot", caches.snapshot, registry, writer, clock, redactor}},
        database{
            .queue{clock, options},
            .controller{kDatabase, "database", caches.database, registry, writer, clock, redactor}},
        event{.queue{clock, options},
              .controller{kEvent, "event", caches.event, registry, writer, clock, redactor}},
        test_queue{clock, options},
        tests{caches.tests,
              {.snapshot = caches.snapshot, .database = caches.database, .event = caches.event},
              registry,
              writer,
              clock,
              redactor} {}

  /// Calls with the family's members.
  void with(std::string_view family, const auto& call) {
    if (family == "snapshot") return call(snapshot);
    if (family == "database") return call(database);
    if (family == "event") return call(event);
  }

  void work(const std::string& kind, WorkQueue& queue, auto& controller) {
    workers.push_back(std::make_unique<Workers>(
        base::to_lower(kind), queue, 1,
        within(tenures,
               [&controller](const base::Context& context, const Key& key) {
                 return controller.reconcile(context, key);
               }),
        clock, log, seen(kind)));
  }

  Caches caches;
  Tenures& tenures;
  const base::Clock& clock;
  const base::Logger* log;
  const SeenOf seen;
  Family<api::SnapshotSink> snapshot;
  Family<api::DatabaseSink> database;
  Family<api::EventSink> event;
  WorkQueue test_queue;
  ConnectionTestController tests;
  std::vector<std::unique_ptr<Workers>> workers;
};

ConnectionChecks::ConnectionChecks(Caches caches, SinkRegistry& registry, Writer& writer,
                                   Tenures& tenures, const base::Clock& clock,
                                   const base::Redactor& redactor, const base::Logger* log,
                                   WorkQueue::Options options, const SeenOf& seen)
    : impl_(std::make_unique<Impl>(caches, registry, writer, tenures, clock, redactor, log, options,
                                   seen)) {}

ConnectionChecks::~ConnectionChecks() {
  stop();
}

void ConnectionChecks::start() {
  impl_->work(kSnapshot, impl_->snapshot.queue, impl_->snapshot.controller);
  impl_->work(kDatabase, impl_->database.queue, impl_->database.controller);
  impl_->work(kEvent, impl_->event.queue, impl_->event.controller);
  impl_->work(kTest, impl_->test_queue, impl_->tests);
}

void ConnectionChecks::stop() {
  impl_->workers.clear();
}

void ConnectionChecks::for_queues(
    const std::function<void(const std::string& controller, const WorkQueue&)>& call) const {
  call(kSnapshot, impl_->snapshot.queue);
  call(kDatabase, impl_->database.queue);
  call(kEvent, impl_->event.queue);
  call(kTest, impl_->test_queue);
}

void ConnectionChecks::sink_changed(std::string_view family, const Key& key) {
  impl_->with(family, [&](auto& known) { known.queue.add(key); });
}

void ConnectionChecks::test_changed(const Key& key) {
  impl_->test_queue.add(key);
}

void ConnectionChecks::forget(const std::function<bool(const Key&)>& goes) {
  impl_->snapshot.controller.forget(goes);
  impl_->database.controller.forget(goes);
  impl_->event.controller.forget(goes);
}

void ConnectionChecks::exported(const sinks::InventoryId& id,
                                const exporter::InventoryStatus& status) {
  for (const exporter::BindingStatus& binding : status.bindings) {
    if (!binding.last_export || binding.error) continue;
    const std::size_t slash = binding.name.find('/');
    if (slash == std::string::npos) continue;
    const Key key{.ns = id.ns, .name = binding.name.substr(slash + 1)};
    impl_->with(std::string_view(binding.name).substr(0, slash), [&](auto& known) {
      if (known.controller.exported(key, *binding.last_export)) known.queue.add(key);
    });
  }
}

}  // namespace kollect::manager
