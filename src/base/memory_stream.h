// A stdio stream whose text stays in memory.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace kollect::base {

/// For code that prints to a stream, and for its tests. Not thread-safe.
class MemoryStream {
 public:
  MemoryStream() : file_(::open_memstream(&text_, &size_)) {}
  MemoryStream(const MemoryStream&) = delete;
  MemoryStream& operator=(const MemoryStream&) = delete;
  ~MemoryStream() {
    if (file_ != nullptr) std::fclose(file_);
    std::free(text_);  // NOLINT(cppcoreguidelines-no-malloc): open_memstream's contract
  }

  /// nullptr when there is no memory.
  [[nodiscard]] std::FILE* file() const { return file_; }
  /// What was written so far.
  [[nodiscard]] std::string text() const {
    if (file_ == nullptr) return {};
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

}  // namespace kollect::base
