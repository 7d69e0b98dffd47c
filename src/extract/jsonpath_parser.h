// Recursive descent over the text of a path; private to the jsonpath_*.cc files.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "extract/jsonpath.h"
#include "extract/jsonpath_ast.h"

namespace kollect::extract {

/// What to write instead of a path that is none, such as "$.spec.x" for "spec.x"; "" when nothing
/// is near.
std::string suggest_path(std::string_view text);

class PathParser {
 public:
  using Error = JsonPath::CompileError;
  template <class T>
  using Parsed = std::expected<T, Error>;

  /// `offset`: characters that stand in `text` but not in what the user wrote; subtracted from
  /// positions.
  PathParser(std::string_view text, std::size_t offset) : text_(text), offset_(offset) {}

  Parsed<ast::Path> parse();

 private:
  // jsonpath_parse.cc
  Parsed<ast::Path> parse_dollar();
  Parsed<ast::Path> parse_braces();
  /// Steps up to the end, "}" or, inside a filter, whatever ends an operand.
  Parsed<std::vector<ast::Step>> parse_steps(bool in_filter, bool at_start);
  Parsed<void> parse_dot_steps(std::vector<ast::Step>& steps, bool in_filter, bool at_start);
  Parsed<ast::Step> parse_name(bool in_filter);
  Parsed<ast::Step> parse_bracket();
  Parsed<ast::Step> parse_member();
  Parsed<ast::Step> parse_index_or_slice();
  Parsed<std::int64_t> parse_integer(bool sign_allowed);
  Parsed<std::string> parse_quoted();
  // jsonpath_filter.cc
  Parsed<ast::Filter> parse_or();
  Parsed<ast::Filter> parse_and();
  Parsed<ast::Filter> parse_not();
  Parsed<ast::Filter> parse_compare();
  Parsed<ast::Operand> parse_operand();
  Parsed<ast::Operand> parse_number();
  Parsed<std::optional<ast::Filter::Op>> parse_operator();
  Parsed<void> finish_compare(ast::Filter& filter, std::size_t operator_at);

  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_space();
  [[nodiscard]] std::size_t position(std::size_t byte) const;
  [[nodiscard]] std::unexpected<Error> fail(std::size_t byte, std::string message) const;

  std::string_view text_;
  std::size_t offset_;
  std::size_t at_ = 0;
  int depth_ = 0;  ///< nesting of filters, bounded
};

}  // namespace kollect::extract
