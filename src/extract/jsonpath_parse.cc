#include <charconv>

#include <fmt/format.h>

#include "base/strings.h"
#include "extract/jsonpath_parser.h"

namespace kollect::extract {

namespace {

using ast::Step;
using Kind = ast::Step::Kind;

constexpr std::string_view kSpace = " \t\r\n\v\f";
constexpr std::string_view kNameEnd = " \t\r\n\v\f.,[]$@{}";
constexpr std::string_view kFilterNameEnd = " \t\r\n\v\f.,[]$@{}=!<>&|()";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// A piece of the user's own text for a message; long ones are cut.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 48;
  if (text.size() <= kMost) return std::string(text);
  return std::string(base::cut_utf8(text, kMost)) + "…";
}

}  // namespace

void PathParser::skip_space() {
  while (!at_end() && kSpace.find(text_[at_]) != std::string_view::npos) ++at_;
}

std::size_t PathParser::position(std::size_t byte) const {
  std::size_t characters = 1;
  for (std::size_t i = 0; i < byte && i < text_.size(); ++i) {
    if ((static_cast<unsigned char>(text_[i]) & 0xC0U) != 0x80U) ++characters;
  }
  return characters > offset_ ? characters - offset_ : 1;
}

std::unexpected<PathParser::Error> PathParser::fail(std::size_t byte, std::string message) const {
  const auto where = position(byte);
  return std::unexpected(Error{where, fmt::format("{} (position {})", message, where)});
}

PathParser::Parsed<ast::Path> PathParser::parse() {
  auto path = peek() == '{' ? parse_braces() : parse_dollar();
  if (path) ast::derive(*path);
  return path;
}

PathParser::Parsed<ast::Path> PathParser::parse_dollar() {
  ast::Path path;
  at_ = 1;  // the caller has seen the "$"
  if (peek() == '[' && peek(1) == ']') {
    path.always_array = true;
    at_ = 3;
  }
  const auto next = peek();
  if (!at_end() && next != '.' && next != '[' && kSpace.find(next) == std::string_view::npos) {
    return fail(at_, fmt::format("\"$\" is followed by \".\" or \"[\"; did you mean {}?",
                                 shown("$." + std::string(text_.substr(at_)))));
  }
  auto steps = parse_steps(false, true);
  if (!steps) return std::unexpected(steps.error());
  path.steps = std::move(*steps);
  if (!at_end()) {
    return fail(at_, fmt::format("\"{}\" after the path; a path is one expression and nothing else",
                                 shown(text_.substr(at_))));
  }
  return path;
}

PathParser::Parsed<ast::Path> PathParser::parse_braces() {
  ast::Path path;
  at_ = 1;
  skip_space();
  if (peek() == '$' || peek() == '@') ++at_;
  const auto first = peek();
  if (first != '.' && first != '[' && first != '}' &&
      kSpace.find(first) == std::string_view::npos) {
    const auto rest = text_.substr(at_, text_.find('}', at_) - at_);
    if (rest.starts_with("range") || rest == "end") {
      return fail(at_, "\"range\" and \"end\" are no path; [*] visits all elements");
    }
    return fail(at_,
                fmt::format("a path in braces begins with \".\" or \"[\"; did you mean {{.{}}}?",
                            shown(rest)));
  }
  auto steps = parse_steps(false, true);
  if (!steps) return std::unexpected(steps.error());
  path.steps = std::move(*steps);
  if (!take('}')) {
    return at_end()
               ? fail(at_, "the brace is not closed; did you forget \"}\"?")
               : fail(at_, fmt::format("\"{}\" is no step of a path", shown(text_.substr(at_))));
  }
  if (!at_end()) {
    return fail(at_, fmt::format("text after the braces; a path is one expression, such as {}",
                                 shown(text_.substr(0, at_))));
  }
  return path;
}

PathParser::Parsed<std::vector<Step>> PathParser::parse_steps(bool in_filter, bool at_start) {
  std::vector<Step> steps;
  while (true) {
    const auto before = at_;
    skip_space();
    if (peek() == '.') {
      auto done = parse_dot_steps(steps, in_filter, at_start && steps.empty());
      if (!done) return std::unexpected(done.error());
    } else if (peek() == '[') {
      auto step = parse_bracket();
      if (!step) return std::unexpected(step.error());
      steps.push_back(std::move(*step));
    } else {
      if (in_filter) at_ = before;
      return steps;
    }
  }
}

PathParser::Parsed<void> PathParser::parse_dot_steps(std::vector<Step>& steps, bool in_filter,
                                                     bool at_start) {
  const auto dot = at_;
  ++at_;
  const bool descent = take('.');
  if (descent) {
    if (peek() == '.') return fail(dot, "two descents (\"..\") in a row");
    Step step;
    step.kind = Kind::kDescent;
    step.position = position(dot);
    steps.push_back(std::move(step));
    if (peek() == '[') return {};
  }
  const auto name_at = at_;
  auto name = parse_name(in_filter);
  if (!name) return std::unexpected(name.error());
  if (at_ == name_at) {
    if (peek() == '[') return fail(at_, "a bracket follows without a dot: .name['key']");
    skip_space();
    const bool nothing_more = at_end() || (peek() == '}' && at_ + 1 == text_.size());
    if (descent || !at_start || !nothing_more || in_filter) {
      return fail(dot,
                  descent ? "a name or a bracket must follow \"..\"" : "a name must follow \".\"");
    }
  }
  steps.push_back(std::move(*name));
  return {};
}

