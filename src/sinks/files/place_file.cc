#include "sinks/files/place_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace kollect::sinks {

base::Result<> write_at(const Fd& file, off_t at, std::string_view text, std::string_view shown) {
  while (!text.empty()) {
    const auto n = ::pwrite(file.get(), text.data(), text.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot write", std::string(shown), errno);
    text.remove_prefix(static_cast<std::size_t>(n));
    at += n;
  }
  return {};
}

base::Result<> read_at(const Fd& file, off_t at, std::span<char> to, std::string_view shown) {
  while (!to.empty()) {
    const auto n = ::pread(file.get(), to.data(), to.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return system_error("cannot read", std::string(shown), n < 0 ? errno : EIO);
    to = to.subspan(static_cast<std::size_t>(n));
    at += n;
  }
  return {};
}

base::Result<Fd> nameless_file(const std::filesystem::path& path) {
  // Others may be at it with the same path: a file that is there is never opened, so that nobody
  // gets somebody else's.
  while (true) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) break;
    Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.valid()) {
      ::unlink(path.c_str());
      return file;
    }
    if (errno != EEXIST) break;
  }
  return system_error("cannot write", path.string(), errno);
}

base::Result<> FilePart::flush(std::size_t above) {
  if (text_.size() <= above) return {};
  KL_TRY(write_at(file_, static_cast<off_t>(at_), text_, shown_));
  at_ += text_.size();
  text_.clear();
  return {};
}

}  // namespace kollect::sinks
