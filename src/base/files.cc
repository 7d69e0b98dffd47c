#include "base/files.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kollect::base {

namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  [[nodiscard]] int get() const { return fd_; }
  /// 0, or the error of close(2): where quotas are checked late it tells of the full disk.
  int close() {
    const int fd = std::exchange(fd_, -1);
    return fd >= 0 && ::close(fd) != 0 && errno != EINTR ? errno : 0;
  }

 private:
  int fd_;
};

Error file_error(std::string_view what, const fs::path& path, int code) {
  std::string message =
      fmt::format("cannot {} {}: {}", what, path.string(), std::generic_category().message(code));
  switch (code) {
    case ENOENT:
    case ENOTDIR:
      return not_found(std::move(message));
    case EACCES:
    case EPERM:
    case EROFS:
      return denied(std::move(message));
    case ENOSPC:
    case EDQUOT:
      return terminal(std::move(message), "disk-full");
    default:
      return terminal(std::move(message));
  }
}

int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno;
    }
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

/// Makes a rename in `folder` lasting. File systems that cannot do it are no reason to fail.
void sync_folder(const fs::path& folder) {
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) {
    ::fsync(fd.get());
  }
}

int fill_temporary(Descriptor& fd, std::string_view content, unsigned mode) {
  if (const int code = write_all(fd.get(), content); code != 0) {
    return code;
  }
  if (::fchmod(fd.get(), static_cast<mode_t>(mode)) != 0 || ::fsync(fd.get()) != 0) {
    return errno;
  }
  return fd.close();
}

}  // namespace

Result<std::string> read_file(const fs::path& path, std::size_t max_bytes) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    return file_error("read", path, errno);
  }
  struct stat info {};
  std::string content;
  if (::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    content.reserve(std::min(static_cast<std::size_t>(info.st_size), max_bytes));
  }
  constexpr std::size_t kChunk = 256U << 10U;
  while (true) {
    const std::size_t size = content.size();
    const std::size_t room = content.capacity() > size ? content.capacity() - size : kChunk;
    content.resize(size + room);
    const ssize_t count = ::read(fd.get(), content.data() + size, room);
    const int code = errno;
    content.resize(size + (count > 0 ? static_cast<std::size_t>(count) : 0));
    if (count < 0 && code != EINTR) {
      return file_error("read", path, code);
    }
    if (content.size() > max_bytes) {
      return configuration(
          fmt::format("cannot read {}: larger than {} bytes", path.string(), max_bytes),
          "too-large");
    }
    if (count == 0) {
      return content;
    }
  }
}

Result<> write_file_atomic(const fs::path& path, std::string_view content, unsigned mode) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return file_error("create folder", folder, error.value());
  }
  // The name is short on purpose: a target name of 255 bytes leaves no room for a suffix.
  std::string temporary = (folder / ".kollect-XXXXXX").string();
  Descriptor fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (fd.get() < 0) {
    return file_error("write", path, errno);
  }
  int code = fill_temporary(fd, content, mode);
  if (code == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) {
    code = errno;
  }
  if (code != 0) {
    ::unlink(temporary.c_str());
    return file_error("write", path, code);
  }
  sync_folder(folder);
  return {};
}

Result<TempDir> TempDir::create(std::string_view prefix) {
  std::error_code error;
  fs::path root = fs::temp_directory_path(error);
  if (error) {
    root = "/tmp";
  }
  std::string name = (root / (std::string(prefix) + "XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) {
    return file_error("create a folder in", root, errno);
  }
  return TempDir(fs::path(name));
}

TempDir::TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, fs::path())) {}

TempDir::~TempDir() {
  if (!path_.empty()) {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
}

}  // namespace kollect::base
