#include "http/chunk_decoder.h"

#include <algorithm>

namespace kollect::http {

namespace {

/// Of a size and its extensions.
constexpr std::size_t kMaxLine = 1024;
constexpr std::size_t kMaxDigits = 15;

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

}  // namespace

std::size_t ChunkDecoder::feed(std::string_view bytes, std::string& body) {
  std::size_t used = 0;
  while (state_ == State::kMore && used < bytes.size()) {
    if (at_ != At::kData) {
      step(bytes[used++]);
      continue;
    }
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size() - used));
    body.append(bytes, used, size);
    used += size;
    left_ -= size;
    if (left_ == 0) at_ = At::kDataReturn;
  }
  return used;
}

void ChunkDecoder::expect(char c, char wanted, At next) {
  if (c == wanted) {
    at_ = next;
  } else {
    state_ = State::kMalformed;
  }
}

void ChunkDecoder::step(char c) {
  switch (at_) {
    case At::kSize:
      if (const int digit = hex_value(c); digit >= 0) {
        left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
        if (++digits_ > kMaxDigits) state_ = State::kMalformed;
        return;
      }
      if (digits_ == 0) {
        state_ = State::kMalformed;
        return;
      }
      at_ = At::kExtension;
      line_ = 0;
      if (c != '\r' && c != ';' && c != ' ' && c != '\t') state_ = State::kMalformed;
      if (c == '\r') at_ = At::kSizeEnd;
      return;
    case At::kExtension:
      if (c == '\r') {
        at_ = At::kSizeEnd;
      } else if (++line_ > kMaxLine || is_control(c)) {
        state_ = State::kMalformed;
      }
      return;
    case At::kSizeEnd:
      expect(c, '\n', left_ == 0 ? At::kLastReturn : At::kData);
      total_ += left_;
      if (total_ > max_) state_ = State::kTooLarge;
      digits_ = 0;
      return;
    case At::kData:
      return;
    case At::kDataReturn:
      return expect(c, '\r', At::kDataEnd);
    case At::kDataEnd:
      return expect(c, '\n', At::kSize);
    case At::kLastReturn:
      if (c != '\r') state_ = State::kTrailer;
      at_ = At::kLastEnd;
      return;
    case At::kLastEnd:
      state_ = c == '\n' ? State::kDone : State::kMalformed;
      return;
  }
}

}  // namespace kollect::http
