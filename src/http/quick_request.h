// The short way for plain requests: a head without a body that is complete and has nothing odd.
// Internal to the room.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "http/server.h"

namespace kollect::http {

/// Holds a request's headers while it is answered. One thread.
class QuickRequest {
 public:
  /// Reads the request that `bytes` begins with: GET or HEAD of a path, HTTP/1.1, one Host,
  /// headers of visible ASCII, no body, nothing about the connection but keep-alive. Returns its
  /// size and fills `view`, which points into `bytes` and into this. 0: it is anything else, of
  /// which RequestReader makes what is right.
  std::size_t read(std::string_view bytes, RequestView& view);

 private:
  static constexpr std::size_t kMostHeaders = 24;
  std::array<std::pair<std::string_view, std::string_view>, kMostHeaders> headers_;
};

}  // namespace kollect::http
