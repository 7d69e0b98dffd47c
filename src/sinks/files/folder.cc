#include "sinks/files/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kollect::sinks {

namespace {

// One writer at a time (see lock()), so one name does; a left-over of a killed run is removed.
constexpr const char* kTemporary = ".kollect-tmp";

bool is_refused_link(int error_number) {
  return error_number == EXDEV || error_number == ELOOP;
}

/// Fallback for kernels without openat2: walks the components and follows no link at all.
int open_without_links(int root, const std::string& path, int flags) {
  int folder = ::dup(root);
  std::size_t at = 0;
  while (folder >= 0) {
    const auto slash = path.find('/', at);
    const auto name = path.substr(at, slash == std::string::npos ? slash : slash - at);
    const bool last = slash == std::string::npos;
    const int next = ::openat(folder, name.c_str(),
                              O_NOFOLLOW | O_CLOEXEC | (last ? flags : O_PATH | O_DIRECTORY));
    const int error_number = errno;
    ::close(folder);
    errno = error_number;
    if (last) return next;
    folder = next;
    at = slash + 1;
  }
  return -1;
}

int open_beneath(int root, std::string_view path, int flags) {
  const std::string name(path.empty() ? "." : path);
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const auto fd = ::syscall(SYS_openat2, root, name.c_str(), &how, sizeof(how));
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return static_cast<int>(fd);
  return open_without_links(root, name, flags);
}

base::Result<> write_all(int fd, std::string_view text, std::string_view shown) {
  while (!text.empty()) {
    const auto n = ::write(fd, text.data(), text.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return system_error("cannot write", shown, errno);
    }
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

/// Compares text that comes in pieces with an open file.
class Comparer {
 public:
  explicit Comparer(int fd) : fd_(fd), same_(fd >= 0) {}

  void add(std::string_view piece) {
    bytes_ += piece.size();
    while (same_ && !piece.empty()) {
      const auto n = ::read(fd_, buffer_.data(), std::min(buffer_.size(), piece.size()));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0 || std::string_view(buffer_.data(), static_cast<std::size_t>(n)) !=
                        piece.substr(0, static_cast<std::size_t>(n))) {
        same_ = false;
        return;
      }
      piece.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  /// True when everything was equal and the file ends here.
  bool finish() { return same_ && ::read(fd_, buffer_.data(), 1) == 0; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  int fd_;
  bool same_;
  std::uint64_t bytes_ = 0;
  std::array<char, 32768> buffer_{};
};

/// Export time in the head of an open file, which is read from its start again afterwards.
std::optional<base::WallTime> time_in(int fd) {
  std::array<char, 4096> head{};
  const auto n = ::pread(fd, head.data(), head.size(), 0);
  if (n <= 0) return {};
  return exported_at_of({head.data(), static_cast<std::size_t>(n)});
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

int Fd::release() {
  return std::exchange(fd_, -1);
}

base::Error system_error(std::string_view doing, std::string_view path, int error_number) {
  auto message = fmt::format("{} {}: {}", doing, path, std::strerror(error_number));
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return base::retryable(message + "; what was there before is unchanged", "disk-full");
    case EACCES:
    case EPERM:
    case EROFS:
      return base::denied(message, "no-access");
    case EXDEV:
    case ELOOP:
      return base::configuration(
          fmt::format("{} {}: a symbolic link there leads out of the folder", doing, path),
          "path-escapes");
    default:
      return base::terminal(message, "io");
  }
}

base::Result<Folder> Folder::open(const std::filesystem::path& path, bool create) {
  Folder out(path);
  if (create) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return system_error("cannot make folder", path.string(), error.value());
  }
  out.fd_ = Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out.fd_.valid() && (create || errno != ENOENT)) {
    return system_error("cannot open folder", path.string(), errno);
  }
  return out;
}

base::Result<> Folder::lock(const base::Context& context, base::Duration patience) const {
  const auto limited = context.with_timeout(patience);
  while (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return system_error("cannot lock folder", root_.string(), errno);
    }
    if (limited.sleep(std::chrono::milliseconds(50))) continue;
    KL_TRY(context.check());
    return base::retryable(fmt::format("another run is writing into {}", root_.string()), "busy");
  }
  // What a killed run left half-written goes even when this run finds nothing to write.
  ::unlinkat(fd_.get(), kTemporary, 0);
  return {};
}

std::string Folder::shown(std::string_view path) const {
  return (root_ / path).string();
}

base::Result<Fd> Folder::open_file(std::string_view path) const {
  if (!fd_.valid()) return Fd();
  // O_NONBLOCK: a named pipe that somebody put there must not hold us up.
  Fd fd(open_beneath(fd_.get(), path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid()) {
    if (errno == ENOENT || errno == ENOTDIR) return Fd();
    // A link at the very place is replaced by our file; a link on the way there is refused.
    struct stat info {};
    if (errno == ELOOP &&
        ::fstatat(fd_.get(), std::string(path).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(info.st_mode)) {
      return Fd();
    }
    return system_error("cannot read", shown(path), errno);
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return system_error("cannot write", shown(path), EISDIR);
  }
  if (!S_ISREG(info.st_mode)) return Fd();
  return fd;
}

base::Result<std::optional<std::string>> Folder::read(std::string_view path,
                                                      std::size_t max_bytes) const {
  KL_ASSIGN(const auto fd, open_file(path));
  if (!fd.valid()) return std::optional<std::string>();
  std::string text;
  std::array<char, 65536> buffer{};
  while (text.size() < max_bytes) {
    const auto n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot read", shown(path), errno);
    if (n == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return std::optional(std::move(text));
}

base::Result<int> Folder::parent(std::string_view path, bool create) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return fd_.get();
  const auto folder = path.substr(0, slash);
  if (parent_fd_.valid() && folder == parent_path_) return parent_fd_.get();
  Fd fd(open_beneath(fd_.get(), folder, O_RDONLY | O_DIRECTORY));
  if (!fd.valid() && errno == ENOENT && create) {
    KL_ASSIGN(const int above, parent(folder, true));
    const std::string name(folder.substr(folder.rfind('/') + 1));
    if (::mkdirat(above, name.c_str(), 0755) != 0 && errno != EEXIST) {
      return system_error("cannot make folder", shown(folder), errno);
    }
    fd = Fd(open_beneath(fd_.get(), folder, O_RDONLY | O_DIRECTORY));
  }
  if (!fd.valid()) return system_error("cannot open folder", shown(folder), errno);
  parent_path_ = folder;
  parent_fd_ = std::move(fd);
  return parent_fd_.get();
}

base::Result<std::string> Folder::stamp(std::string_view path) const {
  KL_ASSIGN(const auto fd, open_file(path));
  if (!fd.valid()) return std::string();
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return system_error("cannot read", shown(path), errno);
  return fmt::format("{} {} {} {}.{}", info.st_dev, info.st_ino, info.st_size, info.st_ctim.tv_sec,
                     info.st_ctim.tv_nsec);
}

base::Result<Folder::Outcome> Folder::compare(const File& file) const {
  KL_ASSIGN(const auto fd, open_file(file.path));
  Comparer comparer(fd.get());
  const auto old_time = fd.valid() && file.timed ? time_in(fd.get()) : std::nullopt;
  KL_TRY(file.chunks(
      [&](std::string_view piece) -> base::Result<> {
        comparer.add(piece);
        return {};
      },
      old_time));
  return Outcome{fd.valid(), comparer.finish(), comparer.bytes()};
}

base::Result<Folder::Outcome> Folder::write(const File& file, bool sync) {
  // A long document is rendered once: into the temporary file, compared on the way.
  if (file.write && !file.timed) return write_new(file, true, sync);
  KL_ASSIGN(const auto outcome, compare(file));
  if (outcome.same) return outcome;
  return write_new(file, false, sync);
}

base::Result<Folder::Outcome> Folder::write_new(const File& file, bool compare_old, bool sync) {
  KL_ASSIGN(const auto old, open_file(file.path));
  KL_ASSIGN(const int folder, parent(file.path, true));
  const auto name = file.path.substr(file.path.rfind('/') + 1);
  const auto where = shown(file.path);
  int place = fd_.get();
  struct stat root_info {};
  struct stat folder_info {};
  if (::fstat(place, &root_info) == 0 && ::fstat(folder, &folder_info) == 0 &&
      root_info.st_dev != folder_info.st_dev) {
    place = folder;  // another file system is mounted below: rename works inside it only
  }
  const auto make = [&] {
    return ::openat(place, kTemporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  };
  Fd temporary(make());
  if (!temporary.valid() && errno == EEXIST && ::unlinkat(place, kTemporary, 0) == 0) {
    temporary = Fd(make());
  }
  if (!temporary.valid()) return system_error("cannot write", where, errno);

  Comparer comparer(compare_old ? old.get() : -1);
  auto written = file.chunks([&](std::string_view piece) -> base::Result<> {
    comparer.add(piece);
    return write_all(temporary.get(), piece, where);
  });
  Outcome outcome{old.valid(), comparer.finish(), comparer.bytes()};
  if (written.has_value() && !outcome.same) {
    ::fchmod(temporary.get(), 0644);
    if ((sync && ::fsync(temporary.get()) != 0) ||
        ::renameat(place, kTemporary, folder, name.c_str()) != 0) {
      written = system_error("cannot write", where, errno);
    }
  }
  if (!written.has_value() || outcome.same) ::unlinkat(place, kTemporary, 0);
  if (!written.has_value()) return written.error();
  return outcome;
}

base::Result<bool> Folder::remove(std::string_view path) {
  const auto slash = path.rfind('/');
  auto folder = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  Fd fd(open_beneath(fd_.get(), folder, O_RDONLY | O_DIRECTORY));
  if (!fd.valid()) {
    if (errno == ENOENT || errno == ENOTDIR || is_refused_link(errno)) return false;
    return system_error("cannot open folder", shown(folder), errno);
  }
  const std::string name(path.substr(slash == std::string_view::npos ? 0 : slash + 1));
  if (::unlinkat(fd.get(), name.c_str(), 0) != 0) {
    if (errno == ENOENT || errno == EISDIR) return false;
    return system_error("cannot remove", shown(path), errno);
  }
  parent_fd_ = Fd();
  while (!folder.empty()) {
    const auto cut = folder.rfind('/');
    const auto above = cut == std::string_view::npos ? std::string_view() : folder.substr(0, cut);
    const std::string last(folder.substr(cut == std::string_view::npos ? 0 : cut + 1));
    const Fd above_fd(open_beneath(fd_.get(), above, O_RDONLY | O_DIRECTORY));
    if (!above_fd.valid() || ::unlinkat(above_fd.get(), last.c_str(), AT_REMOVEDIR) != 0) break;
    folder = above;
  }
  return true;
}

}  // namespace kollect::sinks
