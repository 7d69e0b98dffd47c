#include "cel/resolver.h"

#include <algorithm>

#include "cel/parser.h"
#include "cel/types.h"

namespace kollect::cel {

bool Resolver::is_local(std::string_view name) const {
  return std::find(locals_.begin(), locals_.end(), name) != locals_.end();
}

std::uint32_t Resolver::push(std::string_view name) {
  locals_.push_back(name);
  slots_ = std::max(slots_, locals_.size());
  return static_cast<std::uint32_t>(locals_.size() - 1);
}

// A short name is looked for in the container, then in each of its parents, then at the root.
std::vector<std::string> Resolver::candidates(std::string_view name) const {
  std::vector<std::string> names;
  if (name.starts_with('.')) {
    names.emplace_back(name.substr(1));
    return names;
  }
  std::string prefix = container_;
  while (!prefix.empty()) {
    names.push_back(prefix + "." + std::string(name));
    const auto dot = prefix.rfind('.');
    prefix.resize(dot == std::string::npos ? 0 : dot);
  }
  names.emplace_back(name);
  return names;
}

bool Resolver::resolve_name(Expr& node, std::string_view name) {
  for (const auto& candidate : candidates(name)) {
    const auto found = std::find(variables_.begin(), variables_.end(), candidate);
    if (found != variables_.end()) {
      node.kind = ExprKind::kIdent;
      node.resolution = Resolution::kVariable;
      node.slot = static_cast<std::uint32_t>(found - variables_.begin());
      node.name = *found;
      used_[node.slot] = true;
      return true;
    }
    if (well_known_messages_ && candidate == "google.protobuf.NullValue.NULL_VALUE") {
      node.kind = ExprKind::kConstant;
      node.constant = Value::of_int(0);
      return true;
    }
    if (const auto type = type_identifier(candidate); !type.empty()) {
      node.kind = ExprKind::kConstant;
      node.resolution = Resolution::kType;
      node.constant = Value::of_type(type);
      return true;
    }
  }
  return false;
}

void Resolver::resolve_ident(Expr& node) {
  if (!node.absolute) {
    // The innermost local of the name wins.
    const auto found = std::find(locals_.rbegin(), locals_.rend(), node.name);
    if (found != locals_.rend()) {
      node.resolution = Resolution::kLocal;
      node.slot = static_cast<std::uint32_t>(locals_.rend() - found - 1);
      return;
    }
  }
  if (!resolve_name(node, qualified_name(node))) node.resolution = Resolution::kUnresolved;
}

void Resolver::resolve_select(Expr& node) {
  const Expr* root = chain_root(node);
  if (root != nullptr && (root->absolute || !is_local(root->name))) {
    // The longest name that is declared wins: the whole chain is tried before its parts.
    const std::uint32_t position = root->position;
    if (resolve_name(node, qualified_name(node))) {
      node.position = position;
      node.target = nullptr;
      return;
    }
  }
  resolve(*node.target);
}

bool Resolver::resolve_function(Expr& node, std::string_view name) {
  for (const auto& candidate : candidates(name)) {
    for (std::size_t n = 0; n < declared_.size(); ++n) {
      if (declared_[n].name != candidate) continue;
      node.name = declared_[n].name;
      node.target = nullptr;
      node.resolution = Resolution::kDeclared;
      node.slot = static_cast<std::uint32_t>(n);
      return true;
    }
    const auto functions = Registry::instance().find(candidate, false);
    if (functions.empty()) continue;
    node.name = functions[0].name;
    node.target = nullptr;
    node.resolution = Resolution::kVariable;
    return true;
  }
  return false;
}

void Resolver::resolve_call(Expr& node) {
  if (node.op == Op::kNone && node.target == nullptr) {
    const std::string name = node.absolute ? "." + std::string(node.name) : std::string(node.name);
    if (!resolve_function(node, name)) node.resolution = Resolution::kUnresolved;
  } else if (node.target != nullptr) {
    const Expr* root = chain_root(*node.target);
    const bool space =
        root != nullptr && (root->absolute || !is_local(root->name)) &&
        resolve_function(node, qualified_name(*node.target) + "." + std::string(node.name));
    if (!space) {
      resolve(*node.target);
      const auto functions = Registry::instance().find(node.name, true);
      node.resolution = functions.empty() ? Resolution::kUnresolved : Resolution::kVariable;
    }
  }
  for (Expr* arg : node.args) resolve(*arg);
}

void Resolver::resolve_comprehension(Expr& node) {
  resolve(*node.target);
  const std::size_t before = locals_.size();
  node.slot = push(node.variable);
  if (!node.variable2.empty()) node.slot2 = push(node.variable2);
  if (node.filter != nullptr) resolve(*node.filter);
  resolve(*node.body);
  locals_.resize(before);
}

// A literal of a well-known message becomes a call that takes its fields as a map.
void Resolver::resolve_message(Expr& node) {
  if (!well_known_messages_) return;
  const std::string name = node.absolute ? "." + std::string(node.name) : std::string(node.name);
  for (const auto& candidate : candidates(name)) {
    const auto functions = Registry::instance().find("@" + candidate, false);
    if (functions.empty()) continue;
    Expr* fields = arena_.make<Expr>(node);
    fields->kind = ExprKind::kMap;
    for (Element& element : fields->elements) {
      element.key = arena_.make<Expr>();
      element.key->position = node.position;
      element.key->constant = Value::of_string(element.field);
    }
    for (const Element& element : fields->elements) resolve(*element.value);
    Expr** args = arena_.make_array<Expr*>(1);
    args[0] = fields;
    node.kind = ExprKind::kCall;
    node.name = functions[0].name;
    node.resolution = Resolution::kVariable;
    node.elements = {};
    node.args = {args, 1};
    return;
  }
}

void Resolver::resolve(Expr& node) {
  switch (node.kind) {
    case ExprKind::kConstant:
      return;
    case ExprKind::kIdent:
      return resolve_ident(node);
    case ExprKind::kSelect:
      return resolve_select(node);
    case ExprKind::kCall:
      return resolve_call(node);
    case ExprKind::kStruct:
      resolve_message(node);
      [[fallthrough]];
    case ExprKind::kList:
    case ExprKind::kMap:
      for (const Element& element : node.elements) {
        if (element.key != nullptr) resolve(*element.key);
        resolve(*element.value);
      }
      return;
    case ExprKind::kComprehension:
    case ExprKind::kBind:
      return resolve_comprehension(node);
  }
}

}  // namespace kollect::cel
