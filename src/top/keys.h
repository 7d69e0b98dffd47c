// What comes from a keyboard, read from the bytes of a terminal.
#pragma once

#include <string>
#include <string_view>

namespace kollect::top {

enum class KeyName {
  kText,  ///< a printable character
  kUp,
  kDown,
  kLeft,
  kRight,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kEnter,
  kEscape,
  kBackspace,
  kTab,
  kBackTab,
  kSuspend,  ///< Ctrl-Z
  kRedraw,   ///< Ctrl-L
  kUnknown,
};

struct Key {
  KeyName name = KeyName::kUnknown;
  std::string text;  ///< of kText, UTF-8
  bool operator==(const Key&) const = default;
};

/// Takes bytes as they come; sequences (ECMA-48 CSI and SS3, UTF-8) may be cut anywhere.
class KeyReader {
 public:
  void take(std::string_view bytes) {
    pending_ += bytes;
    quiet_ = false;
  }
  /// The next whole key; false when there is none yet.
  bool next(Key& key);
  /// Nothing came for a moment: an escape that waits for more was the key itself.
  void quiet() { quiet_ = true; }

 private:
  bool next_escape(Key& key);

  std::string pending_;
  bool quiet_ = false;
};

}  // namespace kollect::top
