#include "base/context.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

namespace kollect::base {

Context Context::background() {
  static const SystemClock clock;
  return {clock, std::stop_token()};
}

Context::Context(const Clock& clock, std::stop_token stop)
    : clock_(&clock), stop_(std::move(stop)) {}

Context Context::with_timeout(Duration limit) const {
  Context child = *this;
  const SteadyTime now = clock_->steady_now();
  // Saturates: "now + max" must not wrap to the past.
  if (limit < SteadyTime::max() - now) {
    child.deadline_ = std::min(deadline_, now + limit);
  }
  return child;
}

Context Context::with_stop(std::stop_token stop) const {
  Context child = *this;
  child.stop_ = std::move(stop);
  child.parent_ = std::make_shared<const Context>(*this);
  return child;
}

bool Context::cancelled() const {
  return !check().has_value();
}

Duration Context::remaining() const {
  if (deadline_ == SteadyTime::max()) {
    return Duration::max();
  }
  return std::max(Duration::zero(), deadline_ - clock_->steady_now());
}

Result<> Context::check() const {
  for (const Context* at = this; at != nullptr; at = at->parent_.get()) {
    if (at->stop_.stop_requested()) {
      return base::cancelled("cancelled", "cancelled");
    }
  }
  if (remaining() == Duration::zero()) {
    return base::cancelled("time limit reached", "timeout");
  }
  return {};
}

bool Context::sleep(Duration how_long) const {
  const Duration limit = remaining();
  const Duration wait = std::min(how_long, limit);
  if (!check().has_value()) {
    return false;
  }
  if (parent_ == nullptr) {
    return clock_->sleep(wait, stop_) && how_long <= limit;
  }
  // Several sources may end the wait: they are funnelled into one.
  std::stop_source any;
  const auto fire = [&any] { any.request_stop(); };
  std::deque<std::stop_callback<std::function<void()>>> callbacks;
  for (const Context* at = this; at != nullptr; at = at->parent_.get()) {
    callbacks.emplace_back(at->stop_, std::function<void()>(fire));
  }
  return clock_->sleep(wait, any.get_token()) && how_long <= limit;
}

}  // namespace kollect::base
