#include "cel/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace kollect::cel {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr std::array<std::string_view, 17> kReserved = {
    "as",  "break", "const",     "continue", "else",   "for", "function", "if",   "import",
    "let", "loop",  "namespace", "package",  "return", "var", "void",     "while"};

constexpr std::array<std::string_view, 37> kTokenNames = {"end of expression",
                                                          "error",
                                                          "name",
                                                          "quoted name",
                                                          "int",
                                                          "uint",
                                                          "double",
                                                          "string",
                                                          "bytes",
                                                          "'true'",
                                                          "'false'",
                                                          "'null'",
                                                          "'in'",
                                                          "'=='",
                                                          "'!='",
                                                          "'<'",
                                                          "'<='",
                                                          "'>'",
                                                          "'>='",
                                                          "'&&'",
                                                          "'||'",
                                                          "'!'",
                                                          "'+'",
                                                          "'-'",
                                                          "'*'",
                                                          "'/'",
                                                          "'%'",
                                                          "'?'",
                                                          "':'",
                                                          "','",
                                                          "'.'",
                                                          "'('",
                                                          "')'",
                                                          "'['",
                                                          "']'",
                                                          "'{'",
                                                          "'}'"};

}  // namespace

bool is_reserved(std::string_view word) {
  return std::find(kReserved.begin(), kReserved.end(), word) != kReserved.end();
}

std::string_view token_name(Token token) {
  return kTokenNames[static_cast<std::size_t>(token)];
}

Token Lexer::fail(std::size_t at, std::string message) {
  error_ = {static_cast<std::uint32_t>(at), std::move(message)};
  return Token::kError;
}

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
      ++at_;
    } else if (c == '/' && peek(1) == '/') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else {
      return;
    }
  }
}

Token Lexer::next() {
  skip_blanks();
  start_ = static_cast<std::uint32_t>(at_);
  if (at_ == text_.size()) return Token::kEnd;
  const char c = text_[at_];
  if (is_letter(c)) return word();
  if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
  if (c == '"' || c == '\'') return string_literal(false, false);
  if (c == '`') return quoted_identifier();
  return punctuation();
}

Token Lexer::word() {
  // A string prefix: r, b or br before a quote.
  std::size_t prefix = 0;
  bool bytes = false;
  bool raw = false;
  if (peek() == 'b' || peek() == 'B') {
    bytes = true;
    prefix = 1;
  }
  if (peek(prefix) == 'r' || peek(prefix) == 'R') {
    raw = true;
    ++prefix;
  }
  if (prefix > 0 && (peek(prefix) == '"' || peek(prefix) == '\'')) {
    at_ += prefix;
    return string_literal(raw, bytes);
  }
  while (is_letter(peek()) || is_digit(peek())) ++at_;
  value_ = text_.substr(start_, at_ - start_);
  if (value_ == "true") return Token::kTrue;
  if (value_ == "false") return Token::kFalse;
  if (value_ == "null") return Token::kNull;
  return value_ == "in" ? Token::kIn : Token::kIdent;
}

Token Lexer::number() {
  Token kind = Token::kInt;
  if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X') && hex_digit(peek(2)) >= 0) {
    at_ += 2;
    while (hex_digit(peek()) >= 0) ++at_;
  } else {
    while (is_digit(peek())) ++at_;
    if (peek() == '.' && is_digit(peek(1))) {
      kind = Token::kDouble;
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is_digit(peek(1 + sign))) {
        kind = Token::kDouble;
        at_ += 1 + sign;
        while (is_digit(peek())) ++at_;
      }
    }
  }
  value_ = text_.substr(start_, at_ - start_);
  if (kind == Token::kInt && (peek() == 'u' || peek() == 'U')) {
    ++at_;
    kind = Token::kUint;
  }
  if (is_letter(peek()) || is_digit(peek()))
    return fail(at_, "a number cannot be followed by letters");
  return kind;
}

Token Lexer::quoted_identifier() {
  const std::size_t first = ++at_;
  while (at_ < text_.size() && text_[at_] != '`') {
    const char c = text_[at_];
    if (!is_letter(c) && !is_digit(c) && c != '.' && c != '-' && c != '/' && c != ' ') {
      return fail(
          at_, "a name in backquotes may hold letters, digits, '_', '.', '-', '/' and blanks only");
    }
    ++at_;
  }
  if (at_ == text_.size()) return fail(start_, "a name in backquotes is not closed");
  value_ = text_.substr(first, at_ - first);
  ++at_;
  return value_.empty() ? fail(start_, "a name in backquotes is empty") : Token::kQuotedIdent;
}

