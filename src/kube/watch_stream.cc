#include "kube/watch_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace kollect::kube {

namespace {

/// The server's words on an error; what is longer is no use.
constexpr std::size_t kMostErrorText = 64U << 10U;
constexpr std::size_t kReadBuffer = 16U << 10U;

}  // namespace

void WatchStream::Shared::on_head(const http::Response& answer_head) {
  last_byte = clock.steady_now().time_since_epoch().count();
  if (answer_head.status != 200) return;
  const std::scoped_lock lock(mutex);
  head = true;
  changed.notify_all();
}

bool WatchStream::Shared::on_data(const http::Response& answer_head, std::string_view data) {
  last_byte = clock.steady_now().time_since_epoch().count();
  bytes += data.size();
  const std::scoped_lock lock(mutex);
  if (answer_head.status != 200) {
    error_body.append(data.substr(0, kMostErrorText - std::min(kMostErrorText, error_body.size())));
    return true;
  }
  arrived.append(data);
  if (load != nullptr) {
    const auto lines = static_cast<std::uint64_t>(std::ranges::count(data, '\n'));
    arrived_lines += lines;
    load->waiting += lines;
  }
  if (queued += data.size(); queued >= queue_bytes) {
    if (!held_up.exchange(true) && load != nullptr) ++load->held_up;
    flow->pause();
  }
  changed.notify_all();
  return true;
}

void WatchStream::Shared::resume() {
  held_up = false;
  flow->resume();
}

void WatchStream::Shared::on_done(base::Result<http::Response> result) {
  const std::scoped_lock lock(mutex);
  if (result) result->body = std::move(error_body);
  answer = std::move(result);
  changed.notify_all();
}

WatchStream::WatchStream(http::Client& http, const base::Context& context, http::Request request,
                         Limits limits)
    : limits_(limits), shared_(std::make_shared<Shared>(context.clock())) {
  shared_->queue_bytes = limits.queue_bytes;
  shared_->load = limits.load;
  shared_->last_byte = context.clock().steady_now().time_since_epoch().count();
  request.flow = shared_->flow;
  request.stall_timeout = limits.silence;
  request.read_buffer_bytes = kReadBuffer;
  http.start_stream(
      context.with_stop(stop_.get_token()), std::move(request),
      {.on_head = [shared = shared_](const http::Response& head) { shared->on_head(head); },
       .on_data = [shared = shared_](const http::Response& head,
                                     std::string_view data) { return shared->on_data(head, data); },
       .done = [shared = shared_](
                   base::Result<http::Response> result) { shared->on_done(std::move(result)); }});
}

WatchStream::~WatchStream() {
  stop_.request_stop();
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [this] { return shared_->answer.has_value(); });
  lines_taken(lines_);
  lines_ = std::exchange(shared_->arrived_lines, 0);
  lines_taken(lines_);
}

base::SteadyTime WatchStream::last_byte() const {
  return base::SteadyTime(base::Duration(shared_->last_byte.load()));
}

void WatchStream::settle() {
  const std::size_t handled = held_ - buffer_.left();
  held_ = buffer_.left();
  const std::size_t queued = shared_->queued -= handled;
  // Not before there is good room: to hold up and let go for every line would be slow.
  if (queued <= limits_.queue_bytes / 2) shared_->resume();
}

void WatchStream::lines_taken(std::uint64_t count) {
  if (limits_.load == nullptr) return;
  count = std::min(count, lines_);
  lines_ -= count;
  limits_.load->waiting -= count;
}

void WatchStream::take_arrived() {
  lines_taken(lines_);  // blank ones, which are given to nobody
  lines_ = std::exchange(shared_->arrived_lines, 0);
  buffer_.add(shared_->arrived);
  held_ = buffer_.left();
  give_memory_back(shared_->arrived);
}

void WatchStream::wait_for_more(std::unique_lock<std::mutex>& lock) {
  const auto ready = [this] {
    return !shared_->arrived.empty() || shared_->answer || (shared_->head && !head_given_);
  };
  if (ready()) return;
  buffer_.shrink();
  // A line longer than the queue must get its end.
  shared_->resume();
  shared_->changed.wait(lock, ready);
}

WatchStream::Item WatchStream::take_rest() {
  const bool whole = shared_->answer->has_value() && (*shared_->answer)->status == 200;
  const std::string_view rest = buffer_.take_rest();
  if (!whole || is_blank(rest)) return {};
  return {.what = What::kLine, .line = rest};
}

WatchStream::Item WatchStream::end_too_long() {
  stop_.request_stop();
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [this] { return shared_->answer.has_value(); });
  shared_->arrived.clear();
  (void)buffer_.take_rest();
  shared_->answer = base::retryable(
      fmt::format("a line is longer than {} bytes", limits_.line_bytes), "too-large");
  return {};
}

WatchStream::Item WatchStream::next() {
  // The line that was given last is handled.
  settle();
  while (true) {
    const auto line = buffer_.next();
    // The same whether or not its end has come already.
    if ((line ? line->size() : buffer_.left()) > limits_.line_bytes) return end_too_long();
    if (line) {
      lines_taken(1);
      return {.what = What::kLine, .line = *line};
    }
    settle();
    std::unique_lock lock(shared_->mutex);
    wait_for_more(lock);
    if (shared_->head && !std::exchange(head_given_, true))
      return {.what = What::kHead, .line = {}};
    if (shared_->arrived.empty()) return take_rest();
    take_arrived();
  }
}

}  // namespace kollect::kube
