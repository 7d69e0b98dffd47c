#include "sinks/git/deflater.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace kollect::sinks::git {

namespace {

constexpr int kLevel = 4;  // rows compress well at any level; git repacks for good anyway
constexpr std::size_t kSmallFile = 1024;
constexpr std::size_t kLeastMatch = 3;
constexpr std::size_t kMostMatch = 258;
constexpr unsigned kEndOfBlock = 256;
constexpr unsigned kFirstLength = 257;
constexpr unsigned kLastLength = 285;

/// A code and its extra bits, as they follow each other in the stream.
struct Code {
  std::uint32_t bits = 0;
  std::uint32_t count = 0;
};

/// Codes stand with their highest bit first, all else with its lowest.
constexpr std::uint32_t reversed(std::uint32_t value, unsigned count) {
  std::uint32_t out = 0;
  for (unsigned i = 0; i < count; ++i) out |= ((value >> i) & 1U) << (count - 1 - i);
  return out;
}

/// RFC 1951, 3.2.6.
constexpr auto kSymbols = [] {
  std::array<Code, 288> out{};
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    if (i < 144) {
      out[i] = {reversed(0x30 + i, 8), 8};
    } else if (i < 256) {
      out[i] = {reversed(0x190 + i - 144, 9), 9};
    } else if (i < 280) {
      out[i] = {reversed(i - 256, 7), 7};
    } else {
      out[i] = {reversed(0xc0 + i - 280, 8), 8};
    }
  }
  return out;
}();

/// By length (3.2.5): eight symbols without extra bits, then four for each number of them; the
/// greatest length has a symbol of its own.
constexpr auto kLengths = [] {
  std::array<Code, kMostMatch + 1> out{};
  std::size_t length = kLeastMatch;
  for (unsigned symbol = kFirstLength; symbol < kLastLength; ++symbol) {
    const unsigned extra = symbol < kFirstLength + 8 ? 0 : (symbol - kFirstLength - 4) / 4;
    for (std::uint32_t i = 0; i < (1U << extra) && length < kMostMatch; ++i, ++length) {
      out[length] = {kSymbols[symbol].bits | (i << kSymbols[symbol].count),
                     kSymbols[symbol].count + extra};
    }
  }
  out[kMostMatch] = kSymbols[kLastLength];
  return out;
}();

/// The same for distances, from 1: two codes for each number of extra bits.
Code distance_code(std::size_t distance) {
  const auto value = static_cast<std::uint32_t>(distance - 1);
  if (value < 4) return {reversed(value, 5), 5};
  const auto extra = static_cast<unsigned>(std::bit_width(value)) - 2;
  const std::uint32_t code = 2 * (extra + 1) + ((value >> extra) & 1U);
  return {reversed(code, 5) | ((value & ((1U << extra) - 1)) << 5U), 5 + extra};
}

std::uint32_t three_bytes(const char* at) {
  const auto byte = [at](int i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(at[i]));
  };
  return byte(0) | (byte(1) << 8U) | (byte(2) << 16U);
}

}  // namespace

/// Writes bits, the lowest of a byte first. There must be eight bytes of room.
class SmallDeflater::Bits {
 public:
  explicit Bits(unsigned char* to) : to_(to) {}
  void put(Code code) {
    held_ |= std::uint64_t{code.bits} << count_;
    count_ += code.count;
    if (count_ >= 32) flush();
  }
  /// Ends the last byte; where the next one stands.
  unsigned char* end() {
    count_ += 7;
    flush();
    return to_;
  }

 private:
  void flush() {
    for (; count_ >= 8; count_ -= 8, held_ >>= 8U) *to_++ = static_cast<unsigned char>(held_);
  }

  unsigned char* to_;
  std::uint64_t held_ = 0;
  unsigned count_ = 0;
};

