#include "cel/planner.h"

#include <fmt/format.h>

#include <algorithm>

#include "cel/functions.h"
#include "cel/node_factory.h"
#include "cel/types.h"

namespace kollect::cel {

namespace {

bool all_constant(const std::vector<NodePtr>& nodes) {
  return std::all_of(nodes.begin(), nodes.end(),
                     [](const NodePtr& node) { return node->constant() != nullptr; });
}

/// The implementations for a number of arguments: two libraries may share a name (indexOf of
/// strings and lists).
struct Found {
  const Function* first = nullptr;
  Implementation second = nullptr;
};
Found find_function(std::string_view name, bool member, std::size_t args) {
  Found found;
  for (const Function& function : Registry::instance().find(name, member)) {
    if (!function.takes(args)) continue;
    if (found.first == nullptr) {
      found.first = &function;
    } else {
      found.second = function.implementation;
    }
  }
  return found;
}

/// The zero of the type that the checker found for a sum; none for int and for what is not known.
NodePtr typed_zero(const Expr& expr) {
  if (expr.type == nullptr) return nullptr;
  switch (expr.type->kind) {
    case TypeKind::kUint:
      return make_constant(expr.position, Value::of_uint(0));
    case TypeKind::kDouble:
      return make_constant(expr.position, Value::of_double(0));
    case TypeKind::kDuration:
      return make_constant(expr.position, Value::of_time(Kind::kDuration, 0, 0));
    default:
      return nullptr;
  }
}

}  // namespace

// A node over constants gives its value now, unless that is an error: errors belong to the
// evaluation.
NodePtr Planner::fold(NodePtr node, bool constant) {
  if (!constant || folding_.over()) return node;
  const Value value = node->eval(folding_);
  if (value.is_error()) return node;
  return make_constant(node->position(), value);
}

void Planner::prepare(std::string_view function, const std::vector<NodePtr>& args) {
  const Value* name = args.size() < 2 ? nullptr : args[1]->constant();
  if (name == nullptr || name->kind != Kind::kString) return;
  const std::string text(name->as_text());
  if (function.starts_with("get")) {
    if (auto zone = TimeZone::find(text)) prepared_.zones.emplace(text, std::move(zone));
    return;
  }
  if (function != "find" && function != "findAll" && !function.starts_with("regex.")) return;
  std::string error;
  if (auto regex = Regex::compile(text, error)) prepared_.patterns.emplace(text, std::move(regex));
}

NodePtr Planner::build(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kConstant:
      return make_constant(expr.position, expr.constant);
    case ExprKind::kIdent:
      if (expr.resolution == Resolution::kLocal) return make_local(expr.position, expr.slot);
      if (expr.resolution == Resolution::kVariable) return make_variable(expr.position, expr.slot);
      return make_failure(expr.position, fmt::format("there is no variable '{}'", expr.name));
    case ExprKind::kSelect:
      return build_select(expr);
    case ExprKind::kCall:
      return expr.op == Op::kNone ? build_call(expr) : build_operator(expr);
    case ExprKind::kList:
      return build_list(expr);
    case ExprKind::kMap:
      return build_map(expr);
    case ExprKind::kStruct:
      return make_failure(
          expr.position,
          fmt::format("'{}{{…}}': literals of messages are not supported", expr.name));
    case ExprKind::kComprehension: {
      NodePtr range = build(*expr.target);
      NodePtr filter = expr.filter == nullptr ? nullptr : build(*expr.filter);
      return make_comprehension(expr, std::move(range), std::move(filter), build(*expr.body));
    }
    case ExprKind::kBind: {
      NodePtr value = build(*expr.target);
      return make_bind(expr, std::move(value), build(*expr.body));
    }
  }
  return nullptr;
}

