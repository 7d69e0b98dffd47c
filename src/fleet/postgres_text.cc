#include "fleet/postgres_text.h"

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::fleet {

namespace {

constexpr char kMark = '\x01';
/// An entry of an index may have about 2,700 bytes.
constexpr std::size_t kLongestKey = 1000;

}  // namespace

std::string to_column(std::string_view text) {
  std::string out;
  for (const char c : base::sanitize_utf8(text)) {
    if (c == '\0' || c == kMark) {
      out += kMark;
      out += c == '\0' ? '0' : '1';
    } else {
      out += c;
    }
  }
  return out;
}

std::string from_column(std::string_view column) {
  std::string out;
  for (std::size_t i = 0; i < column.size(); ++i) {
    if (column[i] != kMark || i + 1 == column.size()) {
      out += column[i];
    } else {
      out += column[++i] == '0' ? '\0' : kMark;
    }
  }
  return out;
}

std::string to_key(std::string_view id) {
  std::string column = to_column(id);
  if (column.size() <= kLongestKey) return column;
  return std::string{kMark, 'h'} + base::sha256_hex(id);
}

std::optional<std::string> from_key(std::string_view key) {
  if (key.starts_with(std::string{kMark, 'h'})) return std::nullopt;
  return from_column(key);
}

void ArrayText::separate() {
  if (text_.size() > 1) text_ += ',';
}

void ArrayText::add(std::string_view element) {
  separate();
  text_ += '"';
  for (const char c : element) {
    if (c == '"' || c == '\\') text_ += '\\';
    text_ += c;
  }
  text_ += '"';
}

void ArrayText::add_null() {
  separate();
  text_ += "NULL";
}

}  // namespace kollect::fleet
