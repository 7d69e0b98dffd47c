// Holds the lease of a cluster for this process: an Election on the server's Lease, and the fence
// that stands as long as it leads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "kube/client.h"
#include "manager/leader/election.h"
#include "manager/leader/fence.h"

namespace kollect::manager {

struct ElectorOptions {
  std::string ns;    ///< of the lease
  std::string name;  ///< of the lease
  std::string identity;
  ElectionTimes times;
  std::uint64_t seed = 0;  ///< of jitter; 0: from the machine
  /// False: somebody who watches more leases than this one calls observed().
  bool watch = true;
};

/// Host name (of a pod: its name) and 64 random bits.
std::string new_identity();

/// For probes and metrics.
struct ElectorStatus {
  Election::State state = Election::State::kStandby;
  std::string holder;  ///< as far as known; empty: nobody
  std::string error;   ///< of the last request; empty: it was answered
};

/// Threads of its own: one that asks and renews, one that lets the fence fall when its time comes,
/// whatever the first is doing, and a watch of the lease, without which changes are seen a retry
/// period later. Nothing of it writes to the log but changes. Thread-safe.
class Elector {
 public:
  /// References must outlive it. `client` should have connections of its own: renewals must not
  /// wait behind lists.
  Elector(kube::Client& client, const base::Clock& clock, const base::Logger* log,
          ElectorOptions options, Fence& fence);
  /// Stops without giving the lease up.
  ~Elector();
  Elector(const Elector&) = delete;
  Elector& operator=(const Elector&) = delete;

  /// `leads` is called once when this process leads, `lost` once when it does no longer; on threads
  /// of the elector, quick. When the process still lives half the time that is left to others
  /// after the fall, `last_resort` is called: work that ignores its cancellation must not outlive
  /// the lease.
  void start(std::function<void()> leads, std::function<void(const std::string& why)> lost,
             std::function<void()> last_resort);
  /// Lets the fence fall, gives the lease up and ends; after all writes have ended. Waits for the
  /// server, at most `limit`.
  void release(base::Duration limit);
  /// The lease was seen in this state for the first time then; none: deleted. Also before start().
  void observed(const std::optional<LeaseRecord>& record, base::SteadyTime when);
  [[nodiscard]] ElectorStatus status() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::manager
