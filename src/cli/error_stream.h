// What a command has to say, also when nobody listens any more.
#pragma once

#include <cstdio>

namespace kollect::cli {

/// A stream that writes to a descriptor at once and never fails: what cannot be written, because
/// the reader of a pipe has gone (`2>&1 | head`) or a disk is full, is dropped. Nobody could be
/// told of it, and it is no reason to end work or to change its exit code. Does not own the
/// descriptor. As thread-safe as any stdio stream.
class ErrorStream {
 public:
  explicit ErrorStream(int descriptor);
  ErrorStream(const ErrorStream&) = delete;
  ErrorStream& operator=(const ErrorStream&) = delete;
  ~ErrorStream();

  /// nullptr when there is no memory.
  [[nodiscard]] std::FILE* file() const { return file_; }

 private:
  int descriptor_;
  std::FILE* file_;
};

/// Descriptors 0, 1 and 2 that the caller has left closed (`2>&-`) lead to /dev/null from here on.
/// Otherwise the next file or connection gets such a number, and messages go into it.
void fill_standard_descriptors();

}  // namespace kollect::cli
