#include "top/live.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "top/terminal.h"

namespace kollect::top {

namespace {

/// Asks the feed each interval, or when told.
class Looker {
 public:
  Looker(const cli::Invocation& invocation, Feed& feed, base::Duration interval)
      : clock_(*invocation.clock), feed_(feed), interval_(interval) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  void look_now() {
    const std::scoped_lock lock(mutex_);
    asked_ = true;
    wake_.notify_all();
  }
  /// What was read since the last call.
  std::optional<base::Result<Picture>> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(result_, std::nullopt);
  }

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      auto result = feed_.look(base::Context(clock_, stop));
      std::unique_lock lock(mutex_);
      result_ = std::move(result);
      wake_.wait_for(lock, stop, clock_.real_time(interval_), [this] { return asked_; });
      asked_ = false;
    }
  }

  const base::Clock& clock_;
  Feed& feed_;
  base::Duration interval_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool asked_ = false;
  std::optional<base::Result<Picture>> result_;
  std::jthread thread_;  // last: it uses the others
};

enum class Input { kNothing, kBytes, kGone };

/// Waits a moment for keys: short enough for a new size and a new picture to be seen at once.
Input read_keys(int in, KeyReader& keys) {
  constexpr int kMilliseconds = 100;
  pollfd wait{.fd = in, .events = POLLIN, .revents = 0};
  if (poll(&wait, 1, kMilliseconds) <= 0) {
    keys.quiet();
    return Input::kNothing;
  }
  std::array<char, 256> bytes{};
  const ssize_t got = ::read(in, bytes.data(), bytes.size());
  if (got <= 0) return (wait.revents & (POLLHUP | POLLERR)) != 0 ? Input::kGone : Input::kNothing;
  keys.take({bytes.data(), static_cast<std::size_t>(got)});
  return Input::kBytes;
}

bool has_colours(const cli::Invocation& invocation) {
  const auto is = [&](const char* name, std::string_view value) {
    const auto found = invocation.env.find(name);
    return found != invocation.env.end() && found->second == value;
  };
  const auto none = invocation.env.find("NO_COLOR");
  return (none == invocation.env.end() || none->second.empty()) && !is("TERM", "dumb");
}

}  // namespace

base::Result<> run_live(const cli::Invocation& invocation, Feed& feed, base::Duration interval) {
  const int in = fileno(invocation.in);
  KL_ASSIGN(Terminal terminal, Terminal::open(in, fileno(invocation.out)));
  Looker looker(invocation, feed, interval);
  View view(has_colours(invocation));
  KeyReader keys;
  while (!invocation.stop.stop_requested()) {
    if (auto result = looker.take()) {
      if (*result) {
        view.show(*std::move(*result));
      } else {
        view.show_error(result->error().message);
      }
    }
    const Size size = terminal.size();
    if (!terminal.draw(view.draw(size, invocation.clock->now()), size)) return {};
    if (read_keys(in, keys) == Input::kGone) return {};
    for (Key key; keys.next(key);) {
      switch (view.take(key, size)) {
        case Wish::kQuit:
          return {};
        case Wish::kRefresh:
          looker.look_now();
          break;
        case Wish::kSuspend:
          terminal.suspend();
          break;
        case Wish::kRedraw:
          terminal.forget();
          break;
        case Wish::kNone:
          break;
      }
    }
  }
  return {};
}

}  // namespace kollect::top
