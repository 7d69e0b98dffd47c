// What stands behind Collector.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "collector/access_book.h"
#include "collector/bell.h"
#include "collector/collector.h"
#include "collector/crew.h"
#include "collector/kind_book.h"
#include "collector/kind_watches.h"
#include "collector/namespace_book.h"

namespace kollect::collector {

/// One thread plans: it places registrations on kinds, kinds on watches, and tells who is
/// concerned. Everything that waits for the network runs elsewhere and rings the bell when it is
/// done. Locks are taken in this order: the engine's, a watch's, those of books, tallies and store.
class Engine {
 public:
  Engine(kube::Client& client, inventory::RowStore& store, const base::Clock& clock,
         const base::Logger* log, CollectorOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void start();
  void stop();
  void register_target(Registration registration);
  void unregister_target(const inventory::Owner& target);
  [[nodiscard]] std::vector<inventory::Owner> targets() const;
  [[nodiscard]] Signals signals(const inventory::Owner& target) const;
  [[nodiscard]] CollectorStats stats() const;
  [[nodiscard]] const NamespaceBook& namespaces() const { return namespaces_; }
  [[nodiscard]] const KindBook& kinds() const { return kinds_; }

  std::function<void(const inventory::Owner&)> signal_listener;
  std::function<void(const Refusal&)> refused_listener;
  std::function<void()> namespaces_listener;
  std::function<void()> kinds_listener;

 private:
  /// Group and kind, whatever the version.
  using KindName = std::pair<std::string, std::string>;
  /// Everything that tells watches apart.
  using ResourceKey = std::tuple<std::string, std::string, std::string, std::string, bool>;

  /// A target on one of its kinds.
  struct Placement {
    api::GroupVersionKind asked;
    std::shared_ptr<Tally> tally;
    std::shared_ptr<Core> core;        ///< none until placed
    KindWatches* kind = nullptr;       ///< none while the kind is not served
    std::optional<base::Error> error;  ///< why not
    std::string note;
    bool done_once = false;
    bool vanished = false;  ///< was read, and is no longer served: has no objects for certain
    base::SteadyTime since{};
  };
  struct Registered {
    Registration registration;
    std::map<KindName, Placement> placements;
    bool dirty = true;
    std::string told;  ///< signals as last told
    bool extraction_logged = false;
    bool access_logged = false;
  };

  void run(const std::stop_token& stop);
  base::SteadyTime plan(Bell::Rung& rung);
  void place(Registered& target);
  void place_kind(Registered& target, Placement& placement);
  void leave_kind(Placement& placement, const inventory::Owner& target);
  KindWatches& kind_of(const kube::Resource& resource);
  void ask_questions(base::SteadyTime now);
  void note_signals(Bell::Rung& rung, base::SteadyTime now);
  void log_troubles(const inventory::Owner& owner, Registered& target,
                    const Signals& signals) const;
  [[nodiscard]] Signals signals_of(const Registered& target, base::SteadyTime now) const;
  void add_placement(Signals& signals, const Registered& target, const Placement& placement,
                     base::SteadyTime now) const;
  [[nodiscard]] std::size_t count_rows(const Registered& target) const;
  void drop(const std::vector<Leftover>& leftovers);
  void start_reflectors();

  const CollectorOptions options_;
  kube::Client& client_;
  inventory::RowStore& store_;
  const base::Clock& clock_;
  const base::Logger* const log_;

  Bell bell_;
  Meter meter_;
  NamespaceBook namespaces_{bell_};
  KindBook kinds_;
  AccessBook access_;
  kube::ListGate gate_;
  Services services_;
  Crew quick_;
  Crew lists_;

  mutable std::mutex mutex_;
  std::map<inventory::Owner, Registered> targets_;
  std::map<ResourceKey, std::unique_ptr<KindWatches>> watches_;
  inventory::SourceId last_source_ = 0;
  bool kinds_changed_ = false;

  std::unique_ptr<kube::Reflector> namespace_reflector_;
  std::unique_ptr<kube::Reflector> crd_reflector_;
  std::jthread thread_;
};

}  // namespace kollect::collector