void SmallDeflater::note(std::string_view text, std::size_t at) {
  seen_[(three_bytes(text.data() + at) * 2654435761U) >> (32 - kSlotBits)] = begin_ + at + 1;
}

/// Length of the text that stands both here and `distance` before; 0: none was seen.
std::size_t SmallDeflater::find_match(std::string_view text, std::size_t at,
                                      std::size_t& distance) {
  const auto bytes = three_bytes(text.data() + at);
  const auto last = seen_[(bytes * 2654435761U) >> (32 - kSlotBits)];
  note(text, at);
  if (last <= begin_) return 0;
  const auto before = static_cast<std::size_t>(last - begin_ - 1);
  if (three_bytes(text.data() + before) != bytes) return 0;
  distance = at - before;
  const auto most = std::min(kMostMatch, text.size() - at);
  std::size_t length = kLeastMatch;
  while (length < most && text[at + length] == text[before + length]) ++length;
  return length;
}

std::size_t SmallDeflater::fixed_block(std::string_view text, unsigned char* to) {
  Bits bits(to);
  bits.put({0b011, 3});  // the last block, fixed codes
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t distance = 0;
    const auto length =
        at + kLeastMatch <= text.size() ? find_match(text, at, distance) : std::size_t{0};
    if (length == 0) {
      bits.put(kSymbols[static_cast<unsigned char>(text[at])]);
      ++at;
      continue;
    }
    bits.put(kLengths[length]);
    bits.put(distance_code(distance));
    const auto noted = std::min(at + length, text.size() - (kLeastMatch - 1));
    for (std::size_t i = at + 1; i < noted; ++i) note(text, i);
    at += length;
  }
  bits.put(kSymbols[kEndOfBlock]);
  begin_ += text.size();
  return static_cast<std::size_t>(bits.end() - to);
}

void SmallDeflater::run(std::string_view text, std::string& out) {
  const auto most = text.size() + text.size() / 8 + 16;  // nine bits a byte
  if (block_.size() < most) block_.resize(most);
  const auto size = fixed_block(text, block_.data());
  out.append("\x78\x01", 2);
  const auto length = static_cast<unsigned>(text.size());
  if (size <= text.size() + 5) {
    out.append(reinterpret_cast<const char*>(block_.data()), size);
  } else {
    out += '\1';  // the last block, stored
    for (const unsigned number : {length, ~length}) {
      out += static_cast<char>(number & 0xffU);
      out += static_cast<char>((number >> 8U) & 0xffU);
    }
    out += text;
  }
  const auto sum = ::adler32(1, reinterpret_cast<const Bytef*>(text.data()), length);
  for (const unsigned shift : {24U, 16U, 8U, 0U}) out += static_cast<char>((sum >> shift) & 0xffU);
}

Deflater::Deflater() {
  ok_ = deflateInit(&stream_, kLevel) == Z_OK;
}

Deflater::~Deflater() {
  deflateEnd(&stream_);
}

void Deflater::run(ObjectType type, const Pieces& content, std::string& out, const Grown& grown) {
  const auto small = type == ObjectType::kTree ? SmallDeflater::kMost : kSmallFile;
  const auto text = content.only_piece();
  if (text && text->size() <= small) return small_.run(*text, out);
  deflateReset(&stream_);
  content.visit([&](std::string_view piece) { feed(piece, Z_NO_FLUSH, out, grown); });
  feed({}, Z_FINISH, out, grown);
}

void Deflater::feed(std::string_view text, int flush, std::string& out, const Grown& grown) {
  std::array<unsigned char, 16384> buffer{};
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream_.avail_in = static_cast<uInt>(text.size());
  do {
    stream_.next_out = buffer.data();
    stream_.avail_out = buffer.size();
    deflate(&stream_, flush);
    out.append(reinterpret_cast<const char*>(buffer.data()), buffer.size() - stream_.avail_out);
    grown();
  } while (stream_.avail_out == 0);
}

}  // namespace kollect::sinks::git
