#include "base/input.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace kollect::base {
namespace {

/// A descriptor that becomes readable when somebody rings.
class Bell {
 public:
  Bell() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  ~Bell() {
    if (fd_ >= 0) ::close(fd_);
  }

  /// Negative when there is none: poll() passes it over.
  [[nodiscard]] int fd() const { return fd_; }
  void ring() const {
    const std::uint64_t one = 1;
    (void)!::write(fd_, &one, sizeof one);
  }

 private:
  int fd_;
};

}  // namespace

Result<> wait_for_input(std::FILE* file, const Context& context) {
  const auto stopped = [] { return cancelled("stopped while waiting for input", "cancelled"); };
  if (context.cancelled()) return stopped();
  const int fd = ::fileno(file);
  if (fd < 0) return {};
  const Bell bell;
  const auto handle = context.on_cancel([&bell] { bell.ring(); });
  std::array<pollfd, 2> fds{{{fd, POLLIN, 0}, {bell.fd(), POLLIN, 0}}};
  // A signal that interrupts poll() may be the one that cancels: the bell rings then.
  while (::poll(fds.data(), fds.size(), -1) < 0 && errno == EINTR) {
  }
  if (fds[1].revents != 0) return stopped();
  return {};
}

Result<std::string> read_input(std::FILE* file, const Context& context) {
  std::string text;
  std::array<char, 1U << 16U> buffer{};
  const int fd = ::fileno(file);
  while (true) {
    KL_TRY(wait_for_input(file, context));
    // fread() would wait until its buffer is full.
    const ssize_t got =
        fd >= 0 ? ::read(fd, buffer.data(), buffer.size())
                : static_cast<ssize_t>(std::fread(buffer.data(), 1, buffer.size(), file));
    if (got == 0) return text;
    if (got > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (errno != EINTR && errno != EAGAIN) {
      return retryable(fmt::format("cannot read the input: {}", std::strerror(errno)));
    }
  }
}

}  // namespace kollect::base
