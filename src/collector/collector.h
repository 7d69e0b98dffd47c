// The collection engine of the operator: objects of one cluster become rows of the registered
// targets and stay in step with them.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/types.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "extract/program.h"
#include "inventory/row_store.h"
#include "kube/client.h"
#include "kube/reflector.h"
#include "select/selection.h"

namespace kollect::collector {

/// What one KollectTarget or KollectClusterTarget collects.
struct Registration {
  /// kTarget: namespace and name of the KollectTarget; its rows have this owner.
  /// kClusterTarget: `ns` is empty, `name` is the cluster target's; the rows of an object belong to
  /// {kClusterTarget, namespace of the object, name} ("" for cluster-scoped kinds).
  inventory::Owner target;
  select::Selection selection;
  extract::Program program;
  /// Effective namespaces (spec: selection 4), sorted bytewise, unique. Empty: nothing. Not
  /// asked for cluster-scoped kinds. Namespaces that the collector does not know have no labels.
  std::vector<std::string> effective = {};
  /// Everything that counts beside `effective`: uid and generation of target and profile, the
  /// profile's content, options that change rows. Registering equal fingerprint and namespaces
  /// again is free; other namespaces alone are cheaper than another fingerprint.
  std::string fingerprint = {};
  std::string cluster = {};  ///< extract::ObjectContext::cluster
};

/// What there is to know about a registered target now. Counters count from its first registration.
struct Signals {
  bool registered = false;
  std::size_t row_count = 0;
  /// Every kind's first complete list was applied. Stays true when the registration changes: rows
  /// of the old state stand until those of the new one replace them. A kind that was read and is
  /// no longer served counts: it has no objects for certain.
  bool complete = false;
  /// The current registration, or a namespace's labels, are not applied to all objects yet.
  bool evaluating = false;
  /// Why the target collects nothing or not everything, first kind that fails. Reasons:
  /// "gvk-not-found", "forbidden" (the kind may not be listed in any effective namespace),
  /// "unauthorized", "unreachable", "timeout", "transient", and "no-first-list" (X-2: nothing
  /// complete within the deadline; the attempt goes on, and the cause, when one is known, stands in
  /// the message).
  std::optional<base::Error> error;
  /// Kinds that are read in another version than asked (L-1), as sentences.
  std::vector<std::string> notes;
  /// Effective namespaces in which a kind of the target may not be listed; sorted, unique. The
  /// others are collected.
  std::vector<std::string> forbidden_namespaces;
  /// Access reviews get no answer (AccessCheckFailed); what was known before stays in force, and
  /// they are tried again.
  std::optional<base::Error> access_check_error;
  std::size_t extraction_failures = 0;  ///< objects that fail now
  std::string last_extraction_error;  ///< "ns/name: attribute: class: text"; empty when none fails
  std::uint64_t policy_errors = 0;    ///< matchPolicy evaluations that failed (L-4)
  std::string last_policy_error;
  std::map<std::string, std::uint64_t> mistyped;  ///< values that do not fit, by attribute
  std::uint64_t prune_errors = 0;
  std::size_t watches = 0;  ///< open watches that feed this target
};

/// What of a target may not be listed any more.
struct Refusal {
  inventory::Owner target;
  std::vector<std::string> namespaces = {};
  bool everything = false;  ///< a kind without namespaces
};

/// Namespaces of the cluster as the collector's own watch sees them.
struct KnownNamespaces {
  std::shared_ptr<const select::Namespaces> all;  ///< never null
  /// A complete list was read. Stays true while the watch is cut.
  bool known = false;
  /// Why not: "tenant-mode", "forbidden", "unreachable", ...; absent before the first answer.
  std::optional<base::Error> error;
};

struct WatchStats {
  kube::Resource resource;
  std::string ns;  ///< empty: all namespaces, or cluster-scoped
  kube::ReflectorStatus status;
  std::uint64_t objects = 0;           ///< that there are
  std::uint64_t listed_again = 0;      ///< objects of lists after the first complete one
  std::uint64_t namespace_misses = 0;  ///< objects outside the namespaces of every target
};

/// Counters of the process; read for metrics.
struct CollectorStats {
  static constexpr std::array kBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                         0.05,   0.1,   0.25,   0.5,   1.0};
  std::vector<WatchStats> watches;
  std::uint64_t access_hits = 0;
  std::uint64_t access_misses = 0;
  std::uint64_t objects = 0;  ///< handled, all targets of one object together
  /// Seconds per object: counts up to each bound (not cumulative) and beyond the last one.
  std::array<std::uint64_t, kBounds.size() + 1> durations{};
  double duration_sum = 0;
  std::uint64_t lists_beside_watches = 0;  ///< re-evaluations that had to list
  std::uint64_t held_up_before = 0;        ///< sum of ReflectorStatus::held_up of ended watches
};

