// All watches of one resource and the lanes that they feed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/access_book.h"
#include "collector/crew.h"
#include "collector/kind_book.h"
#include "collector/watch.h"

namespace kollect::collector {

/// Rows that a closed watch has left behind until another one has seen everything.
struct Leftover {
  inventory::Owner owner;
  inventory::SourceId source;
};

/// One watch on all namespaces where that is allowed, else one per namespace; one on the only
/// namespace that all lanes want, as long as there is only one (spec: runtime 8.2). Watches are
/// opened and closed by plan(); rows never vanish because of that alone.
///
/// Used under the engine's lock; nothing here waits for the network.
class KindWatches {
 public:
  struct Tools {
    Services& services;
    AccessBook& access;
    KindBook& kinds;
    Crew& quick;  ///< for what ends soon
    Crew& lists;
    inventory::SourceId& last_source;
  };
  KindWatches(Tools tools, kube::Resource resource);
  ~KindWatches();
  KindWatches(const KindWatches&) = delete;
  KindWatches& operator=(const KindWatches&) = delete;

  [[nodiscard]] const kube::Resource& resource() const { return resource_; }
  [[nodiscard]] bool empty() const { return lanes_.empty(); }

  /// Adds a lane, or replaces the one of its target. `leftovers` go when it has seen everything.
  void set_lane(LanePtr lane, std::vector<Leftover> leftovers = {});
  /// The target's lane goes; its rows stay, and belong to the answer. No object is being handled
  /// for it when this returns.
  std::vector<Leftover> take_lane(const inventory::Owner& target);
  /// Their labels or consent have changed.
  void relabelled(const std::set<std::string>& namespaces);
  /// The resource may be served again.
  void hurry();
  /// Looks at lanes, rights and watches and does what follows.
  void plan(base::SteadyTime now);
  [[nodiscard]] base::SteadyTime next(base::SteadyTime now) const;

  /// How a target's lane stands.
  struct View {
    bool done = false;        ///< it has seen everything that it may
    bool evaluating = false;  ///< something must be looked at anew
    std::optional<base::Error> error;
    std::optional<base::Error> access_error;
    std::vector<std::string> forbidden;
    std::size_t watches = 0;
  };
  [[nodiscard]] View view(const inventory::Owner& target, base::SteadyTime now) const;
  [[nodiscard]] std::vector<WatchStats> stats() const;

 private:
  using WatchPtr = std::shared_ptr<Watch>;
  /// What there should be.
  struct Goal {
    bool everything = false;           ///< one watch without a namespace
    std::set<std::string> namespaces;  ///< one each
    std::set<std::string> undecided;   ///< what is there stays, nothing new
    bool keep = false;                 ///< nothing is known: everything stays as it is
    std::set<std::string> forbidden;
    bool forbidden_everything = false;  ///< cluster-scoped, or all of them
    std::string message;                ///< of what is forbidden
    std::optional<base::Error> access_error;
  };

  void refresh_index();
  void look_at_trouble(base::SteadyTime now);
  [[nodiscard]] Goal decide(base::SteadyTime now);
  void decide_one_by_one(Goal& goal, base::SteadyTime now);
  /// Tells whose rows are about to go because they may not be listed.
  void announce(const std::set<std::string>& newly, bool everything);
  void pursue();
  void pursue_everything();
  void pursue_namespaces();
  void open(const std::string& ns, std::set<std::string> left_out = {});
  void bury(WatchPtr watch);
  /// Closes it; its rows are leftovers of the lanes.
  void retire(WatchPtr watch);
  void drop_rows(const Lane& lane, const std::set<std::string>& namespaces);
  void settle_leftovers();
  void drop_leftovers(const Core& core, const std::vector<Leftover>& leftovers);
  void start_errands(base::SteadyTime now);
  /// Watches that feed the lane; a null pointer for a namespace that none covers yet.
  [[nodiscard]] std::vector<const Watch*> watches_of(const Lane& lane) const;
  [[nodiscard]] bool settled(const Lane& lane) const;
  template <class Do>
  void for_watches(const Do& work) const {
    for (const auto& [ns, watch] : watches_) work(*watch);
    for (const auto& [ns, watch] : leaving_) work(*watch);
  }

  const Tools tools_;
  const kube::Resource resource_;

  struct Placed {
    LanePtr lane;
    std::vector<Leftover> leftovers;
    std::set<std::string> lost;  ///< namespaces whose rows go with the next index
  };
  std::map<inventory::Owner, Placed> lanes_;
  std::set<std::string> needed_;  ///< namespaces of all lanes
  std::shared_ptr<const LaneIndex> index_;
  bool dirty_ = true;
  std::vector<std::shared_ptr<const Core>> new_cores_;
  std::set<std::string> new_namespaces_;

  std::map<std::string, WatchPtr> watches_;  ///< by namespace; "": everything
  /// Of single namespaces, until the one on everything has its first list.
  std::map<std::string, WatchPtr> leaving_;
  Goal goal_;
};

}  // namespace kollect::collector
