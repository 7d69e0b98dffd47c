#include "cel/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace kollect::cel {

namespace {

constexpr std::size_t kHeightPerNesting = 4;

struct BinaryOp {
  Op op = Op::kNone;
  int precedence = 0;
};

BinaryOp binary_op(Token token) {
  switch (token) {
    case Token::kOr:
      return {Op::kOr, 1};
    case Token::kAnd:
      return {Op::kAnd, 2};
    case Token::kEqual:
      return {Op::kEqual, 3};
    case Token::kNotEqual:
      return {Op::kNotEqual, 3};
    case Token::kLess:
      return {Op::kLess, 3};
    case Token::kLessEqual:
      return {Op::kLessEqual, 3};
    case Token::kGreater:
      return {Op::kGreater, 3};
    case Token::kGreaterEqual:
      return {Op::kGreaterEqual, 3};
    case Token::kIn:
      return {Op::kIn, 3};
    case Token::kPlus:
      return {Op::kAdd, 4};
    case Token::kMinus:
      return {Op::kSubtract, 4};
    case Token::kStar:
      return {Op::kMultiply, 5};
    case Token::kSlash:
      return {Op::kDivide, 5};
    case Token::kPercent:
      return {Op::kModulo, 5};
    default:
      return {};
  }
}

bool append_name(const Expr& node, std::string& out) {
  if (node.kind == ExprKind::kIdent) {
    if (node.absolute) out += '.';
    out += node.name;
    return true;
  }
  if (node.kind != ExprKind::kSelect || node.optional || node.test_only || node.quoted)
    return false;
  if (!append_name(*node.target, out)) return false;
  out += '.';
  out += node.name;
  return true;
}

}  // namespace

std::string qualified_name(const Expr& node) {
  std::string out;
  if (!append_name(node, out)) out.clear();
  return out;
}

const Expr* chain_root(const Expr& node) {
  const Expr* at = &node;
  while (at->kind == ExprKind::kSelect && !at->optional && !at->test_only && !at->quoted) {
    at = at->target;
  }
  return at->kind == ExprKind::kIdent ? at : nullptr;
}

Expr* Parser::fail(std::uint32_t position, std::string message) {
  if (!failed_) error_ = {position, std::move(message)};
  failed_ = true;
  return nullptr;
}

void Parser::advance() {
  token_ = lexer_.next();
  if (token_ == Token::kError) fail(lexer_.error().position, lexer_.error().message);
}

bool Parser::expect(Token token, std::string_view where) {
  if (!at(token)) {
    fail(lexer_.position(),
         fmt::format("{} was expected {}, not {}", token_name(token), where, token_name(token_)));
    return false;
  }
  advance();
  return !failed_;
}

Expr* Parser::make(ExprKind kind, std::uint32_t position) {
  Expr* node = arena_.make<Expr>();
  node->kind = kind;
  node->position = position;
  return node;
}

Expr* Parser::make_constant(Value value, std::uint32_t position) {
  Expr* node = make(ExprKind::kConstant, position);
  node->constant = value;
  return node;
}

Expr* Parser::make_op(Op op, std::uint32_t position, std::initializer_list<Expr*> args) {
  Expr* node = make(ExprKind::kCall, position);
  node->op = op;
  node->args = keep(std::vector<Expr*>(args));
  return finish(node);
}

Expr* Parser::finish(Expr* node) {
  std::uint32_t height = 0;
  const auto include = [&](const Expr* child) {
    if (child != nullptr) height = std::max(height, child->depth);
  };
  include(node->target);
  include(node->filter);
  include(node->body);
  for (const Expr* arg : node->args) include(arg);
  for (const Element& element : node->elements) {
    include(element.key);
    include(element.value);
  }
  node->depth = height + 1;
  if (node->depth > max_nesting_ * kHeightPerNesting) {
    return fail(node->position,
                fmt::format("the expression is nested too deeply (more than {} levels)",
                            max_nesting_ * kHeightPerNesting));
  }
  return node;
}

std::span<Expr*> Parser::keep(const std::vector<Expr*>& nodes) {
  auto** copy = arena_.make_array<Expr*>(nodes.size());
  std::copy(nodes.begin(), nodes.end(), copy);
  return {copy, nodes.size()};
}

std::span<Element> Parser::keep(const std::vector<Element>& elements) {
  auto* copy = arena_.make_array<Element>(elements.size());
  std::uninitialized_copy(elements.begin(), elements.end(), copy);
  return {copy, elements.size()};
}

Expr* Parser::parse() {
  advance();
  if (failed_) return nullptr;
  if (at(Token::kEnd)) return fail(0, "the expression is empty");
  Expr* root = expression();
  if (root != nullptr && !at(Token::kEnd)) {
    return fail(lexer_.position(), fmt::format("{} was not expected here", token_name(token_)));
  }
  return failed_ ? nullptr : root;
}

Expr* Parser::expression() {
  if (++nesting_ > max_nesting_) {
    return fail(
        lexer_.position(),
        fmt::format("the expression is nested too deeply (more than {} levels)", max_nesting_));
  }
  Expr* node = conditional();
  --nesting_;
  return node;
}

