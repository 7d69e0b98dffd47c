// Files: whole reads, atomic writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kollect::base {

/// Reads a whole file; more than `max_bytes` is an error. Errors name the path and the cause.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes = SIZE_MAX);
/// Writes by temporary file in the same folder, fsync and rename, so that a reader sees the old or
/// the new content. Parent folders are created (0755). A full disk leaves the old content; the
/// temporary file is removed.
Result<> write_file_atomic(const std::filesystem::path& path, std::string_view content,
                           unsigned mode = 0644);

/// A folder that is removed with everything in it at the end of its life.
class TempDir {
 public:
  static Result<TempDir> create(std::string_view prefix = "kollect-");
  TempDir(TempDir&& other) noexcept;
  TempDir& operator=(TempDir&&) = delete;
  ~TempDir();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit TempDir(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace kollect::base
