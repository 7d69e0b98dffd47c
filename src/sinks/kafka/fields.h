// The numbers and texts that answers of brokers are made of.
// Format: https://kafka.apache.org/protocol#protocol_types
#pragma once

#include <cstdint>
#include <string_view>

namespace kollect::sinks::kafka {

/// What an answer holds, front to back. Reading past its end gives zeros and "bad".
class Fields {
 public:
  explicit Fields(std::string_view text) : left_(text) {}
  std::int64_t number(std::size_t bytes) {
    if (left_.size() < bytes) {
      bad_ = true;
      return 0;
    }
    std::uint64_t value = 0;
    for (const char c : left_.substr(0, bytes)) value = value << 8U | static_cast<unsigned char>(c);
    left_.remove_prefix(bytes);
    // Of two bytes the highest bit is the sign.
    return bytes == 2 ? static_cast<std::int16_t>(value) : static_cast<std::int32_t>(value);
  }
  /// Bytes behind their length; a negative one is none.
  std::string_view bytes(std::size_t length_bytes) {
    const auto length = number(length_bytes);
    if (length <= 0) return {};
    if (static_cast<std::size_t>(length) > left_.size()) {
      bad_ = true;
      return {};
    }
    const auto out = left_.substr(0, static_cast<std::size_t>(length));
    left_.remove_prefix(out.size());
    return out;
  }
  [[nodiscard]] bool bad() const { return bad_; }

 private:
  std::string_view left_;
  bool bad_ = false;
};

}  // namespace kollect::sinks::kafka