Expr* Parser::conditional() {
  Expr* condition = binary(1);
  if (condition == nullptr || !at(Token::kQuestion)) return condition;
  const auto position = lexer_.position();
  advance();
  Expr* yes = failed_ ? nullptr : binary(1);
  if (yes == nullptr || !expect(Token::kColon, "between the branches of '? :'")) return nullptr;
  Expr* no = expression();
  if (no == nullptr) return nullptr;
  return make_op(Op::kConditional, position, {condition, yes, no});
}

Expr* Parser::binary(int min_precedence) {
  Expr* left = unary();
  while (left != nullptr) {
    const auto [op, precedence] = binary_op(token_);
    if (op == Op::kNone || precedence < min_precedence) return left;
    if (op == Op::kAnd || op == Op::kOr) {
      left = flatten(op, left, precedence);
      continue;
    }
    const auto position = lexer_.position();
    advance();
    Expr* right = failed_ ? nullptr : binary(precedence + 1);
    left = right == nullptr ? nullptr : make_op(op, position, {left, right});
  }
  return nullptr;
}

// a && b && c becomes one node with three operands: chains of any length stay flat.
Expr* Parser::flatten(Op op, Expr* first, int precedence) {
  std::vector<Expr*> operands = {first};
  const Token token = token_;
  const auto position = lexer_.position();
  while (at(token)) {
    advance();
    Expr* next = failed_ ? nullptr : binary(precedence + 1);
    if (next == nullptr) return nullptr;
    operands.push_back(next);
  }
  Expr* node = make(ExprKind::kCall, position);
  node->op = op;
  node->args = keep(operands);
  return finish(node);
}

Expr* Parser::unary() {
  std::vector<std::pair<Op, std::uint32_t>> ops;
  while (at(Token::kNot) || at(Token::kMinus)) {
    ops.emplace_back(at(Token::kNot) ? Op::kNot : Op::kNegate, lexer_.position());
    advance();
  }
  if (failed_) return nullptr;
  // The sign belongs to the literal: only so can the smallest integer be written.
  Expr* node = nullptr;
  if (!ops.empty() && ops.back().first == Op::kNegate && (at(Token::kInt) || at(Token::kDouble))) {
    ops.pop_back();
    negative_ = true;
  }
  node = member();
  while (node != nullptr && !ops.empty()) {
    node = make_op(ops.back().first, ops.back().second, {node});
    ops.pop_back();
  }
  return node;
}

Expr* Parser::member() {
  Expr* node = primary();
  while (node != nullptr && !failed_) {
    if (at(Token::kDot)) {
      node = select_or_call(node);
    } else if (at(Token::kLeftBracket)) {
      node = index(node);
    } else if (at(Token::kLeftBrace) && chain_root(*node) != nullptr) {
      node = struct_literal(node, lexer_.position());
    } else {
      return node;
    }
  }
  return failed_ ? nullptr : node;
}

Expr* Parser::select_or_call(Expr* operand) {
  advance();
  const bool optional = at(Token::kQuestion);
  if (optional) advance();
  if (failed_) return nullptr;
  const auto position = lexer_.position();
  if (!at(Token::kIdent) && !at(Token::kQuotedIdent)) {
    return fail(position,
                fmt::format("a field name was expected after '.', not {}", token_name(token_)));
  }
  const bool quoted = at(Token::kQuotedIdent);
  const std::string_view name = lexer_.value();
  advance();
  if (!optional && !quoted && at(Token::kLeftParen)) {
    std::vector<Expr*> args;
    if (!arguments(args)) return nullptr;
    if (auto macro = member_macro(operand, name, position, args)) return *macro;
    Expr* call = make(ExprKind::kCall, position);
    call->name = name;
    call->target = operand;
    call->args = keep(args);
    return finish(call);
  }
  Expr* select = make(ExprKind::kSelect, position);
  select->target = operand;
  select->name = name;
  select->optional = optional;
  select->quoted = quoted;
  return finish(select);
}

Expr* Parser::index(Expr* operand) {
  const auto position = lexer_.position();
  advance();
  const bool optional = at(Token::kQuestion);
  if (optional) advance();
  Expr* key = failed_ ? nullptr : expression();
  if (key == nullptr || !expect(Token::kRightBracket, "after an index")) return nullptr;
  return make_op(optional ? Op::kOptionalIndex : Op::kIndex, position, {operand, key});
}

Expr* Parser::primary() {
  const auto position = lexer_.position();
  switch (token_) {
    case Token::kLeftParen: {
      advance();
      Expr* inner = failed_ ? nullptr : expression();
      if (inner == nullptr || !expect(Token::kRightParen, "to close '('")) return nullptr;
      return inner;
    }
    case Token::kDot:
      advance();
      if (!at(Token::kIdent)) return fail(position, "a name was expected after the leading '.'");
      return name_or_call(true);
    case Token::kIdent:
      return name_or_call(false);
    case Token::kInt:
    case Token::kUint:
    case Token::kDouble:
      return number_literal(std::exchange(negative_, false));
    case Token::kString:
    case Token::kBytes:
      return text_literal();
    case Token::kTrue:
    case Token::kFalse: {
      const bool value = at(Token::kTrue);
      advance();
      return make_constant(Value::of_bool(value), position);
    }
    case Token::kNull:
      advance();
      return make_constant(Value::null(), position);
    case Token::kLeftBracket:
      return list_literal();
    case Token::kLeftBrace:
      return map_literal();
    default:
      return fail(position, fmt::format("a value was expected here, not {}", token_name(token_)));
  }
}

