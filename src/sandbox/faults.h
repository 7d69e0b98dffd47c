// What goes wrong on purpose: rules that pick requests and say what happens to them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json/value.h"
#include "base/result.h"
#include "http/server.h"
#include "sandbox/call.h"

namespace kollect::sandbox {

/// One rule. Its decisions follow the seed and the number of the match alone, so that the same
/// requests meet the same faults.
struct FaultRule {
  enum class Action {
    kError,        ///< an answer with `code`
    kCut,          ///< the connection ends: without an answer, or after `after_*` of the body
    kStall,        ///< silence: no answer, or none behind `after_*`
    kGone,         ///< 410: as the answer of a list, or as an event of a watch after `after_events`
    kDuplicate,    ///< events of a watch that come twice
    kLate,         ///< events that come behind `by` others, never behind one of the same object
    kNoBookmarks,  ///< of a watch
    kNoListEnd,    ///< the bookmark that ends a streamed list is missing
  };
  std::string id = {};
  Action action = Action::kError;
  std::vector<std::string> verbs = {};       ///< empty: all
  std::vector<std::string> resources = {};   ///< "pods", "deployments.apps"; empty: all
  std::vector<std::string> namespaces = {};  ///< empty: all
  double probability = 1;                    ///< of requests; for kDuplicate and kLate of events
  std::uint64_t skip = 0;                    ///< matches that pass at first
  std::uint64_t times = UINT64_MAX;          ///< how often it may strike
  int code = 500;
  int retry_after = 0;
  std::optional<std::uint64_t> after_events = {};
  std::optional<std::uint64_t> after_bytes = {};
  std::uint64_t by = 3;
};

/// Thread-safe.
class Faults {
 public:
  /// `clock` must outlive it.
  Faults(const base::Clock& clock, std::uint64_t seed) : clock_(clock), seed_(seed) {}

  /// Replaces all rules: {"seed": 7, "rules": [{"id": "x", "do": "cut", "verbs": ["watch"],
  /// "probability": 0.1, "afterEvents": 5}]}. Error (configuration): names the member.
  base::Result<> set(const base::json::Value& document);
  /// No rules; stalled requests are let go (their connections are closed).
  void clear();
  /// The rules, and how often each has matched and struck.
  [[nodiscard]] base::json::Value describe() const;
  /// From now on and for so long every request is cut, as by a server that is down.
  void go_down(base::Duration how_long) { down_until_ = clock_.steady_now() + how_long; }

  /// Answers a request with `answer`, unless a rule says otherwise.
  void serve(const std::optional<Call>& call, http::Reply reply,
             const std::function<http::Answer()>& answer);

  /// A rule with what became of it.
  struct Live {
    FaultRule rule;
    std::uint64_t seed = 0;
    std::atomic<std::uint64_t> matches = 0;
    std::atomic<std::uint64_t> strikes = 0;
    /// Takes one turn; true when it strikes.
    bool strikes_now();
  };
  using LivePtr = std::shared_ptr<Live>;

 private:
  [[nodiscard]] std::vector<LivePtr> matching(const Call& call) const;

  const base::Clock& clock_;
  std::uint64_t seed_;
  std::atomic<base::SteadyTime> down_until_{base::SteadyTime::min()};
  mutable std::mutex mutex_;
  std::vector<LivePtr> rules_;
  std::vector<http::Reply> stalled_;
};

/// The body of an answer with faults: `rules` have been chosen for it. `events`: it is a watch's.
std::shared_ptr<http::BodySource> with_faults(std::shared_ptr<http::BodySource> inner,
                                              std::vector<Faults::LivePtr> rules, bool events);

}  // namespace kollect::sandbox
