#include "collector/crew.h"

#include <algorithm>

namespace kollect::collector {

Crew::Crew(const base::Clock& clock, std::size_t threads) : clock_(clock) {
  for (std::size_t i = 0; i < std::max<std::size_t>(1, threads); ++i) {
    threads_.emplace_back([this] { run(stop_.get_token()); });
  }
}

void Crew::post(Job job) {
  const std::scoped_lock lock(mutex_);
  if (stopped_) return;
  jobs_.push_back(std::move(job));
  changed_.notify_one();
}

void Crew::stop() {
  std::deque<Job> dropped;
  {
    const std::scoped_lock lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    dropped.swap(jobs_);
  }
  stop_.request_stop();
  changed_.notify_all();
  for (std::jthread& thread : threads_) thread.join();
}

void Crew::run(const std::stop_token& stop) {
  const base::Context context(clock_, stop);
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return !jobs_.empty(); }) || stop.stop_requested()) {
        return;
      }
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job(context);
  }
}

}  // namespace kollect::collector
