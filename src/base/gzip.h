// gzip (RFC 1952).
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace kollect::base {

/// The same bytes for the same bytes. Empty when there is no memory.
std::string gzip(std::string_view bytes);

/// The same, piece by piece, at a level that favours speed. Without memory it is not good(), and
/// what it gives is nothing.
class GzipStream {
 public:
  GzipStream();
  ~GzipStream();
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  [[nodiscard]] bool good() const;
  /// Appends to `out` what is ready; much may stay inside.
  void add(std::string_view bytes, std::string& out);
  /// Appends the rest. Nothing is added afterwards.
  void finish(std::string& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::base
