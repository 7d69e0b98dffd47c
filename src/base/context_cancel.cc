#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/context.h"

namespace kollect::base {

namespace {

/// Callbacks on every stop token of a context's chain; whichever comes first calls, the others do
/// not.
struct CancelHooks {
  explicit CancelHooks(std::function<void()> f) : wake(std::move(f)) {}
  void fire() {
    if (!fired.test_and_set()) wake();
  }

  std::function<void()> wake;
  std::atomic_flag fired;
  // Last member: the callbacks are gone before what they use.
  std::vector<std::unique_ptr<std::stop_callback<std::function<void()>>>> hooks;
};

}  // namespace

std::shared_ptr<void> Context::on_cancel(std::function<void()> wake) const {
  auto state = std::make_shared<CancelHooks>(std::move(wake));
  for (const Context* at = this; at != nullptr; at = at->parent_.get()) {
    if (!at->stop_.stop_possible()) continue;
    state->hooks.push_back(std::make_unique<std::stop_callback<std::function<void()>>>(
        at->stop_, [raw = state.get()] { raw->fire(); }));
  }
  return state;
}

}  // namespace kollect::base
