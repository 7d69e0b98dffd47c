#include "base/yaml/write.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/json/write.h"
#include "base/yaml/key_order.h"
#include "base/yaml/style.h"

namespace kollect::base::yaml {

namespace {

using json::Type;
using json::View;

/// Plain and quoted text folds at a blank behind this column.
constexpr std::size_t kWidth = 80;
/// Longer keys, and keys of several lines, are written behind "? ".
constexpr std::size_t kLongestKey = 128;
constexpr std::size_t kStep = 2;

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out), line_(out.size()) {}

  void document(View view) {
    switch (kind_of(view)) {
      case Kind::kMapping:
        mapping(view, 0, true);
        break;
      case Kind::kSequence:
        sequence(view, 0, true);
        break;
      case Kind::kScalar:
        scalar(view, kStep);
        break;
    }
    end_line();
  }

  void item(View view, std::size_t indent) {
    out_ += '-';
    inside(view, indent);
  }

  void end_line() {
    if (out_.empty() || out_.back() != '\n') {
      out_ += '\n';
    }
    line_ = out_.size();
  }

 private:
  enum class Kind { kScalar, kMapping, kSequence };

  /// Empty collections are written like scalars.
  static Kind kind_of(View view) {
    if (view.size() == 0) {
      return Kind::kScalar;
    }
    return view.is_object() ? Kind::kMapping : Kind::kSequence;
  }

  void new_line(std::size_t indent) {
    end_line();
    out_.append(indent, ' ');
  }

  /// The value behind an indicator ("-", "?", ":") that stands at column `indent`.
  void inside(View view, std::size_t indent) {
    out_ += ' ';
    switch (kind_of(view)) {
      case Kind::kMapping:
        mapping(view, indent + kStep, true);
        break;
      case Kind::kSequence:
        sequence(view, indent + kStep, true);
        break;
      case Kind::kScalar:
        scalar(view, indent + kStep);
        break;
    }
  }

  void sequence(View view, std::size_t indent, bool first_in_line) {
    for (const View element : view.items()) {
      if (!first_in_line) {
        new_line(indent);
      }
      first_in_line = false;
      item(element, indent);
    }
  }

  void mapping(View view, std::size_t indent, bool first_in_line) {
    for (const View::Member& member : ordered_members(view)) {
      if (!first_in_line) {
        new_line(indent);
      }
      first_in_line = false;
      if (member.key.size() > kLongestKey || has_break(member.key)) {
        out_ += "? ";
        text(member.key, indent + kStep, true);
        new_line(indent);
        out_ += ':';
        inside(member.value, indent);
        continue;
      }
      text(member.key, indent + kStep, false);
      out_ += ':';
      value(member.value, indent);
    }
  }

  /// The value behind a key of a mapping at `indent`; sequences are not indented under their key.
  void value(View view, std::size_t indent) {
    switch (kind_of(view)) {
      case Kind::kMapping:
        mapping(view, indent + kStep, false);
        break;
      case Kind::kSequence:
        sequence(view, indent, false);
        break;
      case Kind::kScalar:
        out_ += ' ';
        scalar(view, indent + kStep);
        break;
    }
  }

  void scalar(View view, std::size_t indent) {
    switch (view.type()) {
      case Type::kNull:
        out_ += "null";
        break;
      case Type::kTrue:
        out_ += "true";
        break;
      case Type::kFalse:
        out_ += "false";
        break;
      case Type::kNumber:
        number(view);
        break;
      case Type::kString:
        text(view.as_string(), indent, true);
        break;
      case Type::kArray:
        out_ += "[]";
        break;
      case Type::kObject:
        out_ += "{}";
        break;
    }
  }

  void number(View view);
  void text(std::string_view text, std::size_t indent, bool may_fold);
  void plain(std::string_view text, std::size_t indent);
  void single_quoted(std::string_view text, std::size_t indent, bool may_fold);
  void double_quoted(std::string_view text, std::size_t indent, bool may_fold);
  void literal(std::string_view text, std::size_t indent);

  static bool has_break(std::string_view text) {
    return text.find_first_of("\n\r") != std::string_view::npos ||
           text.find("\xC2\x85") != std::string_view::npos ||
           text.find("\xE2\x80\xA8") != std::string_view::npos ||
           text.find("\xE2\x80\xA9") != std::string_view::npos;
  }

  /// Characters on the current line.
  [[nodiscard]] std::size_t column() const {
    const std::string_view line = std::string_view(out_).substr(line_);
    return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
  }

  /// Cheap test whether a text of `size` bytes can reach the fold at all.
  [[nodiscard]] bool fits(std::size_t size) const { return out_.size() - line_ + size <= kWidth; }

  std::string& out_;
  std::size_t line_;  // where the current line begins
};

/// Shortest digits; exponent form from 1e+06 on and below 1e-04, exponents of two digits at least.
void append_shortest(std::string& out, double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const auto mark = text.find('e');
  int exponent = 0;
  const char* digits = text.data() + mark + (text[mark + 1] == '+' ? 2 : 1);
  std::from_chars(digits, end, exponent);
  if (exponent < -4 || exponent >= 6) {
    out += text;
    return;
  }
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed)
          .ptr;
  out.append(buffer.data(), fixed);
}