PathParser::Parsed<Step> PathParser::parse_name(bool in_filter) {
  const auto ends = in_filter ? kFilterNameEnd : kNameEnd;
  Step step;
  step.position = position(at_);
  bool escaped = false;
  while (!at_end() && ends.find(text_[at_]) == std::string_view::npos) {
    if (text_[at_] == '\\') {
      ++at_;
      escaped = true;
      if (at_end()) return fail(at_ - 1, "a backslash at the end takes no character");
    }
    step.key += text_[at_++];
  }
  if (step.key == "*" && !escaped) step.kind = Kind::kMembers;
  return step;
}

PathParser::Parsed<Step> PathParser::parse_bracket() {
  const auto open = at_++;
  skip_space();
  Step step;
  if (peek() == ']')
    return fail(open,
                "[] stands right after the first \"$\" only; [0] is the first element, [*] all");
  if (peek() == '?') {
    ++at_;
    if (!take('(')) return fail(at_, "a filter is written [?(…)]");
    auto filter = parse_or();
    if (!filter) return std::unexpected(filter.error());
    skip_space();
    if (!take(')')) return fail(at_, "the filter is not closed; \")\" expected");
    step.kind = Kind::kFilter;
    step.filter = std::make_shared<const ast::Filter>(std::move(*filter));
  } else if (take('*')) {
    step.kind = Kind::kElements;
  } else {
    do {
      skip_space();
      auto member = parse_member();
      if (!member) return member;
      step.members.push_back(std::move(*member));
      skip_space();
    } while (take(','));
    step.kind = Kind::kUnion;
  }
  skip_space();
  if (!take(']')) return fail(at_, "\"]\" expected");
  if (step.kind == Kind::kUnion && step.members.size() == 1) {
    auto only = std::move(step.members.front());
    step = std::move(only);
  }
  step.position = position(open);
  return step;
}

PathParser::Parsed<Step> PathParser::parse_member() {
  const auto start = at_;
  const auto c = peek();
  if (c == '\'' || c == '"') {
    auto key = parse_quoted();
    if (!key) return std::unexpected(key.error());
    Step step;
    step.quoted = true;
    step.key = std::move(*key);
    step.position = position(start);
    return step;
  }
  if (is_digit(c) || c == '-' || c == ':') return parse_index_or_slice();
  if (c == '*' || c == '?')
    return fail(start, "a union holds indices, slices and quoted keys only");
  const auto word = text_.substr(start, text_.find_first_of(" \t,]", start) - start);
  if (word.empty()) return fail(start, "an index, a slice, a quoted key, * or ?(…) expected");
  return fail(start, fmt::format("a key in brackets is quoted; did you mean ['{}']?", shown(word)));
}

PathParser::Parsed<Step> PathParser::parse_index_or_slice() {
  Step step;
  step.position = position(at_);
  step.kind = Kind::kIndex;
  std::optional<std::int64_t> first;
  if (peek() != ':') {
    auto number = parse_integer(true);
    if (!number) return std::unexpected(number.error());
    first = *number;
  }
  if (!take(':')) {
    step.index = *first;
    return step;
  }
  step.kind = Kind::kSlice;
  step.slice.from = first;
  if (is_digit(peek()) || peek() == '-') {
    auto number = parse_integer(true);
    if (!number) return std::unexpected(number.error());
    step.slice.to = *number;
  }
  if (!take(':')) return step;
  const auto step_at = at_;
  if (is_digit(peek()) || peek() == '-') {
    auto number = parse_integer(true);
    if (!number) return std::unexpected(number.error());
    if (*number <= 0) return fail(step_at, "the step of a slice is above zero; leave it out for 1");
    step.slice.step = *number;
  }
  return step;
}

PathParser::Parsed<std::int64_t> PathParser::parse_integer(bool sign_allowed) {
  const auto start = at_;
  if (sign_allowed) take('-');
  const auto digits = at_;
  while (is_digit(peek())) ++at_;
  if (at_ == digits) return fail(start, "digits expected");
  std::int64_t value = 0;
  const auto* end = text_.data() + at_;
  const auto result = std::from_chars(text_.data() + start, end, value);
  if (result.ec != std::errc{} || result.ptr != end)
    return fail(start, "the number does not fit 64 bits");
  return value;
}

PathParser::Parsed<std::string> PathParser::parse_quoted() {
  const auto open = at_;
  const char quote = text_[at_++];
  std::string text;
  while (!at_end()) {
    const char c = text_[at_++];
    if (c == quote) return text;
    if (c != '\\') {
      text += c;
      continue;
    }
    if (at_end()) break;
    text += text_[at_++];
  }
  return fail(open, fmt::format("the quoted text is not closed; {} expected", quote));
}

}  // namespace kollect::extract