Token Lexer::punctuation() {
  const char c = text_[at_++];
  const auto two = [&](char second, Token with, Token without) {
    if (peek() != second) return without;
    ++at_;
    return with;
  };
  switch (c) {
    case '=':
      if (peek() == '=') return two('=', Token::kEqual, Token::kError);
      return fail(start_, "'=' is no operator; comparison is '=='");
    case '!':
      return two('=', Token::kNotEqual, Token::kNot);
    case '<':
      return two('=', Token::kLessEqual, Token::kLess);
    case '>':
      return two('=', Token::kGreaterEqual, Token::kGreater);
    case '&':
      if (peek() == '&') return two('&', Token::kAnd, Token::kError);
      return fail(start_, "'&' is no operator; 'and' is '&&'");
    case '|':
      if (peek() == '|') return two('|', Token::kOr, Token::kError);
      return fail(start_, "'|' is no operator; 'or' is '||'");
    case '+':
      return Token::kPlus;
    case '-':
      return Token::kMinus;
    case '*':
      return Token::kStar;
    case '/':
      return Token::kSlash;
    case '%':
      return Token::kPercent;
    case '?':
      return Token::kQuestion;
    case ':':
      return Token::kColon;
    case ',':
      return Token::kComma;
    case '.':
      return Token::kDot;
    case '(':
      return Token::kLeftParen;
    case ')':
      return Token::kRightParen;
    case '[':
      return Token::kLeftBracket;
    case ']':
      return Token::kRightBracket;
    case '{':
      return Token::kLeftBrace;
    case '}':
      return Token::kRightBrace;
    default:
      return fail(start_, "this character has no meaning here");
  }
}

Token Lexer::string_literal(bool raw, bool bytes) {
  const char quote = text_[at_];
  const bool triple = peek(1) == quote && peek(2) == quote;
  at_ += triple ? 3 : 1;
  std::string out;
  while (true) {
    if (at_ >= text_.size()) return fail(start_, "a string is not closed");
    const char c = text_[at_];
    if (c == quote && (!triple || (peek(1) == quote && peek(2) == quote))) break;
    if (!triple && (c == '\n' || c == '\r')) {
      return fail(start_,
                  "a string ends at the end of its line; use three quotes for several lines");
    }
    if (c == '\\' && !raw) {
      if (!escape(out, bytes)) return Token::kError;
      continue;
    }
    ++at_;
    // Line ends count as one line feed however the file was saved.
    if (c == '\r') {
      if (peek() == '\n') ++at_;
      out += '\n';
    } else {
      out += c;
    }
  }
  at_ += triple ? 3 : 1;
  value_ = arena_.copy(out);
  return bytes ? Token::kBytes : Token::kString;
}

bool Lexer::escape(std::string& out, bool bytes) {
  const std::size_t from = at_++;
  const char c = peek();
  ++at_;
  constexpr std::string_view kPlain = "abfnrtv\\?\"'`";
  constexpr std::string_view kMeaning = "\a\b\f\n\r\t\v\\?\"'`";
  if (const auto found = kPlain.find(c); c != '\0' && found != std::string_view::npos) {
    out += kMeaning[found];
    return true;
  }
  if (c == 'x' || c == 'X') return code_point_escape(out, 2, bytes, from);
  if (!bytes && c == 'u') return code_point_escape(out, 4, false, from);
  if (!bytes && c == 'U') return code_point_escape(out, 8, false, from);
  if (c >= '0' && c <= '3' && peek() >= '0' && peek() <= '7' && peek(1) >= '0' && peek(1) <= '7') {
    const int value = (c - '0') * 64 + (peek() - '0') * 8 + (peek(1) - '0');
    at_ += 2;
    if (bytes) {
      out += static_cast<char>(value);
    } else {
      base::append_utf8(out, static_cast<char32_t>(value));
    }
    return true;
  }
  fail(from, "this escape does not exist; write '\\\\' for a backslash");
  return false;
}

bool Lexer::code_point_escape(std::string& out, std::size_t digits, bool bytes, std::size_t from) {
  std::uint32_t value = 0;
  for (std::size_t n = 0; n < digits; ++n) {
    const int digit = hex_digit(peek());
    if (digit < 0) {
      fail(from, fmt::format("this escape needs {} hexadecimal digits", digits));
      return false;
    }
    value = value * 16 + static_cast<std::uint32_t>(digit);
    ++at_;
  }
  if (bytes) {
    out += static_cast<char>(value);
    return true;
  }
  if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
    fail(from, "this escape is no Unicode character");
    return false;
  }
  base::append_utf8(out, static_cast<char32_t>(value));
  return true;
}

}  // namespace kollect::cel
