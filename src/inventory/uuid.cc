#include "inventory/uuid.h"

namespace kollect::inventory {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool is_dash_position(std::size_t i) {
  return i == 8 || i == 13 || i == 18 || i == 23;
}

}  // namespace

std::optional<Uuid> pack_uuid(std::string_view text) {
  if (text.size() != UuidText().size()) return std::nullopt;
  Uuid packed{};
  std::size_t digit = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_dash_position(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int value = hex_digit(text[i]);
    if (value < 0) return std::nullopt;
    packed[digit / 2] = static_cast<std::uint8_t>(packed[digit / 2] << 4U | value);
    ++digit;
  }
  return packed;
}

std::string_view unpack_uuid(const Uuid& packed, UuidText& buffer) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::size_t digit = 0;
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    if (is_dash_position(i)) {
      buffer[i] = '-';
      continue;
    }
    const unsigned byte = packed[digit / 2];
    buffer[i] = kDigits[digit % 2 == 0 ? byte >> 4U : byte & 15U];
    ++digit;
  }
  return {buffer.data(), buffer.size()};
}

}  // namespace kollect::inventory
