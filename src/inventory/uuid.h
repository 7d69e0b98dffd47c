// Uids in 16 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kollect::inventory {

using Uuid = std::array<std::uint8_t, 16>;
using UuidText = std::array<char, 36>;

/// Lower-case 8-4-4-4-12 only: every other spelling is none, so that it is kept as text, byte for
/// byte.
std::optional<Uuid> pack_uuid(std::string_view text);
/// The text into `buffer`; the view points there.
std::string_view unpack_uuid(const Uuid& packed, UuidText& buffer);

}  // namespace kollect::inventory
