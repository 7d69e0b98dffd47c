#include "top/keys.h"

#include <array>
#include <utility>

namespace kollect::top {

namespace {

constexpr char kEscapeByte = '\x1b';

/// Of CSI and SS3 sequences, without their beginning.
KeyName name_of(std::string_view sequence) {
  static constexpr std::array kNames = {
      std::pair{"A", KeyName::kUp},      std::pair{"B", KeyName::kDown},
      std::pair{"C", KeyName::kRight},   std::pair{"D", KeyName::kLeft},
      std::pair{"H", KeyName::kHome},    std::pair{"F", KeyName::kEnd},
      std::pair{"1~", KeyName::kHome},   std::pair{"7~", KeyName::kHome},
      std::pair{"4~", KeyName::kEnd},    std::pair{"8~", KeyName::kEnd},
      std::pair{"5~", KeyName::kPageUp}, std::pair{"6~", KeyName::kPageDown},
      std::pair{"Z", KeyName::kBackTab}};
  for (const auto& [text, name] : kNames) {
    if (sequence == text) return name;
  }
  return KeyName::kUnknown;
}

KeyName control_name(unsigned char byte) {
  switch (byte) {
    case '\r':
    case '\n':
      return KeyName::kEnter;
    case '\t':
      return KeyName::kTab;
    case 0x7F:
    case '\b':
      return KeyName::kBackspace;
    case 0x0C:
      return KeyName::kRedraw;
    case 0x1A:
      return KeyName::kSuspend;
    default:
      return KeyName::kUnknown;
  }
}

std::size_t utf8_size(unsigned char first) {
  if (first >= 0xF0) return 4;
  if (first >= 0xE0) return 3;
  return first >= 0xC0 ? 2 : 1;
}

}  // namespace

bool KeyReader::next_escape(Key& key) {
  const bool sequence = pending_.size() > 1 && (pending_[1] == '[' || pending_[1] == 'O');
  if (!sequence) {
    if (pending_.size() == 1 && !quiet_) return false;
    key = {.name = KeyName::kEscape, .text = {}};
    pending_.erase(0, 1);
    return true;
  }
  std::size_t end = 2;
  while (end < pending_.size() && (pending_[end] < '@' || pending_[end] > '~')) ++end;
  constexpr std::size_t kLongest = 32;
  if (end == pending_.size() && end < kLongest && !quiet_) return false;
  key = {.name = name_of(std::string_view(pending_).substr(2, end - 1)), .text = {}};
  pending_.erase(0, end + 1);
  return true;
}

bool KeyReader::next(Key& key) {
  if (pending_.empty()) return false;
  if (pending_.front() == kEscapeByte) return next_escape(key);
  const auto first = static_cast<unsigned char>(pending_.front());
  constexpr unsigned char kBlank = ' ';
  if (first < kBlank || first == 0x7F) {
    key = {.name = control_name(first), .text = {}};
    pending_.erase(0, 1);
    return true;
  }
  const std::size_t size = utf8_size(first);
  if (pending_.size() < size && !quiet_) return false;
  key = {.name = KeyName::kText, .text = pending_.substr(0, size)};
  pending_.erase(0, size);
  return true;
}

}  // namespace kollect::top
