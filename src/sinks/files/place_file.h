// Bytes of files that are written and read at places.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sinks/files/folder.h"

namespace kollect::sinks {

/// Writes all of the text at this place of the file, which errors call `shown`.
base::Result<> write_at(const Fd& file, off_t at, std::string_view text, std::string_view shown);

/// Fills `to` from this place of the file; a file that ends before is an error.
base::Result<> read_at(const Fd& file, off_t at, std::span<char> to, std::string_view shown);

/// An empty file without a name; `path` is where it is made. Gone with its handle. What is left
/// there is removed; callers with one path at the same time get a file each.
base::Result<Fd> nameless_file(const std::filesystem::path& path);

/// A part of a file that is written from its start to its end, through a buffer. Borrows the file
/// and what errors call it.
class FilePart {
 public:
  FilePart(const Fd& file, const std::string& shown, std::size_t at)
      : file_(file), shown_(shown), at_(at) {}
  /// What is not written yet; to be appended to.
  [[nodiscard]] std::string& text() { return text_; }
  /// Place in the file of what is appended next.
  [[nodiscard]] std::size_t end() const { return at_ + text_.size(); }
  /// Writes the text when it is longer than `above`.
  base::Result<> flush(std::size_t above = 0);

 private:
  const Fd& file_;
  const std::string& shown_;
  std::size_t at_;
  std::string text_;
};

}  // namespace kollect::sinks