void Writer::number(View view) {
  const std::size_t begin = out_.size();
  json::append_number(out_, view.number_text());
  // Canonical text first: 1e3 and 1000.0 are the integer 1000 for every reader of the JSON form.
  const json::Number number = json::read_number(std::string_view(out_).substr(begin));
  switch (number.kind) {
    case json::Number::Kind::kInt:
      if (number.i == 0) {
        out_.resize(begin);
        out_ += '0';
      }
      break;
    case json::Number::Kind::kUint:
      break;
    case json::Number::Kind::kDouble:
      out_.resize(begin);
      append_shortest(out_, number.d);
      break;
    case json::Number::Kind::kOutOfRange:
      break;
  }
}

void Writer::text(std::string_view text, std::size_t indent, bool may_fold) {
  switch (choose_style(text)) {
    case Style::kPlain:
      if (!may_fold || fits(text.size())) {
        out_ += text;
      } else {
        plain(text, indent);
      }
      break;
    case Style::kSingleQuoted:
      single_quoted(text, indent, may_fold);
      break;
    case Style::kDoubleQuoted:
      double_quoted(text, indent, may_fold);
      break;
    case Style::kLiteral:
      literal(text, indent);
      break;
  }
}

void Writer::plain(std::string_view text, std::size_t indent) {
  std::size_t done = 0;
  for (auto at = text.find(' '); at != std::string_view::npos; at = text.find(' ', at + 1)) {
    // A run of blanks stays on one line. Plain text neither begins nor ends with one.
    if (text[at - 1] == ' ' || text[at + 1] == ' ') {
      continue;
    }
    out_.append(text, done, at - done);
    done = at;
    if (column() > kWidth) {
      new_line(indent);
      done = at + 1;
    }
  }
  out_.append(text, done);
}

void Writer::single_quoted(std::string_view text, std::size_t indent, bool may_fold) {
  out_ += '\'';
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == ' ' && may_fold && at > 0 && at + 1 < text.size() && text[at - 1] != ' ' &&
        text[at + 1] != ' ' && !fits(0) && column() > kWidth) {
      new_line(indent);
      continue;
    }
    if (c == '\'') {
      out_ += '\'';
    }
    out_ += c;
  }
  out_ += '\'';
}

void append_hex(std::string& out, char32_t c, int digits) {
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) {
    out +=
        "0123456789ABCDEF"[(static_cast<std::uint32_t>(c) >> static_cast<unsigned>(shift)) & 15U];
  }
}

void append_escape(std::string& out, char32_t c) {
  struct Short {
    char32_t c;
    char letter;
  };
  constexpr std::array<Short, 15> kShort = {{{0x00, '0'},
                                             {0x07, 'a'},
                                             {0x08, 'b'},
                                             {0x09, 't'},
                                             {0x0A, 'n'},
                                             {0x0B, 'v'},
                                             {0x0C, 'f'},
                                             {0x0D, 'r'},
                                             {0x1B, 'e'},
                                             {0x22, '"'},
                                             {0x5C, '\\'},
                                             {0x85, 'N'},
                                             {0xA0, '_'},
                                             {0x2028, 'L'},
                                             {0x2029, 'P'}}};
  out += '\\';
  for (const Short& entry : kShort) {
    if (entry.c == c) {
      out += entry.letter;
      return;
    }
  }
  if (c <= 0xFF) {
    out += 'x';
    append_hex(out, c, 2);
  } else if (c <= 0xFFFF) {
    out += 'u';
    append_hex(out, c, 4);
  } else {
    out += 'U';
    append_hex(out, c, 8);
  }
}

void Writer::double_quoted(std::string_view text, std::size_t indent, bool may_fold) {
  // A text that begins with a byte order mark is escaped as a whole: so the tools we agree with
  // write it.
  const bool escape_all = text.starts_with("\xEF\xBB\xBF");
  bool after_blank = false;
  out_ += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = next_character(text, at);
    if (escape_all || c == '\n' || c == '"' || c == '\\' || must_be_escaped(c)) {
      append_escape(out_, c);
      after_blank = false;
    } else if (c != ' ') {
      out_.append(text, begin, at - begin);
      after_blank = false;
    } else {
      if (may_fold && !after_blank && begin > 0 && at < text.size() && !fits(0) &&
          column() > kWidth) {
        new_line(indent);
        if (text[at] == ' ') {
          out_ += '\\';  // or the blank would be lost with the fold
        }
      } else {
        out_ += ' ';
      }
      after_blank = true;
    }
  }
  out_ += '"';
}

void Writer::literal(std::string_view text, std::size_t indent) {
  out_ += '|';
  if (text.front() == ' ' || text.front() == '\n') {
    out_ += static_cast<char>('0' + kStep);
  }
  if (text.back() != '\n') {
    out_ += '-';
  } else if (text.size() == 1 || text[text.size() - 2] == '\n') {
    out_ += '+';
  }
  out_ += '\n';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) {
      out_.append(indent, ' ');
      out_.append(text, at, end - at);
    }
    if (end < text.size()) {
      out_ += '\n';
    }
    at = end + 1;
  }
}

}  // namespace

std::string write(View view) {
  std::string out;
  Writer(out).document(view);
  return out;
}

std::string write(const json::Value& value) {
  return write(json::Document::from_value(value).root());
}

void append_sequence_item(std::string& out, View view) {
  Writer writer(out);
  writer.item(view, 0);
  writer.end_line();
}

}  // namespace kollect::base::yaml
