#include "collector/bell.h"

#include <utility>

namespace kollect::collector {

void Bell::plan() {
  const std::scoped_lock lock(mutex_);
  rung_.plan = true;
  wake_.request_stop();
}

void Bell::signal(const inventory::Owner& target) {
  const std::scoped_lock lock(mutex_);
  rung_.targets.insert(target);
  wake_.request_stop();
}

Bell::Rung Bell::wait(const base::Clock& clock, base::Duration at_most) {
  std::stop_token token;
  {
    const std::scoped_lock lock(mutex_);
    if (wake_.stop_requested()) wake_ = std::stop_source();
    if (rung_.plan || !rung_.targets.empty()) return std::exchange(rung_, {});
    token = wake_.get_token();
  }
  clock.sleep(at_most, token);
  const std::scoped_lock lock(mutex_);
  return std::exchange(rung_, {});
}

}  // namespace kollect::collector