Expr* Parser::name_or_call(bool absolute) {
  const auto position = lexer_.position();
  const std::string_view name = lexer_.value();
  if (is_reserved(name)) return fail(position, fmt::format("'{}' is a reserved word", name));
  advance();
  if (at(Token::kLeftParen)) {
    std::vector<Expr*> args;
    if (!arguments(args)) return nullptr;
    if (!absolute) {
      if (auto macro = global_macro(name, position, args)) return *macro;
    }
    Expr* call = make(ExprKind::kCall, position);
    call->name = name;
    call->absolute = absolute;
    call->args = keep(args);
    return finish(call);
  }
  Expr* ident = make(ExprKind::kIdent, position);
  ident->name = name;
  ident->absolute = absolute;
  return ident;
}

Expr* Parser::number_literal(bool negative) {
  const auto position = lexer_.position();
  const Token kind = token_;
  std::string_view digits = lexer_.value();
  advance();
  if (kind == Token::kDouble) {
    const double value = std::strtod(std::string(digits).c_str(), nullptr);
    if (std::isinf(value)) return fail(position, "this number is too large for a double");
    return make_constant(Value::of_double(negative ? -value : value), position);
  }
  int base = 10;
  if (digits.size() > 2 && (digits[1] == 'x' || digits[1] == 'X')) {
    base = 16;
    digits.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (kind == Token::kUint) {
    if (parsed.ec != std::errc{}) return fail(position, "this number is too large for a uint");
    return make_constant(Value::of_uint(value), position);
  }
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (parsed.ec != std::errc{} || value > kMax + (negative ? 1U : 0U)) {
    return fail(position, "this number does not fit an int");
  }
  // Unsigned negation gives the smallest integer without overflow.
  const std::uint64_t bits = negative ? 0 - value : value;
  return make_constant(Value::of_int(static_cast<std::int64_t>(bits)), position);
}

Expr* Parser::text_literal() {
  const auto position = lexer_.position();
  const Value value =
      at(Token::kString) ? Value::of_string(lexer_.value()) : Value::of_bytes(lexer_.value());
  advance();
  return make_constant(value, position);
}

bool Parser::arguments(std::vector<Expr*>& out) {
  advance();
  if (failed_) return false;
  if (!at(Token::kRightParen)) {
    while (true) {
      Expr* arg = expression();
      if (arg == nullptr) return false;
      out.push_back(arg);
      if (!at(Token::kComma)) break;
      advance();
    }
  }
  return expect(Token::kRightParen, "after the arguments");
}

Expr* Parser::list_literal() {
  Expr* list = make(ExprKind::kList, lexer_.position());
  advance();
  std::vector<Element> elements;
  while (!failed_ && !at(Token::kRightBracket)) {
    Element element;
    element.optional = at(Token::kQuestion);
    if (element.optional) advance();
    element.value = failed_ ? nullptr : expression();
    if (element.value == nullptr) return nullptr;
    elements.push_back(element);
    if (!at(Token::kComma)) break;
    advance();
  }
  if (failed_ || !expect(Token::kRightBracket, "to close '['")) return nullptr;
  list->elements = keep(elements);
  return finish(list);
}

bool Parser::entries(std::vector<Element>& out, bool fields) {
  advance();
  while (!failed_ && !at(Token::kRightBrace)) {
    Element element;
    element.optional = at(Token::kQuestion);
    if (element.optional) advance();
    if (fields) {
      if (!at(Token::kIdent) && !at(Token::kQuotedIdent)) {
        fail(lexer_.position(), "a field name was expected");
        return false;
      }
      element.field = lexer_.value();
      advance();
    } else {
      element.key = failed_ ? nullptr : expression();
      if (element.key == nullptr) return false;
    }
    if (!expect(Token::kColon, "after a key")) return false;
    element.value = expression();
    if (element.value == nullptr) return false;
    out.push_back(element);
    if (!at(Token::kComma)) break;
    advance();
  }
  return !failed_ && expect(Token::kRightBrace, "to close '{'");
}

Expr* Parser::map_literal() {
  Expr* map = make(ExprKind::kMap, lexer_.position());
  std::vector<Element> elements;
  if (!entries(elements, false)) return nullptr;
  map->elements = keep(elements);
  return finish(map);
}

Expr* Parser::struct_literal(Expr* type_name, std::uint32_t position) {
  Expr* node = make(ExprKind::kStruct, position);
  node->name = arena_.copy(qualified_name(*type_name));
  std::vector<Element> elements;
  if (!entries(elements, true)) return nullptr;
  node->elements = keep(elements);
  return finish(node);
}

}  // namespace kollect::cel
