// One watch of the collector and what it owes to its lanes.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "collector/applier.h"
#include "collector/meter.h"
#include "kube/reflector.h"

namespace kollect::collector {

/// What all watches use. Outlives them.
struct Services {
  kube::Client& client;
  inventory::RowStore& store;
  const base::Clock& clock;
  const base::Logger* log;
  const CollectorOptions& options;
  kube::ListGate& gate;
  NamespaceBook& namespaces;
  Bell& bell;
  Meter& meter;
  const std::function<void(const Refusal&)>* refused = nullptr;  ///< Collector::on_refused
};

/// A list beside the watch, for lanes or a namespace that must be looked at anew.
struct Errand {
  std::vector<std::shared_ptr<const Core>> cores;  ///< empty: all lanes of the namespaces
  std::vector<std::string> lists;                  ///< namespaces; "": all that is watched
  std::uint64_t order = 0;                         ///< wants up to here are satisfied by it
  std::uint64_t lists_begun = 0;                   ///< of the watch; another one supersedes it
  std::shared_ptr<const LaneIndex> index;          ///< when it began
};

/// A reflector on one resource in one namespace, or in all. What it receives it applies to its
/// lanes on the reflector's thread.
///
/// Lanes that join, and namespaces whose labels change, are *wanted*: they must see every object
/// once. The next complete list of the reflector does that, or, while it just watches, an errand:
/// a list of its own. The two do not race, because the watch has the last word: objects that it
/// handles while an errand is under way are not touched by the errand any more. (Whatever the
/// errand's list is older than, the watch still delivers; and a list of the reflector, after which
/// nothing older is delivered, ends the errand.)
///
/// Thread-safe. Calls the bell for every change of what it tells.
class Watch final : public kube::ObjectReceiver {
 public:
  Watch(Services& services, const kube::Resource& resource, std::string ns,
        inventory::SourceId source);
  /// Ends the reflector and waits. Not on its thread.
  ~Watch() override;

  /// Objects in `left_out` are not handled: another watch still does.
  void open(std::shared_ptr<const LaneIndex> index, std::set<std::string> left_out);
  /// The lanes from now on; of them, `cores` must see all objects, and all lanes those of
  /// `namespaces`. When it returns no object is being handled with the old ones.
  void set_index(std::shared_ptr<const LaneIndex> index,
                 const std::vector<std::shared_ptr<const Core>>& cores,
                 const std::set<std::string>& namespaces);
  void want_all();
  void want_namespaces(const std::set<std::string>& namespaces);
  /// Handles these left out namespaces from now on.
  void take_over(const std::set<std::string>& namespaces);
  /// No object is handled any more, and none is being handled when it returns. Its connection ends.
  void mute();
  /// No object is being handled with what was known before.
  void barrier() const;
  /// Its resource may be served again.
  void hurry();
  /// Where watching is refused: lists now and then, to learn whether that is still allowed.
  void probe(base::SteadyTime now);

  // kube::ObjectReceiver, on the reflector's thread.
  void begin_list() override;
  void object(base::json::View object) override;
  void deleted(base::json::View object) override;
  void end_list() override;

  /// The next errand, when there is one to be done now; it must then be run.
  std::optional<Errand> next_errand(base::SteadyTime now);
  void run(const base::Context& context, const Errand& errand);

  [[nodiscard]] const std::string& ns() const { return ns_; }
  [[nodiscard]] inventory::SourceId source() const { return source_; }
  [[nodiscard]] const kube::Resource& resource() const { return resource_; }
  [[nodiscard]] bool synced() const { return synced_; }
  /// The core has seen every object of a complete list.
  [[nodiscard]] bool done(const Core& core) const;
  /// Something of these namespaces must be looked at anew.
  [[nodiscard]] bool wants_any(const std::vector<std::string>& namespaces) const;
  /// Why it delivers nothing: refusals at once, passing failures when they last for the deadline
  /// of first lists.
  [[nodiscard]] std::optional<base::Error> problem(base::SteadyTime now) const;
  /// When problem(), next_errand() or the resync change by themselves.
  [[nodiscard]] base::SteadyTime next(base::SteadyTime now) const;
  /// What the server refused since the last call.
  struct Trouble {
    std::optional<std::string> list_refused;  ///< why
    bool watch_refused = false;
    bool not_served = false;
  };
  Trouble take_trouble();
  [[nodiscard]] WatchStats stats() const;

 private:
  class ErrandReceiver;
  void noted(const kube::ReflectorStatus& status);
  void note_trouble(const base::Error& error);
  void handle(base::json::View object, bool gone);
  /// Of an errand; false when it is superseded.
  bool handle_listed(const Errand& errand, const std::vector<const Core*>& only,
                     base::json::View object);
  void finish(const Errand& errand, const base::Result<>& outcome);
  template <class Sweep>
  void for_owners(const LaneIndex& index, const Sweep& sweep) const;
  /// Those that look at what is watched here.
  [[nodiscard]] std::set<const Core*> cores_in(const LaneIndex& index) const;
  void begin_sweeps(const std::set<const Core*>& cores);
  /// Those that began with this index: others have not seen all.
  void end_sweeps(const LaneIndex& index, const std::set<const Core*>& cores);
  void widen_wants();
  [[nodiscard]] std::vector<std::string> lists_for(const std::set<const Core*>& cores) const;

  Services& services_;
  const kube::Resource resource_;
  const std::string ns_;
  const inventory::SourceId source_;
  const base::SteadyTime opened_;
  std::unique_ptr<kube::Reflector> reflector_;
  std::atomic<bool> synced_ = false;
  /// Of the failures that go on.
  std::atomic<base::SteadyTime> failing_since_ = base::SteadyTime::max();

  mutable std::mutex mutex_;
  Applier applier_;
  std::shared_ptr<const LaneIndex> index_;
  std::set<std::string, std::less<>> left_out_;
  bool muted_ = false;
  // Lists of the reflector.
  bool listing_ = false;
  std::uint64_t lists_begun_ = 0;
  std::uint64_t list_order_ = 0;  ///< wants up to here are satisfied by the running one
  std::shared_ptr<const LaneIndex> list_index_;  ///< when it began
  std::uint64_t listed_again_ = 0;
  std::uint64_t misses_ = 0;
  // Wants, by their order.
  std::uint64_t order_ = 0;
  std::map<const Core*, std::uint64_t> cores_;
  std::map<std::string, std::uint64_t> namespaces_;
  // The running errand.
  bool errand_ = false;
  std::unordered_set<std::uint64_t> touched_;  ///< objects that the watch handled meanwhile
  std::uint32_t errand_failures_ = 0;
  base::SteadyTime errand_after_{};
  base::SteadyTime resync_{};
  Trouble trouble_;
  base::SteadyTime probe_after_{};  ///< of the engine's thread
};

}  // namespace kollect::collector
