// The status of a reflector between its thread and those who look.
#pragma once

#include <functional>
#include <mutex>

#include "kube/reflector.h"

namespace kollect::kube {

/// Thread-safe; writing is the reflector's thread's.
class StatusBoard {
 public:
  using Listener = std::function<void(const ReflectorStatus&)>;
  void listen(Listener listener) { listener_ = std::move(listener); }

  /// `change(status)`. The listener is called when state, synced or error are others afterwards.
  template <class Change>
  void update(Change&& change);
  /// The same for what no listener waits for: cheap.
  template <class Change>
  void count(Change&& change) {
    const std::scoped_lock lock(mutex_);
    change(status_);
  }
  [[nodiscard]] ReflectorStatus copy() const {
    const std::scoped_lock lock(mutex_);
    return status_;
  }

 private:
  Listener listener_;
  mutable std::mutex mutex_;
  ReflectorStatus status_;
};

template <class Change>
void StatusBoard::update(Change&& change) {
  const auto essence = [](const ReflectorStatus& status) {
    const auto& error = status.error;
    return std::tuple(status.state, status.synced, error.has_value(),
                      error ? error->reason : std::string(),
                      error ? error->message : std::string());
  };
  ReflectorStatus now;
  {
    const std::scoped_lock lock(mutex_);
    const auto before = essence(status_);
    change(status_);
    if (essence(status_) == before) return;
    now = status_;
  }
  if (listener_) listener_(now);
}

}  // namespace kollect::kube
