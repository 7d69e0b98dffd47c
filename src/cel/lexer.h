// Tokens of an expression (language definition, "Syntax").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cel/arena.h"

namespace kollect::cel {

enum class Token : std::uint8_t {
  kEnd,
  kError,
  kIdent,
  kQuotedIdent,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTrue,
  kFalse,
  kNull,
  kIn,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
  kNot,
  kPlus,
  kMinus,
  kStar,
  kSlash,
  kPercent,
  kQuestion,
  kColon,
  kComma,
  kDot,
  kLeftParen,
  kRightParen,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,
  kRightBrace,
};

/// A mistake in the text: byte offset and what is wrong.
struct SourceError {
  std::uint32_t position = 0;
  std::string message;
};

/// Cuts the text into tokens on demand. The text must be valid UTF-8 and outlive the lexer; decoded
/// literals live in the arena.
class Lexer {
 public:
  Lexer(std::string_view text, Arena& arena) : text_(text), arena_(arena) {}

  /// Reads the next token; kError leaves the reason in error().
  Token next();
  [[nodiscard]] std::uint32_t position() const { return start_; }
  /// Identifiers and numbers: as written; strings, bytes, quoted identifiers: decoded.
  [[nodiscard]] std::string_view value() const { return value_; }
  [[nodiscard]] const SourceError& error() const { return error_; }

 private:
  void skip_blanks();
  Token fail(std::size_t at, std::string message);
  Token number();
  Token word();
  Token quoted_identifier();
  Token punctuation();
  Token string_literal(bool raw, bool bytes);
  bool escape(std::string& out, bool bytes);
  bool code_point_escape(std::string& out, std::size_t digits, bool bytes, std::size_t from);
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  std::string_view text_;
  Arena& arena_;
  std::size_t at_ = 0;
  std::uint32_t start_ = 0;
  std::string_view value_;
  SourceError error_;
};

/// How a token is called in messages.
std::string_view token_name(Token token);
/// Words that cannot be names ("as", "break", …).
bool is_reserved(std::string_view word);

}  // namespace kollect::cel
