#include <condition_variable>
#include <mutex>

#include "kube/reflector.h"

namespace kollect::kube {

struct ListGate::State {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::size_t free = 1;
};

ListGate::ListGate(std::size_t places) : state_(std::make_shared<State>()) {
  state_->free = places == 0 ? 1 : places;
}

ListGate::~ListGate() = default;

base::Result<std::shared_ptr<void>> ListGate::enter(const base::Context& context) {
  const auto wake = context.on_cancel([state = state_] {
    const std::scoped_lock lock(state->mutex);
    state->changed.notify_all();
  });
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->free > 0 || context.cancelled(); });
  KL_TRY(context.check());
  --state_->free;
  return std::shared_ptr<void>(nullptr, [state = state_](void*) {
    const std::scoped_lock inner(state->mutex);
    ++state->free;
    state->changed.notify_one();
  });
}

}  // namespace kollect::kube