struct CollectorOptions {
  /// No cluster-wide right exists: watches per namespace only, none on namespaces and CRDs.
  bool tenant_mode = false;
  /// --watch-namespaces: effective namespaces outside are ignored. Empty: no limit.
  std::vector<std::string> watch_namespaces = {};
  std::uint32_t page_size = 500;
  std::size_t lists_in_flight = 4;
  base::Duration first_list_deadline = std::chrono::seconds(30);  ///< X-2
  bool access_reviews = true;                                     ///< runtime 8.3
  base::Duration access_ttl = std::chrono::seconds(30);
  std::size_t access_entries = 4096;
  base::Duration discovery_retry = std::chrono::seconds(30);  ///< while a kind is not served
  base::Duration resync = std::chrono::hours(12);             ///< backstop; 0: never
  /// Threads for discovery, access reviews and lists beside the watches.
  std::size_t workers = 4;
  kube::ReflectorOptions reflector = {};
};

/// One watch per kind (or per kind and namespace, where that is all one may), shared by all
/// targets. An object is parsed once, judged for the targets of its namespace, extracted and
/// stored on the watch's thread; nothing of it is kept. A failed list removes nothing; a complete
/// one removes exactly what is gone.
///
/// Thread-safe. Nothing blocks on the network but stop(). Callbacks run on threads of the collector
/// without its locks, may come in any number, and must be quick; set them before start().
class Collector {
 public:
  /// References must outlive it.
  Collector(kube::Client& client, inventory::RowStore& store, const base::Clock& clock,
            const base::Logger* log, CollectorOptions options = {});
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  /// Something that signals() tells may have changed; row counts excepted, which
  /// RowStore::on_change tells. Gets Registration::target.
  void on_signal(std::function<void(const inventory::Owner&)> listener);
  /// A right has gone, and its rows are about to go from the store, which is no change of what
  /// there is. Called before they go, with locks held: it must be quick and not call the collector.
  /// on_signal follows.
  void on_refused(std::function<void(const Refusal&)> listener);
  /// namespaces() gives something else: a namespace came, went, or has other labels or another
  /// kollect.dev/namespace-watch annotation; or the right to list them.
  void on_namespaces_changed(std::function<void()> listener);
  /// find_kind() may answer otherwise.
  void on_kinds_changed(std::function<void()> listener);

  void start();
  /// Ends all watches and waits; rows stay in the store. Also done by the destructor.
  void stop();

  /// Adds a target or replaces its registration. Returns at once.
  void register_target(Registration registration);
  /// Forgets it. When the call returns its rows are gone and none will come.
  void unregister_target(const inventory::Owner& target);
  /// The registered ones, sorted.
  [[nodiscard]] std::vector<inventory::Owner> targets() const;
  [[nodiscard]] Signals signals(const inventory::Owner& target) const;

  [[nodiscard]] KnownNamespaces namespaces() const;
  /// What the last discovery says about a kind (spec: selection 2); never waits for the network.
  /// Errors as of kube::Discovery::find; "discovery-pending" (retryable) before the first answer,
  /// and the reason of its failure while there is none. A kind that is not served is looked for
  /// again in the background.
  [[nodiscard]] base::Result<kube::Discovery::Found> find_kind(
      const api::GroupVersionKind& kind) const;
  [[nodiscard]] CollectorStats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::collector
