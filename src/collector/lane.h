// A target on one kind, and which targets look at which namespace.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/string_hash.h"
#include "collector/collector.h"
#include "collector/tally.h"

namespace kollect::collector {

/// A registration on one kind, whatever its namespaces. What has the same core is judged and
/// extracted in the same way.
struct Core {
  Core(const Registration& registration, std::shared_ptr<Tally> the_tally)
      : target(registration.target),
        selection(registration.selection),
        program(registration.program),
        cluster(registration.cluster),
        tally(std::move(the_tally)) {}

  const inventory::Owner target;
  const select::Selection selection;
  const extract::Program program;
  const std::string cluster;
  const std::shared_ptr<Tally> tally;
  /// Objects are no longer judged for it. Set before a barrier of the kind's watches.
  std::atomic<bool> closed = false;
};

/// A core with its namespaces.
struct Lane {
  Lane(std::shared_ptr<Core> the_core, std::vector<std::string> namespaces, bool namespaced);
  /// Owner of the rows of objects in `ns`.
  [[nodiscard]] inventory::Owner owner_in(const std::string& ns) const;

  const std::shared_ptr<Core> core;
  const std::vector<std::string> effective;  ///< sorted
  /// Owners of its rows: one, or for a cluster target one per effective namespace, in that order.
  std::vector<inventory::Owner> owners;
};
using LanePtr = std::shared_ptr<const Lane>;

/// Which lanes look at a namespace. Immutable.
class LaneIndex {
 public:
  struct Entry {
    const Lane* lane;
    const inventory::Owner* owner;
  };
  LaneIndex(std::vector<LanePtr> lanes, bool namespaced);

  /// Lanes that look at objects in `ns` ("" for cluster-scoped kinds).
  [[nodiscard]] const std::vector<Entry>& in(std::string_view ns) const;
  [[nodiscard]] const std::vector<LanePtr>& lanes() const { return lanes_; }

 private:
  std::vector<LanePtr> lanes_;
  std::unordered_map<std::string, std::vector<Entry>, base::StringHash, std::equal_to<>>
      by_namespace_;
  std::vector<Entry> none_;
};

/// Removes the rows of an owner that `wanted` takes; how many.
std::size_t remove_rows(inventory::RowStore& store, const inventory::Owner& owner,
                        const std::function<bool(const inventory::RowView&)>& wanted);

}  // namespace kollect::collector
