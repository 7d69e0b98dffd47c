// Filters: [?( ... )] (spec: extraction 3.3).
#include <fmt/format.h>
#include <re2/re2.h>

#include "extract/jsonpath_parser.h"

namespace kollect::extract {

namespace {

using ast::Filter;
using ast::Operand;

constexpr int kMaxFilterDepth = 64;

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

Filter combine(Filter::Kind kind, std::vector<Filter> children) {
  if (children.size() == 1) return std::move(children.front());
  Filter filter;
  filter.kind = kind;
  filter.children = std::move(children);
  return filter;
}

}  // namespace

PathParser::Parsed<Filter> PathParser::parse_or() {
  std::vector<Filter> children;
  while (true) {
    auto next = parse_and();
    if (!next) return next;
    children.push_back(std::move(*next));
    skip_space();
    if (peek() != '|') return combine(Filter::Kind::kOr, std::move(children));
    if (peek(1) != '|') return fail(at_, "did you mean ||?");
    at_ += 2;
  }
}

PathParser::Parsed<Filter> PathParser::parse_and() {
  std::vector<Filter> children;
  while (true) {
    auto next = parse_not();
    if (!next) return next;
    children.push_back(std::move(*next));
    skip_space();
    if (peek() != '&') return combine(Filter::Kind::kAnd, std::move(children));
    if (peek(1) != '&') return fail(at_, "did you mean &&?");
    at_ += 2;
  }
}

PathParser::Parsed<Filter> PathParser::parse_not() {
  skip_space();
  // One counter for "!", "(" and filters inside operands: all of them recurse through here.
  if (depth_ >= kMaxFilterDepth) return fail(at_, "the filter is nested too deeply");
  ++depth_;
  Parsed<Filter> result = [&]() -> Parsed<Filter> {
    if (peek() == '!' && peek(1) != '=') {
      ++at_;
      auto child = parse_not();
      if (!child) return child;
      Filter filter;
      filter.kind = Filter::Kind::kNot;
      filter.children.push_back(std::move(*child));
      return filter;
    }
    if (take('(')) {
      auto inner = parse_or();
      if (!inner) return inner;
      skip_space();
      if (!take(')')) return fail(at_, "\")\" expected");
      return inner;
    }
    return parse_compare();
  }();
  --depth_;
  return result;
}

PathParser::Parsed<Filter> PathParser::parse_compare() {
  Filter filter;
  auto left = parse_operand();
  if (!left) return std::unexpected(left.error());
  filter.left = std::move(*left);
  skip_space();
  const auto operator_at = at_;
  auto op = parse_operator();
  if (!op) return std::unexpected(op.error());
  if (!*op) return filter;  // a single operand: existence
  filter.kind = Filter::Kind::kCompare;
  filter.op = **op;
  auto right = parse_operand();
  if (!right) return std::unexpected(right.error());
  filter.right = std::move(*right);
  auto done = finish_compare(filter, operator_at);
  if (!done) return std::unexpected(done.error());
  return filter;
}

PathParser::Parsed<std::optional<Filter::Op>> PathParser::parse_operator() {
  const auto start = at_;
  while (std::string_view("=!<>~").find(peek()) != std::string_view::npos && !at_end()) ++at_;
  const auto op = text_.substr(start, at_ - start);
  if (op.empty()) return std::optional<Filter::Op>{};
  if (op == "==") return Filter::Op::kEq;
  if (op == "!=") return Filter::Op::kNe;
  if (op == "<") return Filter::Op::kLt;
  if (op == "<=") return Filter::Op::kLe;
  if (op == ">") return Filter::Op::kGt;
  if (op == ">=") return Filter::Op::kGe;
  if (op == "=~") return Filter::Op::kMatch;
  const auto* hint = op == "=" ? "; did you mean ==?" : "";
  return fail(start, fmt::format("no operator {}{} (there are == != < <= > >= =~)", op, hint));
}

PathParser::Parsed<void> PathParser::finish_compare(Filter& filter, std::size_t operator_at) {
  if (filter.op != Filter::Op::kMatch) return {};
  if (filter.right.kind != Operand::Kind::kString)
    return fail(operator_at, "=~ takes a quoted pattern on its right");
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  auto pattern = std::make_shared<const RE2>(filter.right.text, options);
  if (!pattern->ok()) return fail(operator_at, fmt::format("bad pattern: {}", pattern->error()));
  filter.pattern = std::move(pattern);
  return {};
}

PathParser::Parsed<Operand> PathParser::parse_operand() {
  skip_space();
  Operand operand;
  operand.position = position(at_);
  const auto c = peek();
  if (c == '\'' || c == '"') {
    auto text = parse_quoted();
    if (!text) return std::unexpected(text.error());
    operand.kind = Operand::Kind::kString;
    operand.text = std::move(*text);
    return operand;
  }
  if (c == '-' || (c >= '0' && c <= '9')) return parse_number();
  if (c == '@' || c == '$' || c == '.' || c == '[') {
    operand.kind = c == '$' ? Operand::Kind::kRootPath : Operand::Kind::kElementPath;
    if (c == '@' || c == '$') ++at_;
    auto steps = parse_steps(true, false);
    if (!steps) return std::unexpected(steps.error());
    operand.steps = std::move(*steps);
    return operand;
  }
  const auto start = at_;
  while (is_word_char(peek())) ++at_;
  const auto word = text_.substr(start, at_ - start);
  if (word == "true")
    operand.kind = Operand::Kind::kTrue;
  else if (word == "false")
    operand.kind = Operand::Kind::kFalse;
  else if (word == "null")
    operand.kind = Operand::Kind::kNull;
  else if (word.empty())
    return fail(start, "an operand expected: @.name, a number, a quoted text, true, false or null");
  else
    return fail(start,
                fmt::format("a bare word; did you mean \"{0}\" or @.{0}?", word.substr(0, 40)));
  return operand;
}

PathParser::Parsed<Operand> PathParser::parse_number() {
  const auto start = at_;
  Operand operand;
  operand.kind = Operand::Kind::kNumber;
  operand.position = position(start);
  const auto digits = [&] {
    const auto from = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > from;
  };
  take('-');
  bool good = digits();
  if (take('.')) good = digits() && good;
  if (good && (peek() == 'e' || peek() == 'E')) {
    ++at_;
    if (peek() == '+' || peek() == '-') ++at_;
    good = digits();
  }
  if (!good) return fail(start, "no number");
  operand.number = base::json::read_number(text_.substr(start, at_ - start));
  if (operand.number.kind == base::json::Number::Kind::kOutOfRange)
    return fail(start, "the number is out of range");
  return operand;
}

}  // namespace kollect::extract
