#include "base/private_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kollect::base {

namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

Result<PrivateFile> PrivateFile::create(std::string_view content) {
  PrivateFile out;
  out.fd_ = ::memfd_create("kollect", MFD_CLOEXEC);
  if (out.fd_ >= 0 && ::fchmod(out.fd_, 0600) == 0 && write_all(out.fd_, content)) {
    out.path_ = fmt::format("/proc/{}/fd/{}", ::getpid(), out.fd_);
    const int again = ::open(out.path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (again >= 0) {
      ::close(again);
      return out;
    }
  }
  // No /proc here: a file in a folder of our own, removed with this object.
  KL_ASSIGN(auto folder, TempDir::create());
  out.folder_.emplace(std::move(folder));
  out.path_ = (out.folder_->path() / "file").string();
  KL_TRY(write_file_atomic(out.path_, content, 0600));
  return out;
}

PrivateFile::PrivateFile(PrivateFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      folder_(std::move(other.folder_)) {}

PrivateFile::~PrivateFile() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace kollect::base
