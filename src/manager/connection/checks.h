// Everything that looks at connections: the controllers of the sinks and of KollectConnectionTest
// with their queues and threads.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "exporter/exporter.h"
#include "manager/object_cache.h"
#include "manager/shards/tenures.h"
#include "manager/sink_registry.h"
#include "manager/work_queue.h"
#include "manager/workers.h"
#include "manager/writer.h"
#include "sinks/sink.h"

namespace kollect::manager {

/// One thread per sink family and one for tests. Keys may be given at any time; nothing is looked
/// at before start(), nor outside of open tenures. stop() (and the destructor) cancels running
/// probes and waits. Thread-safe.
class ConnectionChecks {
 public:
  struct Caches {
    ObjectCache<api::SnapshotSink>& snapshot;
    ObjectCache<api::DatabaseSink>& database;
    ObjectCache<api::EventSink>& event;
    ObjectCache<api::ConnectionTest>& tests;
  };
  /// What is told of the passes of a controller ("KollectSnapshotSink").
  using SeenOf = std::function<Workers::Seen(const std::string& controller)>;
  /// References must outlive it.
  ConnectionChecks(Caches caches, SinkRegistry& registry, Writer& writer, Tenures& tenures,
                   const base::Clock& clock, const base::Redactor& redactor,
                   const base::Logger* log, WorkQueue::Options options, const SeenOf& seen);
  ~ConnectionChecks();
  ConnectionChecks(const ConnectionChecks&) = delete;
  ConnectionChecks& operator=(const ConnectionChecks&) = delete;

  void start();
  void stop();
  /// `family` as in SinkName.
  void sink_changed(std::string_view family, const Key& key);
  void test_changed(const Key& key);
  /// Calls with each controller and its queue; the queues live as long as this.
  void for_queues(
      const std::function<void(const std::string& controller, const WorkQueue&)>& call) const;
  /// What became of an inventory's exports: one that worked proves an earlier failed probe wrong.
  void exported(const sinks::InventoryId& id, const exporter::InventoryStatus& status);
  /// What is known of these sinks is not true any more.
  void forget(const std::function<bool(const Key&)>& goes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::manager
