// What a replica sees of the leases of all.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "kube/reflector.h"
#include "manager/leader/election.h"

namespace kollect::manager {

/// Fed by a watch of the leases of a namespace. Thread-safe.
class Roster final : public kube::ObjectReceiver {
 public:
  struct Seen {
    LeaseRecord record;
    base::SteadyTime since{};  ///< when it was first seen in this state
    /// When its holder was heard of: `since`, but of what was there before us as its own time says.
    /// Clocks differ, so that this is for guesses who is there, and never for who may write.
    base::SteadyTime heard{};
  };
  using Listener = std::function<void(const std::string& lease, const std::optional<LeaseRecord>&)>;

  /// Knows leases whose names begin with `id`. `changed` is called on the watch's thread.
  Roster(const base::Clock& clock, std::string id, Listener changed)
      : clock_(clock), id_(std::move(id)), changed_(std::move(changed)) {}

  void begin_list() override { listed_.clear(); }
  void object(base::json::View object) override;
  void deleted(base::json::View object) override;
  void end_list() override;

  /// The first list is in.
  [[nodiscard]] bool known() const;
  [[nodiscard]] std::optional<Seen> find(const std::string& lease) const;
  /// Who holds the lease and was heard of in its time; empty: nobody.
  [[nodiscard]] std::string holder(const std::string& lease) const;

 private:
  void put(const std::string& lease, const std::optional<LeaseRecord>& record);
  [[nodiscard]] Seen seen_now(const LeaseRecord& record, bool first) const;

  const base::Clock& clock_;
  const std::string id_;
  const Listener changed_;
  std::set<std::string> listed_;  ///< of the watch's thread
  mutable std::mutex mutex_;
  std::map<std::string, Seen> seen_;
  bool known_ = false;
};

}  // namespace kollect::manager
