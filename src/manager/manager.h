// The operator as a whole: caches, collector, exporter, controllers (spec: runtime 1 and 3).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admission/lookup.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "base/result.h"
#include "exporter/exporter.h"
#include "extract/program.h"
#include "kube/client.h"
#include "manager/leader/fence.h"
#include "metrics/registry.h"
#include "sinks/factory.h"

namespace kollect::readapi {
class LiveSource;
class ObjectBoard;
}  // namespace kollect::readapi

namespace kollect::manager {

class Handover;

/// What the read API reads; null where it is off.
struct ManagerReadParts {
  readapi::LiveSource* rows = nullptr;
  const readapi::ObjectBoard* objects = nullptr;
};

struct ManagerOptions {
  bool tenant_mode = false;
  /// The work is shared by replicas in so many parts, each behind a fence of its own; 0: not
  /// shared.
  std::size_t shards = 0;
  std::vector<std::string> watch_namespaces;  ///< empty: all
  std::vector<std::string> default_included;
  std::vector<std::string> default_excluded;
  extract::Options extract;
  sinks::SinkOptions sinks;
  std::size_t max_export_bytes = 1572864;
  bool watch_list = true;  ///< collected kinds are listed by streams where the server offers it
  /// A watch on which nothing came for so long, not even a bookmark, is opened anew.
  base::Duration watch_silence = std::chrono::seconds(75);
  /// Everything that is collected is listed anew after so long, as a backstop.
  base::Duration resync = std::chrono::hours(12);
  std::size_t collect_workers = 4;            ///< CollectorOptions::workers
  std::size_t watch_queue_bytes = 4U << 20U;  ///< of each watch
  std::size_t target_workers = 5;
  std::size_t inventory_workers = 3;
  std::size_t cluster_target_workers = 2;
  std::size_t cluster_inventory_workers = 2;
  base::Duration reconcile_rate_limit{};  ///< 0: 5 ms base, 1000 s cap
  base::Duration count_resync = std::chrono::seconds(60);
  exporter::ExporterOptions exporter;
  base::Duration drain = std::chrono::seconds(30);
  base::Duration metrics_interval =
      std::chrono::seconds(30);  ///< of sums over the rows of a target
  bool read_api = false;         ///< rows can be read: read_parts()
  bool read_opt_in = false;      ///< ReadApiOptions::opt_in
};

/// What is alive and what not yet; for probes, metrics and tests.
struct ManagerHealth {
  bool caches_synced = false;
  std::size_t rows = 0;
  std::size_t store_bytes = 0;
  std::size_t targets_waiting = 0;
  std::size_t inventories_waiting = 0;  ///< of both kinds
  bool stopping = false;
};

/// One cluster. start() once: watches and extraction run, so that the rows are there, but nothing
/// is written. lead() once: status, finalizers and exports as well, from the rows that are there
/// and without a new list. stop() lets running exports end within the drain time, then cancels;
/// when the fence has fallen it cancels at once. Nothing is ever written but inside the fence of
/// the object's namespace. Where the work is shared nothing is looked at before its part is handed
/// over: lead() comes right after start(), and handover().close() for all parts before stop().
/// Thread-safe.
class Manager {
 public:
  /// References must outlive it.
  Manager(kube::Client& client, const base::Clock& clock, const base::Logger* log,
          std::shared_ptr<base::Redactor> redactor, ManagerOptions options, const Fences& fences);
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  void start();
  void lead();
  void stop();
  [[nodiscard]] ManagerHealth health() const;
  /// What admission rules look up, from its caches. Lives as long as it.
  [[nodiscard]] const admission::Lookup& lookup() const;
  /// Of parts, where the work is shared.
  [[nodiscard]] Handover& handover();
  /// What there is to measure; lives as long as this. A page of it reads the rows of targets that
  /// have changed.
  [[nodiscard]] metrics::Registry& metrics();
  /// They live as long as this.
  [[nodiscard]] ManagerReadParts read_parts();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::manager
