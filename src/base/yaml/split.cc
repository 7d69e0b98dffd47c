#include "base/yaml/split.h"

#include <utility>

#include "base/strings.h"

namespace kollect::base::yaml {

namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";

bool is_mark(std::string_view line, std::string_view mark) {
  return line.starts_with(mark) && (line.size() == 3 || line[3] == ' ' || line[3] == '\t' ||
                                    line[3] == '\r' || line[3] == '\n');
}

/// Blank, comment or directive.
bool is_empty_line(std::string_view line) {
  const std::string_view content = trim(line);
  return content.empty() || content.front() == '#';
}

/// Collects lines into pieces.
class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  std::vector<Piece> run() {
    std::uint32_t line_number = 1;
    for (std::size_t at = 0; at < text_.size(); ++line_number) {
      const std::size_t feed = text_.find('\n', at);
      const std::size_t end = feed == std::string_view::npos ? text_.size() : feed + 1;
      line(at, end, line_number);
      at = end;
    }
    finish(text_.size());
    return std::move(pieces_);
  }

 private:
  void line(std::size_t begin, std::size_t end, std::uint32_t number) {
    std::string_view text = text_.substr(begin, end - begin);
    std::size_t skipped = 0;
    if (!content_ && text.starts_with(kMark)) {
      text.remove_prefix(kMark.size());  // files joined end to end carry their marks along
      skipped = kMark.size();
    }
    if (is_mark(text, "---")) {
      // Directives belong to the document that follows them.
      if (content_ || marked_ || !directives_) {
        finish(begin);
        start(begin + skipped, number);
      }
      marked_ = true;
      content_ = content_ || !is_empty_line(text.substr(3));
      return;
    }
    if (skipped > 0 && !marked_ && !directives_) {
      start(begin + skipped, number);
    }
    if (is_mark(text, "...")) {
      finish(end);
      start(end, number + 1);
      return;
    }
    if (text.starts_with('%') && !content_ && !marked_) {
      directives_ = true;
      return;
    }
    content_ = content_ || !is_empty_line(text);
  }

  void start(std::size_t begin, std::uint32_t number) {
    begin_ = begin;
    line_ = number;
    marked_ = content_ = directives_ = false;
  }

  void finish(std::size_t end) {
    if (marked_ || content_ || directives_) {
      pieces_.push_back({text_.substr(begin_, end - begin_), line_, marked_});
    }
  }

  std::string_view text_;
  std::vector<Piece> pieces_;
  std::size_t begin_ = 0;
  std::uint32_t line_ = 1;
  bool marked_ = false;
  bool content_ = false;
  bool directives_ = false;
};

char32_t unit_at(std::string_view text, std::size_t at, bool big_endian) {
  const auto first = static_cast<unsigned char>(text[at]);
  const auto second = static_cast<unsigned char>(text[at + 1]);
  return big_endian ? (char32_t{first} << 8U) | second : (char32_t{second} << 8U) | first;
}

}  // namespace

std::vector<Piece> split_stream(std::string_view text) {
  return Splitter(text).run();
}

std::size_t json_end(std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      at += c == '\\' ? 1 : 0;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

std::string_view as_utf8(std::string_view text, std::string& buffer) {
  if (text.starts_with(kMark)) {
    return text.substr(kMark.size());
  }
  const bool big_endian = text.starts_with("\xFE\xFF");
  if (!big_endian && !text.starts_with("\xFF\xFE")) {
    return text;
  }
  for (std::size_t at = 2; at + 1 < text.size(); at += 2) {
    char32_t c = unit_at(text, at, big_endian);
    if (c >= 0xD800 && c < 0xDC00 && at + 3 < text.size()) {
      const char32_t low = unit_at(text, at + 2, big_endian);
      if (low >= 0xDC00 && low < 0xE000) {
        c = 0x10000 + ((c - 0xD800) << 10U) + (low - 0xDC00);
        at += 2;
      }
    }
    append_utf8(buffer, c);
  }
  return buffer;
}

}  // namespace kollect::base::yaml
