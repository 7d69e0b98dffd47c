// Secrets and certificates for libraries and programs that want them as files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"

namespace kollect::base {

/// A file that exists in this process's memory only and that its children open by path. It is gone
/// when the object or the process is.
class PrivateFile {
 public:
  static Result<PrivateFile> create(std::string_view content);
  PrivateFile(PrivateFile&& other) noexcept;
  PrivateFile& operator=(PrivateFile&&) = delete;
  ~PrivateFile();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  PrivateFile() = default;
  int fd_ = -1;
  std::string path_;
  std::optional<TempDir> folder_;  // where memory files cannot be opened by path
};

}  // namespace kollect::base
