// What the cluster serves, and when to ask again.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "api/types.h"
#include "collector/bell.h"
#include "kube/client.h"
#include "kube/reflector.h"

namespace kollect::collector {

/// The last discovery. Asked anew at the start, when a kind is missing, when a watch says that its
/// kind is gone, and after changes of CRDs (as their receiver). Thread-safe.
class KindBook final : public kube::ObjectReceiver {
 public:
  /// `retry`: while a kind is missing.
  KindBook(Bell& bell, const base::Clock& clock, base::Duration retry)
      : bell_(bell), clock_(clock), retry_(retry) {}

  /// A CRD changed. It is served, or gone, only a moment later.
  void object(base::json::View object) override;
  void deleted(base::json::View object) override;
  void begin_list() override {}
  void end_list() override;
  /// A watch was told that there is no such resource.
  void suspect();

  /// Errors: as of Discovery::find, where "gvk-not-found" comes from a discovery that succeeded;
  /// "discovery-pending", or why there is none yet.
  [[nodiscard]] base::Result<kube::Discovery::Found> find(const api::GroupVersionKind& kind) const;

  /// True when it is time to ask; the caller then asks and tells the answer.
  bool take_due(base::SteadyTime now);
  void answered(base::Result<kube::Discovery> answer);
  /// When take_due() may become true by itself.
  [[nodiscard]] base::SteadyTime next() const;
  /// find() may answer otherwise than at the last call.
  bool take_changed();

 private:
  void changed_crds();
  [[nodiscard]] base::SteadyTime due() const;

  Bell& bell_;
  const base::Clock& clock_;
  const base::Duration retry_;
  mutable std::mutex mutex_;
  std::shared_ptr<const kube::Discovery> known_;
  std::optional<base::Error> error_;  ///< of the last attempt
  bool asking_ = false;
  bool again_ = false;  ///< something happened while asking
  bool changed_ = false;
  bool crds_listed_ = false;
  std::size_t echo_ = SIZE_MAX;  ///< of the looks after a change of CRDs
  std::uint32_t failures_ = 0;
  base::SteadyTime due_{};   ///< at the start at once
  base::SteadyTime last_{};  ///< answer
  /// A kind was asked for in vain; by const functions.
  mutable std::optional<base::SteadyTime> missing_;
};

}  // namespace kollect::collector
