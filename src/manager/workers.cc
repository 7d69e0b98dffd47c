#include "manager/workers.h"

#include <chrono>
#include <exception>

#include "base/error_class.h"

namespace kollect::manager {

namespace {
/// A look talks to the API server only; clean-ups of sinks have limits of their own.
constexpr base::Duration kLookLimit = std::chrono::minutes(10);
}  // namespace

Workers::Workers(std::string name, WorkQueue& queue, std::size_t threads, Look look,
                 const base::Clock& clock, const base::Logger* log, Seen seen)
    : name_(std::move(name)),
      queue_(queue),
      look_(std::move(look)),
      clock_(clock),
      log_(log),
      seen_(std::move(seen)) {
  for (std::size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
  }
}

Workers::~Workers() {
  stop();
}

void Workers::stop() {
  for (auto& thread : threads_) thread.request_stop();
  queue_.wake_all();
  threads_.clear();
}

void Workers::run(const std::stop_token& stop) {
  while (const auto key = queue_.take(stop)) {
    look_at(base::Context(clock_, stop).with_timeout(kLookLimit), *key);
    queue_.done(*key);
  }
}

base::Result<std::optional<base::Duration>> Workers::timed_look(const base::Context& context,
                                                                const Key& key) {
  const base::SteadyTime began = clock_.steady_now();
  const auto tell = [&](const base::Error* error) {
    if (seen_) seen_(key, clock_.steady_now() - began, error);
  };
  try {
    auto result = look_(context, key);
    tell(result ? nullptr : &result.error());
    return result;
  } catch (const std::exception&) {
    const base::Error error = base::retryable("exception");
    tell(&error);
    throw;
  }
}

void Workers::look_at(const base::Context& context, const Key& key) {
  try {
    const auto result = timed_look(context, key);
    if (result) {
      queue_.forget(key);
      if (*result) queue_.add_after(key, **result);
      return;
    }
    const base::Error& error = result.error();
    if (error.kind == base::ErrorKind::kNotFound) {
      queue_.forget(key);  // it has gone meanwhile; the watch tells
      return;
    }
    queue_.add_failed(key);
    if (log_ == nullptr || error.kind == base::ErrorKind::kCancelled) return;
    if (error.kind == base::ErrorKind::kConflict) {
      log_->debug("somebody else was first", {{"controller", name_}, {"object", key.text()}});
      return;
    }
    log_->warn("pass failed", {{"controller", name_},
                               {"object", key.text()},
                               {"error_class", std::string(base::error_class(error))},
                               {"reason", error.reason},
                               {"error", error.message}});
  } catch (const std::exception& problem) {
    queue_.add_failed(key);
    if (log_ != nullptr) {
      log_->error("pass ended by an exception",
                  {{"controller", name_}, {"object", key.text()}, {"error", problem.what()}});
    }
  }
}

}  // namespace kollect::manager
