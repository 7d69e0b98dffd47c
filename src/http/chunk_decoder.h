// The chunked transfer coding (RFC 9112, 7.1), strictly: extensions are skipped, trailers refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kollect::http {

/// Decodes one body. One thread.
class ChunkDecoder {
 public:
  enum class State { kMore, kDone, kMalformed, kTrailer, kTooLarge };

  explicit ChunkDecoder(std::uint64_t max_body_bytes) : max_(max_body_bytes) {}

  /// Takes bytes from the front as far as they belong to the body, appends the content to `body`;
  /// returns how many. All of them while it answers kMore.
  std::size_t feed(std::string_view bytes, std::string& body);
  [[nodiscard]] State state() const { return state_; }

 private:
  enum class At {
    kSize,
    kExtension,
    kSizeEnd,
    kData,
    kDataReturn,
    kDataEnd,
    kLastReturn,
    kLastEnd
  };
  void step(char c);
  void expect(char c, char wanted, At next);

  std::uint64_t max_;
  State state_ = State::kMore;
  At at_ = At::kSize;
  std::uint64_t left_ = 0;   ///< of the chunk
  std::uint64_t total_ = 0;  ///< announced so far
  std::size_t line_ = 0;     ///< bytes of the line with the size
  std::size_t digits_ = 0;
};

}  // namespace kollect::http
