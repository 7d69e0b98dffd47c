// Macros: calls that become other syntax while the text is read.
#include <fmt/format.h>

#include "cel/parser.h"

namespace kollect::cel {

namespace {

bool is_int(const Expr* node) {
  return node->kind == ExprKind::kConstant && node->constant.kind == Kind::kInt;
}

}  // namespace

bool Parser::variable_name(const Expr* node, std::string_view& out) {
  if (node->kind == ExprKind::kIdent && !node->absolute) {
    out = node->name;
    return true;
  }
  fail(node->position, "the variable of a macro must be a simple name");
  return false;
}

std::optional<Expr*> Parser::global_macro(std::string_view name, std::uint32_t position,
                                          const Args& args) {
  if (name == "has" && args.size() == 1) return has_macro(position, args[0]);
  return std::nullopt;
}

Expr* Parser::has_macro(std::uint32_t position, Expr* arg) {
  if (arg->kind != ExprKind::kSelect || arg->optional || arg->test_only) {
    return fail(position, "has() takes a field selection such as has(a.b)");
  }
  Expr* test = make(ExprKind::kSelect, arg->position);
  *test = *arg;
  test->test_only = true;
  return test;
}

std::optional<Expr*> Parser::member_macro(Expr* target, std::string_view name,
                                          std::uint32_t position, const Args& args) {
  if (target->kind == ExprKind::kIdent && target->name == "cel") {
    if (auto macro = cel_macro(name, position, args)) return macro;
  }
  struct Form {
    std::string_view name;
    Comprehension kind;
    std::size_t args;
    std::size_t variables;
  };
  using enum Comprehension;
  static constexpr Form kForms[] = {
      {"all", kAll, 2, 1},
      {"all", kAll, 3, 2},
      {"exists", kExists, 2, 1},
      {"exists", kExists, 3, 2},
      {"exists_one", kExistsOne, 2, 1},
      {"exists_one", kExistsOne, 3, 2},
      {"existsOne", kExistsOne, 2, 1},
      {"existsOne", kExistsOne, 3, 2},
      {"filter", kFilter, 2, 1},
      {"map", kMap, 2, 1},
      {"map", kMap, 3, 1},
      {"sortBy", kSortBy, 2, 1},
      {"transformList", kTransformList, 3, 2},
      {"transformList", kTransformList, 4, 2},
      {"transformMap", kTransformMap, 3, 2},
      {"transformMap", kTransformMap, 4, 2},
      {"transformMapEntry", kTransformMapEntry, 3, 2},
      {"transformMapEntry", kTransformMapEntry, 4, 2},
  };
  for (const Form& form : kForms) {
    if (form.name == name && form.args == args.size()) {
      return comprehension(form.kind, target, position, args, form.variables);
    }
  }
  if (args.size() == 2 && (name == "optMap" || name == "optFlatMap")) {
    const auto kind = name == "optMap" ? BindKind::kOptMap : BindKind::kOptFlatMap;
    return bind(kind, position, args[0], target, args[1]);
  }
  return std::nullopt;
}

std::optional<Expr*> Parser::cel_macro(std::string_view name, std::uint32_t position,
                                       const Args& args) {
  if (name == "bind" && args.size() == 3) {
    return bind(BindKind::kBind, position, args[0], args[1], args[2]);
  }
  if (name == "block" && args.size() == 2) return block(position, args);
  const bool two = name == "iterVar" || name == "accuVar";
  if ((name == "index" && args.size() == 1) || (two && args.size() == 2)) {
    for (const Expr* arg : args) {
      if (!is_int(arg) || arg->constant.i < 0) {
        return fail(arg->position,
                    fmt::format("cel.{}() takes integers that are not negative", name));
      }
    }
    // Names with '@' cannot be written, so they cannot clash.
    Expr* ident = make(ExprKind::kIdent, position);
    ident->name =
        arena_.copy(two ? fmt::format("@{}:{}:{}", name, args[0]->constant.i, args[1]->constant.i)
                        : fmt::format("@index{}", args[0]->constant.i));
    return ident;
  }
  return std::nullopt;
}

Expr* Parser::comprehension(Comprehension kind, Expr* range, std::uint32_t position,
                            const Args& args, std::size_t variables) {
  Expr* node = make(ExprKind::kComprehension, position);
  node->comprehension = kind;
  node->target = range;
  if (!variable_name(args[0], node->variable)) return nullptr;
  if (variables == 2) {
    if (!variable_name(args[1], node->variable2)) return nullptr;
    if (node->variable == node->variable2) {
      return fail(args[1]->position, "the two variables of a macro must have different names");
    }
  }
  // The last argument is the body; one before it and after the variables is a condition.
  node->body = args.back();
  if (args.size() == variables + 2) node->filter = args[variables];
  return finish(node);
}

Expr* Parser::bind(BindKind kind, std::uint32_t position, Expr* variable, Expr* value, Expr* body) {
  Expr* node = make(ExprKind::kBind, position);
  node->bind = kind;
  node->target = value;
  node->body = body;
  if (!variable_name(variable, node->variable)) return nullptr;
  return finish(node);
}

// cel.block([a, b], e): each element is bound to cel.index(n), which later elements and the body
// may use.
Expr* Parser::block(std::uint32_t position, const Args& args) {
  if (args[0]->kind != ExprKind::kList) {
    return fail(args[0]->position, "cel.block() takes a list literal");
  }
  Expr* body = args[1];
  const auto elements = args[0]->elements;
  for (std::size_t n = elements.size(); n > 0; --n) {
    if (elements[n - 1].optional) {
      return fail(args[0]->position, "cel.block() takes no optional elements");
    }
    Expr* node = make(ExprKind::kBind, position);
    node->variable = arena_.copy(fmt::format("@index{}", n - 1));
    node->target = elements[n - 1].value;
    node->body = body;
    body = finish(node);
    if (body == nullptr) return nullptr;
  }
  return body;
}

}  // namespace kollect::cel
