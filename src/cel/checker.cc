#include "cel/checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "cel/parser.h"

namespace kollect::cel {

namespace {

const Type* dyn() {
  return simple_type(TypeKind::kDyn);
}

std::string suggestion(std::string_view word, const std::vector<std::string>& names) {
  const auto near = base::near_names(word, names, 1);
  return near.empty() ? std::string() : fmt::format(", did you mean '{}'?", near[0]);
}

bool nullable(TypeKind kind) {
  return kind == TypeKind::kNull || kind == TypeKind::kTimestamp || kind == TypeKind::kDuration ||
         kind == TypeKind::kOpaque || kind == TypeKind::kOptional;
}

bool has_order(TypeKind kind) {
  switch (kind) {
    case TypeKind::kNull:
    case TypeKind::kList:
    case TypeKind::kMap:
    case TypeKind::kOptional:
    case TypeKind::kType:
    case TypeKind::kOpaque:
      return false;
    default:
      return true;
  }
}

}  // namespace

std::string_view operator_name(Op op) {
  constexpr std::string_view kNames[] = {"",  "?:", "||", "&&", "!", "-", "==", "!=", "<",  "<=",
                                         ">", ">=", "in", "+",  "-", "*", "/",  "%",  "[]", "[?]"};
  return kNames[static_cast<std::size_t>(op)];
}

const Type* Checker::fail(const Expr& node, std::string message) {
  if (!error_) error_ = SourceError{node.position, std::move(message)};
  return dyn();
}

const Type* Checker::check(Expr& root) {
  const Type* type = substitute(infer(root), true);
  // What was said since then may be wrong.
  if (steps_ > kMaxSteps) {
    error_.reset();
    fail(root, "the types of the expression are too large");
  }
  return error_ ? nullptr : type;
}

const Type* Checker::fresh() {
  Type* type = arena_.make<Type>();
  type->kind = TypeKind::kParameter;
  type->parameter = static_cast<std::uint32_t>(bindings_.size());
  bindings_.push_back(nullptr);
  return type;
}

void Checker::bind(std::uint32_t variable, const Type* type) {
  trail_.emplace_back(variable, bindings_[variable]);
  bindings_[variable] = type;
}

void Checker::undo(std::size_t mark) {
  for (; trail_.size() > mark; trail_.pop_back()) {
    bindings_[trail_.back().first] = trail_.back().second;
  }
}

const Type* Checker::prune(const Type* type) const {
  while (type->kind == TypeKind::kParameter && bindings_[type->parameter] != nullptr) {
    type = bindings_[type->parameter];
  }
  return type;
}

template <class Function>
const Type* Checker::rebuild(const Type* type, Function&& change) {
  if (type->params.empty()) return type;
  std::vector<const Type*> params;
  for (const Type* param : type->params) params.push_back(change(param));
  return with_params(arena_, *type, params);
}

const Type* Checker::instantiate(const Type* type, std::vector<const Type*>& parameters) {
  if (type->kind == TypeKind::kParameter) {
    if (parameters.size() <= type->parameter) parameters.resize(type->parameter + 1);
    const Type*& mine = parameters[type->parameter];
    if (mine == nullptr) mine = fresh();
    return mine;
  }
  return rebuild(type, [&](const Type* param) { return instantiate(param, parameters); });
}

const Type* Checker::substitute(const Type* type, bool close) {
  if (!step()) return dyn();
  type = prune(type);
  if (type->kind == TypeKind::kParameter) return close ? dyn() : type;
  return rebuild(type, [&](const Type* param) { return substitute(param, close); });
}

bool Checker::occurs(std::uint32_t variable, const Type* type) {
  if (!step()) return false;
  type = prune(type);
  if (type->kind == TypeKind::kParameter) return type->parameter == variable;
  return std::any_of(type->params.begin(), type->params.end(),
                     [&](const Type* param) { return occurs(variable, param); });
}

bool Checker::assign_variable(const Type* from, const Type* to) {
  const Type* bound = bindings_[to->parameter];
  if (bound == nullptr) {
    const Type* pruned = prune(from);
    if (pruned->kind == TypeKind::kParameter && pruned->parameter == to->parameter) return true;
    if (occurs(to->parameter, pruned)) return false;
    bind(to->parameter, pruned);
    return true;
  }
  if (!assign(from, bound)) return false;
  // Later uses see the wider type.
  if (bound->kind != TypeKind::kParameter) {
    const Type* wider = widen(bound, from);
    if (wider != bound) bind(to->parameter, wider);
  }
  return true;
}

bool Checker::assign_params(const Type* from, const Type* to) {
  for (std::size_t n = 0; n < from->params.size(); ++n) {
    if (!assign(from->params[n], to->params[n])) return false;
  }
  return true;
}

bool Checker::assign(const Type* from, const Type* to) {
  if (!step()) return true;
  if (to->kind == TypeKind::kParameter) return assign_variable(from, to);
  from = prune(from);
  if (from->kind == TypeKind::kParameter) return assign_variable(to, from);
  if (from->kind == TypeKind::kDyn || to->kind == TypeKind::kDyn) return true;
  if (from->kind == TypeKind::kNull) return nullable(to->kind);
  if (to->kind == TypeKind::kNull) return nullable(from->kind);
  if (from->kind != to->kind || from->name != to->name ||
      from->params.size() != to->params.size()) {
    return false;
  }
  const auto before = trail_.size();
  if (assign_params(from, to)) return true;
  // One type value is as good as another: at run time all are of type `type`.
  if (from->kind != TypeKind::kType) return false;
  undo(before);
  return true;
}

// The wider of two types of which one takes the other.
const Type* Checker::widen(const Type* a, const Type* b) {
  if (!step()) return a;
  a = prune(a);
  b = prune(b);
  if (a->kind == TypeKind::kDyn || b->kind == TypeKind::kDyn) return dyn();
  if (a->kind == TypeKind::kParameter || a->kind == TypeKind::kNull) return b;
  if (a->kind != b->kind || a->params.empty() || a->params.size() != b->params.size()) return a;
  if (a->kind == TypeKind::kType) {
    const auto before = trail_.size();
    if (prune(a->params[0])->kind != prune(b->params[0])->kind || !assign_params(b, a)) {
      undo(before);
      return any_type();
    }
  }
  std::vector<const Type*> params;
  for (std::size_t n = 0; n < a->params.size(); ++n)
    params.push_back(widen(a->params[n], b->params[n]));
  if (std::equal(params.begin(), params.end(), a->params.begin())) return a;
  return with_params(arena_, *a, params);
}

// The common type of two elements of a literal: the wider one, dyn when neither takes the other.
const Type* Checker::join(const Type* a, const Type* b) {
  if (a == nullptr) return b;
  const auto before = trail_.size();
  if (assign(b, a)) return widen(a, b);
  undo(before);
  return dyn();
}

// The result of one overload for the arguments, nullptr when they do not fit.
const Type* Checker::apply(const Overload& overload, const std::vector<const Type*>& args) {
  const bool fits =
      overload.variadic ? args.size() >= overload.args.size() : args.size() == overload.args.size();
  if (!fits) return nullptr;
  const auto before = trail_.size();
  std::vector<const Type*> parameters;
  for (std::size_t n = 0; n < args.size(); ++n) {
    const Type* form = overload.args[std::min(n, overload.args.size() - 1)];
    const bool hidden = overload.exact && prune(args[n])->kind == TypeKind::kDyn;
    if (hidden || !assign(args[n], instantiate(form, parameters))) {
      undo(before);
      return nullptr;
    }
  }
  return substitute(instantiate(overload.result, parameters), false);
}

// Only when one overload fits does it tell something about types that are still open.
const Type* Checker::choose(std::span<const Overload> overloads,
                            const std::vector<const Type*>& args) {
  const Type* result = nullptr;
  const Overload* only = nullptr;
  for (const Overload& overload : overloads) {
    if (overload.fallback && result != nullptr) continue;
    const auto before = trail_.size();
    const Type* mine = apply(overload, args);
    if (mine == nullptr) continue;
    undo(before);
    only = result == nullptr ? &overload : nullptr;
    if (result == nullptr) {
      result = mine;
    } else if (to_string(substitute(result, true)) != to_string(substitute(mine, true))) {
      result = dyn();
    }
  }
  return only != nullptr ? apply(*only, args) : result;
}

const Type* Checker::misfit(const Expr& node, std::string_view name,
                            const std::vector<const Type*>& args) {
  std::string list;
  for (const Type* arg : args) {
    if (!list.empty()) list += ", ";
    list += to_string(substitute(arg, true));
  }
  return fail(node, fmt::format("'{}' does not take ({})", name, list));
}

bool Checker::require(const Expr& node, const Type* type, TypeKind kind, std::string_view what) {
  if (assign(type, simple_type(kind))) return true;
  fail(node, fmt::format("{} must be {}, not {}", what, to_string(simple_type(kind)),
                         to_string(substitute(type, true))));
  return false;
}

const Type* Checker::infer(Expr& node) {
  if (error_ || steps_ > kMaxSteps) return dyn();
  const Type* type = nullptr;
  switch (node.kind) {
    case ExprKind::kConstant:
      type = infer_constant(node);
      break;
    case ExprKind::kIdent:
      type = infer_ident(node);
      break;
    case ExprKind::kSelect:
      type = infer_select(node);
      break;
    case ExprKind::kCall:
      type = node.op == Op::kNone ? infer_call(node) : infer_operator(node);
      break;
    case ExprKind::kList:
      type = infer_list(node);
      break;
    case ExprKind::kMap:
      type = infer_map(node);
      break;
    case ExprKind::kStruct:
      type =
          fail(node, fmt::format("'{}{{…}}': literals of messages are not supported", node.name));
      break;
    case ExprKind::kComprehension:
      type = infer_comprehension(node);
      break;
    case ExprKind::kBind:
      type = infer_bind(node);
      break;
  }
  node.type = type;
  return type;
}

const Type* Checker::infer_constant(const Expr& node) {
  switch (node.constant.kind) {
    case Kind::kNull:
      return simple_type(TypeKind::kNull);
    case Kind::kBool:
      return simple_type(TypeKind::kBool);
    case Kind::kInt:
      return simple_type(TypeKind::kInt);
    case Kind::kUint:
      return simple_type(TypeKind::kUint);
    case Kind::kDouble:
      return simple_type(TypeKind::kDouble);
    case Kind::kString:
      return simple_type(TypeKind::kString);
    case Kind::kBytes:
      return simple_type(TypeKind::kBytes);
    case Kind::kType:
      return type_of_identifier(node.constant.as_text(), arena_);
    default:
      return dyn();
  }
}

const Type* Checker::infer_ident(const Expr& node) {
  if (node.resolution == Resolution::kLocal) return locals_[node.slot];
  if (node.resolution == Resolution::kVariable) return types_[node.slot];
  return unknown_name(node);
}

const Type* Checker::unknown_name(const Expr& node) {
  return fail(node, fmt::format("there is no variable '{}'{}", node.name,
                                suggestion(node.name, variables_)));
}

const Type* Checker::unknown_function(const Expr& node) {
  const auto& registry = Registry::instance();
  const bool member = node.target != nullptr;
  if (!registry.find(node.name, !member).empty()) {
    return fail(node, member ? fmt::format("'{0}' is called as {0}(x), not as x.{0}()", node.name)
                             : fmt::format("'{0}' is called as x.{0}(), not as {0}(x)", node.name));
  }
  return fail(node, fmt::format("there is no function '{}'{}", node.name,
                                suggestion(node.name, registry.names(member))));
}

const Type* Checker::infer_select(Expr& node) {
  const Type* operand = prune(infer(*node.target));
  bool optional = node.optional;
  if (operand->kind == TypeKind::kOptional) {
    optional = true;
    operand = prune(operand->params[0]);
  }
  const Type* field = dyn();
  if (operand->kind == TypeKind::kMap) {
    // Whether a map has a field may be asked of every map.
    const bool question = optional || node.test_only;
    if (!question && !assign(simple_type(TypeKind::kString), operand->params[0])) {
      return fail(node, fmt::format("field '{}' of a map whose keys are {}", node.name,
                                    to_string(substitute(operand->params[0], true))));
    }
    field = operand->params[1];
  } else if (operand->kind == TypeKind::kParameter) {
    assign(dyn(), operand);
  } else if (operand->kind != TypeKind::kDyn) {
    return fail(node, fmt::format("a value of type {} has no field '{}'",
                                  to_string(substitute(operand, true)), node.name));
  }
  if (node.test_only) return simple_type(TypeKind::kBool);
  return optional ? make_optional(arena_, field) : field;
}

const Type* Checker::infer_call(Expr& node) {
  std::vector<const Type*> args;
  if (node.target != nullptr) args.push_back(infer(*node.target));
  for (Expr* arg : node.args) args.push_back(infer(*arg));
  if (error_) return dyn();
  if (node.resolution == Resolution::kUnresolved) return unknown_function(node);
  const Type* result = nullptr;
  const auto functions = node.resolution == Resolution::kDeclared
                             ? declared_.subspan(node.slot, 1)
                             : Registry::instance().find(node.name, node.target != nullptr);
  for (const Function& function : functions) {
    const Type* mine = choose(function.overloads, args);
    if (mine != nullptr && result == nullptr) result = mine;
  }
  return result != nullptr ? result : misfit(node, node.name, args);
}

const Type* Checker::infer_operator(Expr& node) {
  std::vector<const Type*> args;
  for (Expr* arg : node.args) args.push_back(infer(*arg));
  if (error_) return dyn();
  if (node.op == Op::kAnd || node.op == Op::kOr) {
    for (std::size_t n = 0; n < args.size(); ++n) {
      require(*node.args[n], args[n], TypeKind::kBool,
              fmt::format("an operand of '{}'", operator_name(node.op)));
    }
    return simple_type(TypeKind::kBool);
  }
  if (node.op == Op::kConditional) {
    if (!require(*node.args[0], args[0], TypeKind::kBool, "the condition of '? :'")) return dyn();
  }
  const auto name = operator_name(node.op);
  const Type* result = choose(Registry::instance().operator_forms(name), args);
  if (result != nullptr) return result;
  if (node.op == Op::kConditional) {
    return fail(
        node,
        fmt::format("the branches of '? :' are of different types, {} and {}; dyn() helps",
                    to_string(substitute(args[1], true)), to_string(substitute(args[2], true))));
  }
  return misfit(node, name, args);
}

const Type* Checker::element_type(const Element& element) {
  const Type* type = infer(*element.value);
  if (!element.optional) return type;
  const Type* held = fresh();
  if (!assign(type, make_optional(arena_, held))) {
    return fail(*element.value, fmt::format("an element with '?' must be optional, not {}",
                                            to_string(substitute(type, true))));
  }
  return prune(type)->kind == TypeKind::kDyn ? dyn() : held;
}

const Type* Checker::infer_list(Expr& node) {
  const Type* element = nullptr;
  for (const Element& each : node.elements) element = join(element, element_type(each));
  return make_list(arena_, element == nullptr ? fresh() : element);
}

const Type* Checker::infer_map(Expr& node) {
  const Type* key = nullptr;
  const Type* value = nullptr;
  for (const Element& each : node.elements) {
    key = join(key, infer(*each.key));
    value = join(value, element_type(each));
  }
  return make_map(arena_, key == nullptr ? fresh() : key, value == nullptr ? fresh() : value);
}

const Type* Checker::infer_comprehension(Expr& node) {
  const Type* range = prune(infer(*node.target));
  const Type* first = dyn();
  const Type* second = dyn();
  const bool two = !node.variable2.empty();
  if (range->kind == TypeKind::kList) {
    second = range->params[0];
    first = two ? simple_type(TypeKind::kInt) : second;
  } else if (range->kind == TypeKind::kMap) {
    first = range->params[0];
    second = range->params[1];
  } else if (range->kind == TypeKind::kParameter) {
    assign(dyn(), range);
  } else if (range->kind != TypeKind::kDyn) {
    return fail(*node.target, fmt::format("a macro goes over a list or a map, not over {}",
                                          to_string(substitute(range, true))));
  }
  if (locals_.size() < node.slot + 2U) locals_.resize(node.slot + 2U, dyn());
  locals_[node.slot] = first;
  if (two) locals_[node.slot2] = second;
  if (node.filter != nullptr) {
    require(*node.filter, infer(*node.filter), TypeKind::kBool, "the condition of a macro");
  }
  const Type* body = infer(*node.body);
  const Type* boolean = simple_type(TypeKind::kBool);
  switch (node.comprehension) {
    case Comprehension::kAll:
    case Comprehension::kExists:
    case Comprehension::kExistsOne:
      require(*node.body, body, TypeKind::kBool, "the condition of a macro");
      return boolean;
    case Comprehension::kSortBy:
      if (has_order(prune(body)->kind)) return make_list(arena_, first);
      return fail(*node.body, fmt::format("sortBy() needs a key that has an order, not {}",
                                          to_string(substitute(body, true))));
    case Comprehension::kFilter:
      require(*node.body, body, TypeKind::kBool, "the condition of a macro");
      return make_list(arena_, first);
    case Comprehension::kMap:
    case Comprehension::kTransformList:
      return make_list(arena_, body);
    case Comprehension::kTransformMap:
      return make_map(arena_, first, body);
    case Comprehension::kTransformMapEntry: {
      const Type* map = make_map(arena_, fresh(), fresh());
      if (assign(body, map)) return map;
      return fail(*node.body, "transformMapEntry() needs a map literal as its last argument");
    }
  }
  return dyn();
}

const Type* Checker::infer_bind(Expr& node) {
  const Type* value = infer(*node.target);
  if (node.bind != BindKind::kBind) {
    const Type* held = fresh();
    if (!assign(value, make_optional(arena_, held))) {
      return fail(node, fmt::format("the receiver must be optional, not {}",
                                    to_string(substitute(value, true))));
    }
    value = prune(value)->kind == TypeKind::kDyn ? dyn() : held;
  }
  if (locals_.size() < node.slot + 1U) locals_.resize(node.slot + 1U, dyn());
  locals_[node.slot] = value;
  const Type* body = infer(*node.body);
  if (node.bind == BindKind::kBind) return body;
  if (node.bind == BindKind::kOptMap) return make_optional(arena_, body);
  const Type* result = make_optional(arena_, fresh());
  if (assign(body, result)) return result;
  return fail(*node.body, "the body of optFlatMap() must be optional");
}

}  // namespace kollect::cel
