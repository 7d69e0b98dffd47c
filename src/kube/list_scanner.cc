#include "kube/list_scanner.h"

#include <cstring>

namespace kollect::kube {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/// Place of `c` from `at` on, or the end.
std::size_t find_byte(std::string_view text, std::size_t at, char c) {
  const void* hit = std::memchr(text.data() + at, c, text.size() - at);
  return hit == nullptr ? text.size()
                        : static_cast<std::size_t>(static_cast<const char*>(hit) - text.data());
}

}  // namespace

bool ListScanner::feed(std::string_view text) {
  std::size_t at = pos_;
  while (at < text.size()) {
    if (in_string_) {
      at = skip_string(text, at);
      continue;
    }
    const char c = text[at];
    if (ended_) {
      if (!is_blank(c)) return false;
    } else if (c == '"') {
      if (depth_ == 0) return false;
      in_string_ = true;
      string_begin_ = at + 1;
    } else if (c == '{' || c == '[') {
      if (depth_ == 0 && c == '[') return false;
      open(at);
      // The head of an element, not of something inside it.
      if (depth_ == 3 && member_ == Member::kItems && c == '{') ++items_;
    } else if (c == '}' || c == ']') {
      if (depth_ == 0) return false;
      close(at);
    } else if (depth_ == 0 && !is_blank(c)) {
      return false;
    }
    ++at;
  }
  pos_ = at;
  return true;
}

std::size_t ListScanner::skip_string(std::string_view text, std::size_t at) {
  if (escaped_) {
    escaped_ = false;
    ++at;
  }
  // A backslash is looked for only up to the next quote, and a quote is not looked for twice: long
  // texts full of escapes stay linear.
  std::size_t quote = at;
  bool quote_known = false;
  while (at < text.size()) {
    if (!quote_known || quote < at) {
      quote = find_byte(text, at, '"');
      quote_known = true;
    }
    const std::size_t slash = find_byte(text.substr(0, quote), at, '\\');
    if (slash == quote) {
      if (quote == text.size()) return quote;
      end_string(text, quote);
      return quote + 1;
    }
    at = slash + 2;
    if (at > text.size()) {
      escaped_ = true;
      return text.size();
    }
  }
  return at;
}

void ListScanner::end_string(std::string_view text, std::size_t end) {
  in_string_ = false;
  if (depth_ != 1) return;
  const std::string_view content = text.substr(string_begin_, end - string_begin_);
  last_string_ = Member::kOther;
  if (content == "metadata") last_string_ = Member::kMetadata;
  if (content == "items") {
    last_string_ = Member::kItems;
    has_items_ = true;
  }
}

void ListScanner::open(std::size_t at) {
  if (++depth_ != 2) return;
  member_ = last_string_;
  last_string_ = Member::kOther;
  value_begin_ = at;
}

void ListScanner::close(std::size_t at) {
  --depth_;
  if (depth_ == 1) {
    if (member_ == Member::kMetadata) metadata_ = Span{value_begin_, at + 1 - value_begin_};
    member_ = Member::kOther;
  }
  ended_ = depth_ == 0;
}

}  // namespace kollect::kube
