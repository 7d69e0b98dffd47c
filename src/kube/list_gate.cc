#include <condition_variable>
#include <deque>
#include <mutex>

#include "kube/reflector.h"

namespace kollect::kube {

/// First come, first served: the numbers of those who wait.
struct ListGate::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t free = 1;
  std::uint64_t next_number = 0;
  std::deque<std::uint64_t> line;

  void give_back() {
    const std::scoped_lock lock(mutex);
    ++free;
    changed.notify_all();
  }
};

ListGate::ListGate(std::size_t places) : state_(std::make_shared<State>()) {
  state_->free = std::max<std::size_t>(places, 1);
}

ListGate::~ListGate() = default;

base::Result<std::shared_ptr<void>> ListGate::enter(const base::Context& context) {
  // A deadline is looked at this often; cancelling wakes at once.
  constexpr std::chrono::seconds kLook{1};
  const auto wake = context.on_cancel([state = state_] {
    const std::scoped_lock lock(state->mutex);
    state->changed.notify_all();
  });
  std::unique_lock lock(state_->mutex);
  const std::uint64_t number = state_->next_number++;
  state_->line.push_back(number);
  base::Result<> state = context.check();
  while (state && (state_->free == 0 || state_->line.front() != number)) {
    state_->changed.wait_for(
        lock, std::min<base::Duration>(kLook, context.clock().real_time(context.remaining())));
    state = context.check();
  }
  std::erase(state_->line, number);
  // Whoever is first now may go on, be it behind us or instead of us.
  state_->changed.notify_all();
  KL_TRY(std::move(state));
  --state_->free;
  return std::shared_ptr<void>(nullptr, [held = state_](void*) { held->give_back(); });
}

std::size_t ListGate::waiting() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->line.size();
}

}  // namespace kollect::kube
