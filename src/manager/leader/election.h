// Who leads, as a state machine without threads, clocks or servers (spec: runtime 1). The lease is
// an object coordination.k8s.io/v1 Lease; its wall clock times are for people: what decides are
// changes of the object, versions that the server gives, and the local monotonic clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace kollect::manager {

struct ElectionTimes {
  base::Duration lease = std::chrono::seconds(60);  ///< others wait so long after a renewal
  /// A leader that could not renew for so long stops; counted from before the last good request.
  base::Duration renew_deadline = std::chrono::seconds(40);
  base::Duration retry = std::chrono::seconds(5);  ///< between two requests
  /// Error: configuration, unless 0 < retry < renew_deadline < lease.
  [[nodiscard]] base::Result<> check() const;
};

/// What the lease says.
struct LeaseRecord {
  std::string holder;         ///< identity; empty: nobody
  base::Duration duration{};  ///< whole seconds
  std::optional<base::WallTime> acquired = {};
  std::optional<base::WallTime> renewed = {};
  std::int64_t transitions = 0;
  std::string version;  ///< metadata.resourceVersion; empty: not on the server
};

/// Used by one thread at a time. Whoever drives it asks next(), does what it says and hands the
/// answer to answered().
class Election {
 public:
  enum class State {
    kStandby,   ///< somebody else may lead
    kLeading,   ///< this process alone may write, until until()
    kLost,      ///< it led and must end; for ever
    kReleased,  ///< it gave the lease up; for ever
  };
  enum class Ask {
    kWait,    ///< nothing until `when`
    kRead,    ///< read the lease
    kCreate,  ///< create it as `record` says
    kUpdate,  ///< change it to `record` if it still has record.version
    kNothing  ///< never again
  };
  struct Move {
    Ask ask = Ask::kNothing;
    base::SteadyTime when{};
    LeaseRecord record = {};
  };

  /// `identity`: unique in the world, also among the processes of one place.
  Election(std::string identity, ElectionTimes times, std::uint64_t seed);

  Move next(base::SteadyTime now, base::WallTime wall);
  /// The lease as the server holds it now, or an error: not_found, conflict (changed or created
  /// meanwhile), any other. `sent`: before the request was sent.
  void answered(const Move& move, const base::Result<LeaseRecord>& answer, base::SteadyTime sent,
                base::SteadyTime now);
  /// A watch saw the lease in this state; none: it was deleted. May come late, saves waiting.
  void observed(const std::optional<LeaseRecord>& record, base::SteadyTime now);
  /// From now on next() gives the lease up; only after all writes have ended.
  void release(base::SteadyTime now);

  [[nodiscard]] State state() const { return state_; }
  /// Until when a leader may write.
  [[nodiscard]] base::SteadyTime until() const { return until_; }
  /// Who holds the lease as far as known; empty: nobody.
  [[nodiscard]] const std::string& holder() const { return seen_.holder; }
  /// Why it was lost.
  [[nodiscard]] const std::string& why_lost() const { return why_lost_; }
  [[nodiscard]] const std::string& identity() const { return identity_; }

 private:
  [[nodiscard]] LeaseRecord claim(base::WallTime wall) const;
  [[nodiscard]] base::SteadyTime free_at() const;
  void see(const LeaseRecord& record, base::SteadyTime now);
  void standby_answered(const Move& move, const base::Result<LeaseRecord>& answer,
                        base::SteadyTime sent, base::SteadyTime now);
  void leader_answered(const Move& move, const base::Result<LeaseRecord>& answer,
                       base::SteadyTime sent, base::SteadyTime now);
  void ask(Ask what, base::SteadyTime when);
  void wait_to_read(base::SteadyTime now);
  void lose(std::string why);

  std::string identity_;
  ElectionTimes times_;
  std::minstd_rand random_;
  State state_ = State::kStandby;
  bool releasing_ = false;
  bool claiming_ = false;  ///< a request that may make us leader is under way
  Ask ask_ = Ask::kRead;
  base::SteadyTime when_{};  ///< of ask_
  base::SteadyTime until_ = base::SteadyTime::min();
  LeaseRecord seen_;
  base::SteadyTime seen_at_{};  ///< when seen_ was first seen in this state
  std::string why_lost_;
};

std::string_view to_string(Election::State state);

}  // namespace kollect::manager
