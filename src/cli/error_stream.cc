#include "cli/error_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>

namespace kollect::cli {
namespace {

/// True: try again.
bool may_pass(int descriptor) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
  pollfd wait{.fd = descriptor, .events = POLLOUT, .revents = 0};
  return ::poll(&wait, 1, -1) >= 0 || errno == EINTR;
}

ssize_t write_or_drop(void* cookie, const char* text, std::size_t size) {
  const int descriptor = *static_cast<const int*>(cookie);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t written = ::write(descriptor, text + done, size - done);
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (!may_pass(descriptor)) {
      break;
    }
  }
  return static_cast<ssize_t>(size);
}

}  // namespace

ErrorStream::ErrorStream(int descriptor)
    : descriptor_(descriptor),
      file_(::fopencookie(
          &descriptor_, "w",
          {.read = nullptr, .write = write_or_drop, .seek = nullptr, .close = nullptr})) {
  if (file_ != nullptr) std::setvbuf(file_, nullptr, _IONBF, 0);
}

ErrorStream::~ErrorStream() {
  if (file_ != nullptr) std::fclose(file_);
}

void fill_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest free number is the one that is missing.
    if (::fcntl(descriptor, F_GETFD) == -1) (void)::open("/dev/null", O_RDWR);
  }
}

}  // namespace kollect::cli
