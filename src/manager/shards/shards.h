// Several replicas share the work of a cluster: which parts this process has, by leases.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "kube/client.h"
#include "manager/leader/election.h"
#include "manager/leader/fence.h"

namespace kollect::manager {

struct ShardOptions {
  std::size_t parts = 0;  ///< 1 or more, the same for all replicas
  std::string ns;         ///< of the leases
  std::string id;         ///< of the leases; their names begin with it
  std::string identity;   ///< unique in the world
  ElectionTimes times;
  base::Duration drain = std::chrono::seconds(30);  ///< exports of a part that is given up
};

/// What a part consists of here; all but last_resort are called on one thread.
struct ShardHooks {
  /// Asks for a fresh look at the cluster; true of the answer: it is there.
  std::function<std::function<bool()>()> refresh;
  /// The part's work begins.
  std::function<void(std::size_t part)> open;
  /// Nothing of the parts goes on when it returns; what may still end well has `grace` for it.
  std::function<void(const std::set<std::size_t>& parts, base::Duration grace)> close;
  /// Work goes on although its part is lost, and the lease's time is half over: the process must
  /// end at once.
  std::function<void()> last_resort;
};

/// For probes, metrics and tests.
struct ShardStatus {
  std::size_t parts = 0;
  std::set<std::size_t> held = {};  ///< worked on here
  std::size_t members = 0;          ///< replicas that are heard of, this one among them
  bool member = false;
  std::string blocked_by = {};  ///< who holds the common lease in another way; empty: nobody
  std::string error = {};       ///< why leases cannot be watched; empty: they are
};

/// Leases, all with the rules of an election:
///  - `<id>`, held in common by all replicas with this number of parts: neither a leader of the
///    whole nor replicas with another number of parts work beside them;
///  - `<id>-member-<n>`, n below twice the number of parts: who takes part, one each;
///  - `<id>-shard-<n>`: who works on part n.
/// Each replica computes from what it sees who should have what (assign()), gives up what others
/// should have, and takes what it should have as soon as that is free. Losing a part, or all of
/// them, does not end anything: this stands in line again. Safe whatever anybody sees: part n is
/// worked on inside its fence, and that stands by its lease alone. Threads: one that decides, two
/// per lease that is held or wanted, one watch. Thread-safe.
class Shards final : public Fences {
 public:
  /// References must outlive it. `client` should have connections of its own.
  Shards(kube::Client& client, const base::Clock& clock, const base::Logger* log,
         ShardOptions options);
  /// Stops without giving anything up.
  ~Shards() override;

  void start(ShardHooks hooks);
  /// Closes all parts and gives them up, in order.
  void stop();

  [[nodiscard]] std::shared_ptr<const Fence> of(std::string_view ns) const override;
  [[nodiscard]] ShardStatus status() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::manager