NodePtr Planner::build_select(const Expr& expr) {
  // Plain selects on a name, with has() at most at the end, become one path.
  std::vector<PathStep> steps;
  const Expr* at = &expr;
  while (at->kind == ExprKind::kSelect && !at->optional && (!at->test_only || at == &expr)) {
    steps.push_back({at->name, at->position});
    at = at->target;
  }
  const bool local = at->resolution == Resolution::kLocal;
  if (at->kind == ExprKind::kIdent && (local || at->resolution == Resolution::kVariable)) {
    std::reverse(steps.begin(), steps.end());
    return make_path(at->position, {local, at->slot}, std::move(steps), expr.test_only);
  }
  NodePtr operand = build(*expr.target);
  const bool constant = operand->constant() != nullptr;
  return fold(make_select(expr, std::move(operand)), constant);
}

NodePtr Planner::build_call(const Expr& expr) {
  std::vector<NodePtr> args;
  if (expr.target != nullptr) args.push_back(build(*expr.target));
  for (const Expr* arg : expr.args) args.push_back(build(*arg));
  if (expr.resolution == Resolution::kDeclared) {
    return make_failure(expr.position,
                        fmt::format("the function '{}' is only declared", expr.name));
  }
  const auto [function, second] = find_function(expr.name, expr.target != nullptr, args.size());
  if (function == nullptr) {
    return make_failure(expr.position,
                        expr.resolution == Resolution::kUnresolved
                            ? fmt::format("there is no function '{}'", expr.name)
                            : fmt::format("no matching overload: '{}' does not take {} arguments",
                                          expr.name, args.size()));
  }
  const bool constant = all_constant(args);
  if (expr.target != nullptr && (expr.name == "or" || expr.name == "orValue")) {
    return fold(make_optional_or(expr.position, expr.name == "orValue", std::move(args[0]),
                                 std::move(args[1])),
                constant);
  }
  if (expr.name == "matches" && !constant) {
    const Value* pattern = args[1]->constant();
    std::string error;
    if (pattern != nullptr && pattern->kind == Kind::kString) {
      // A wrong pattern stays a call, which fails when it is evaluated.
      if (auto regex = Regex::compile(pattern->as_text(), error)) {
        return make_matches(expr.position, std::move(args[0]), std::move(regex));
      }
    }
  }
  if (expr.name == "sum" && args.size() == 1) {
    if (NodePtr zero = typed_zero(expr)) args.push_back(std::move(zero));
  }
  if (!constant) prepare(function->name, args);
  return fold(
      make_call(expr.position, function->name, function->implementation, second, std::move(args)),
      constant);
}

NodePtr Planner::build_operator(const Expr& expr) {
  std::vector<NodePtr> args;
  for (const Expr* arg : expr.args) args.push_back(build(*arg));
  const bool constant = all_constant(args);
  switch (expr.op) {
    case Op::kAnd:
    case Op::kOr:
      return fold(make_logic(expr.position, expr.op, std::move(args)), constant);
    case Op::kConditional:
      return fold(make_conditional(expr.position, std::move(args[0]), std::move(args[1]),
                                   std::move(args[2])),
                  constant);
    case Op::kIndex:
    case Op::kOptionalIndex:
      return fold(make_index(expr.position, std::move(args[0]), std::move(args[1]),
                             expr.op == Op::kOptionalIndex),
                  constant);
    default:
      return fold(make_operator(expr.position, expr.op, std::move(args)), constant);
  }
}

NodePtr Planner::build_list(const Expr& expr) {
  std::vector<NodePtr> values;
  for (const Element& element : expr.elements) values.push_back(build(*element.value));
  const bool constant = all_constant(values);
  return fold(make_list_node(expr, std::move(values)), constant);
}

NodePtr Planner::build_map(const Expr& expr) {
  std::vector<NodePtr> keys;
  std::vector<NodePtr> values;
  for (const Element& element : expr.elements) {
    keys.push_back(build(*element.key));
    values.push_back(build(*element.value));
  }
  const bool constant = all_constant(keys) && all_constant(values);
  return fold(make_map_node(expr, std::move(keys), std::move(values)), constant);
}

}  // namespace kollect::cel
