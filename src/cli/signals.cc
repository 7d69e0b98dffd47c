#include "cli/signals.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace kollect::cli {
namespace {

// A handler has no argument of its own, so these two are the program's only global state.
std::atomic<int> g_write_end = -1;
std::atomic<int> g_count = 0;

extern "C" void on_signal(int number) {
  constexpr int kSignalBase = 128;
  if (g_count.fetch_add(1) > 0) _exit(kSignalBase + number);
  const int saved = errno;
  const auto byte = static_cast<unsigned char>(number);
  (void)!write(g_write_end, &byte, 1);
  errno = saved;
}

}  // namespace

SignalWatch::SignalWatch() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return;
  read_end_ = ends[0];
  g_write_end = ends[1];
  g_count = 0;
  thread_ = std::jthread([this] {
    unsigned char byte = 0;
    ssize_t got = 0;
    do {
      got = read(read_end_, &byte, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1 || byte == 0) return;
    number_ = byte;
    stop_.request_stop();
  });
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);
}

SignalWatch::~SignalWatch() {
  if (read_end_ < 0) return;
  struct sigaction normal {};
  normal.sa_handler = SIG_DFL;
  sigaction(SIGINT, &normal, nullptr);
  sigaction(SIGTERM, &normal, nullptr);
  const int write_end = g_write_end.exchange(-1);
  close(write_end);  // wakes the reader with end of file
  thread_.join();
  close(read_end_);
}

}  // namespace kollect::cli
