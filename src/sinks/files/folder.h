// A folder that exports are written into: nothing outside it is ever touched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"
#include "sinks/layout.h"

namespace kollect::sinks {

/// Owner of a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  int release();

 private:
  int fd_ = -1;
};

/// Error for a failed system call: kind by errno (a full disk is retryable, missing rights are
/// denied).
base::Error system_error(std::string_view doing, std::string_view path, int error_number);

/// Paths are relative and checked by the layout; symbolic links that lead outside are refused by
/// the kernel (openat2, RESOLVE_BENEATH) or, where it cannot, all of them. One thread at a time.
class Folder {
 public:
  /// Opens the folder; `create` makes it and its parents (0755). Without `create` a missing folder
  /// is an empty one.
  static base::Result<Folder> open(const std::filesystem::path& path, bool create);

  /// Waits until no other process writes here. Error: retryable after `patience`.
  base::Result<> lock(const base::Context& context, base::Duration patience) const;

  /// Whole text of a regular file; none when there is none.
  [[nodiscard]] base::Result<std::optional<std::string>> read(
      std::string_view path, std::size_t max_bytes = SIZE_MAX) const;

  /// Changes whenever somebody writes or replaces the file; "" when there is none.
  [[nodiscard]] base::Result<std::string> stamp(std::string_view path) const;

  struct Outcome {
    bool existed = false;
    bool same = false;  ///< nothing had to be written
    std::uint64_t bytes = 0;
  };
  /// What write() would do.
  [[nodiscard]] base::Result<Outcome> compare(const File& file) const;
  /// Writes by temporary file and rename unless the present text is the same (or differs in the
  /// export time only). `sync` also waits for the disk. On an error the old text is there.
  base::Result<Outcome> write(const File& file, bool sync);
  /// Removes a file and the folders that became empty; false when there was none.
  base::Result<bool> remove(std::string_view path);

  [[nodiscard]] std::string shown(std::string_view path) const;

 private:
  explicit Folder(std::filesystem::path root) : root_(std::move(root)) {}

  [[nodiscard]] base::Result<Fd> open_file(std::string_view path) const;
  base::Result<int> parent(std::string_view path, bool create);
  base::Result<Outcome> write_new(const File& file, bool compare_old, bool sync);

  std::filesystem::path root_;
  Fd fd_;
  std::string parent_path_;  // of parent_fd_: the last folder that was written into
  Fd parent_fd_;
};

}  // namespace kollect::sinks
