#include "kube/watch_stream.h"

#include <cstring>

namespace kollect::kube {
namespace {

/// The server's words on an error; what is longer is no use.
constexpr std::size_t kMostErrorText = 64U << 10U;

}  // namespace

WatchStream::WatchStream(Sender& sender, const base::Context& context, const std::string& path,
                         std::string_view accept, std::size_t max_buffered)
    : context_(context), shared_(std::make_shared<Shared>()) {
  shared_->last_byte = context.clock().steady_now();
  wake_on_cancel_ = context.on_cancel([shared = shared_] {
    const std::scoped_lock lock(shared->mutex);
    shared->changed.notify_all();
  });
  const base::Context bound = context.with_stop(stop_.get_token());
  auto credential = sender.credentials().current(bound);
  if (!credential) {
    shared_->answer = credential.error();
    return;
  }
  Call call;
  call.path = path;
  call.accept = accept;
  http::Request request = sender.make_request(call, *credential);
  request.flow = shared_->flow;
  // Silence is judged by whoever takes the lines: bookmarks come once a minute at best.
  request.stall_timeout = std::chrono::hours(24);
  const auto on_data = [shared = shared_, max_buffered, clock = &context.clock()](
                           const http::Response& head, std::string_view data) {
    const std::scoped_lock lock(shared->mutex);
    shared->last_byte = clock->steady_now();
    if (head.status != 200) {
      shared->error_body.append(data.substr(0, kMostErrorText - shared->error_body.size()));
      return true;
    }
    shared->arrived.append(data);
    if (shared->arrived.size() >= max_buffered) shared->flow->pause();
    shared->changed.notify_all();
    return true;
  };
  const auto on_done = [shared = shared_](base::Result<http::Response> result) {
    const std::scoped_lock lock(shared->mutex);
    if (result) result->body = std::move(shared->error_body);
    shared->answer = std::move(result);
    shared->changed.notify_all();
  };
  sender.http().start_stream(bound, std::move(request), on_data, on_done);
}

WatchStream::~WatchStream() {
  stop_.request_stop();
  shared_->flow->resume();
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return shared_->answer.has_value(); });
}

std::optional<std::string_view> WatchStream::take_line() {
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
  return line;
}

WatchStream::Item WatchStream::next(base::Duration silence) {
  while (true) {
    while (const auto line = take_line()) {
      if (line->find_first_not_of(" \r\t") == std::string_view::npos) continue;
      return {.what = What::kLine, .line = *line};
    }
    std::unique_lock lock(shared_->mutex);
    const auto ready = [&] {
      return !shared_->arrived.empty() || shared_->answer.has_value() || context_.cancelled();
    };
    // Real time: a dead connection is dead whatever a test's clock says.
    shared_->changed.wait_for(lock, silence, ready);
    if (context_.cancelled()) return {.what = What::kCancelled, .line = {}};
    if (shared_->arrived.empty()) {
      return {.what = shared_->answer.has_value() ? What::kEnd : What::kSilent, .line = {}};
    }
    buffer_.erase(0, at_);
    at_ = 0;
    if (buffer_.empty()) {
      buffer_.swap(shared_->arrived);
    } else {
      buffer_.append(shared_->arrived);
    }
    shared_->arrived.clear();
    if (shared_->flow->paused()) shared_->flow->resume();
  }
}

bool WatchStream::ended() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->answer.has_value();
}

base::SteadyTime WatchStream::last_byte() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->last_byte;
}

}  // namespace kollect::kube
