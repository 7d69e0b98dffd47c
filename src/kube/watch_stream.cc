#include "kube/watch_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace kollect::kube {

namespace {

/// The server's words on an error; what is longer is no use.
constexpr std::size_t kMostErrorText = 64U << 10U;
/// A quiet stream keeps no more than this for the next event.
constexpr std::size_t kKeptBuffer = 16U << 10U;
constexpr std::size_t kReadBuffer = 16U << 10U;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \r\t") == std::string_view::npos;
}

void give_memory_back(std::string& text) {
  if (text.empty() && text.capacity() > kKeptBuffer) std::string().swap(text);
}

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
  if (queued += data.size(); queued >= queue_bytes) flow->pause();
  changed.notify_all();
  return true;
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
}

base::SteadyTime WatchStream::last_byte() const {
  return base::SteadyTime(base::Duration(shared_->last_byte.load()));
}

std::optional<std::string_view> WatchStream::take_line() {
  while (true) {
    const char* begin = buffer_.data() + at_ + scanned_;
    const std::size_t size = buffer_.size() - at_ - scanned_;
    const void* found = size == 0 ? nullptr : std::memchr(begin, '\n', size);
    if (found == nullptr) {
      scanned_ += size;
      return std::nullopt;
    }
    const auto end = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
    const std::string_view line = std::string_view(buffer_).substr(at_, end - at_);
    at_ = end + 1;
    scanned_ = 0;
    given_ += line.size() + 1;
    if (!is_blank(line)) return line;
  }
}

void WatchStream::settle(std::size_t handled) {
  const std::size_t left = shared_->queued -= handled;
  // Not before there is good room: to hold up and let go for every line would be slow.
  if (left <= limits_.queue_bytes / 2) shared_->flow->resume();
}

void WatchStream::refill() {
  buffer_.erase(0, std::exchange(at_, 0));
  if (buffer_.empty()) {
    buffer_.swap(shared_->arrived);
  } else {
    buffer_.append(shared_->arrived);
    shared_->arrived.clear();
  }
  give_memory_back(shared_->arrived);
}

void WatchStream::wait_for_more(std::unique_lock<std::mutex>& lock) {
  const auto ready = [this] {
    return !shared_->arrived.empty() || shared_->answer || (shared_->head && !head_given_);
  };
  if (ready()) return;
  buffer_.erase(0, std::exchange(at_, 0));
  give_memory_back(buffer_);
  // A line longer than the queue must get its end.
  shared_->flow->resume();
  shared_->changed.wait(lock, ready);
}

WatchStream::Item WatchStream::take_rest() {
  const bool whole = shared_->answer->has_value() && (*shared_->answer)->status == 200;
  const std::string_view rest = std::string_view(buffer_).substr(at_);
  at_ = buffer_.size();
  scanned_ = 0;
  if (!whole || is_blank(rest)) return {};
  return {.what = What::kLine, .line = rest};
}

WatchStream::Item WatchStream::end_too_long() {
  stop_.request_stop();
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [this] { return shared_->answer.has_value(); });
  shared_->arrived.clear();
  buffer_.clear();
  at_ = scanned_ = 0;
  shared_->answer = base::retryable(
      fmt::format("a line is longer than {} bytes", limits_.line_bytes), "too-large");
  return {};
}

WatchStream::Item WatchStream::next() {
  settle(std::exchange(given_, 0));
  while (true) {
    const auto line = take_line();
    // The same whether or not its end has come already.
    if ((line ? line->size() : buffer_.size() - at_) > limits_.line_bytes) return end_too_long();
    if (line) return {.what = What::kLine, .line = *line};
    std::unique_lock lock(shared_->mutex);
    wait_for_more(lock);
    if (shared_->head && !std::exchange(head_given_, true))
      return {.what = What::kHead, .line = {}};
    if (shared_->arrived.empty()) return take_rest();
    refill();
  }
}

}  // namespace kollect::kube
