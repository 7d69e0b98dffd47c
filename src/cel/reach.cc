#include "cel/reach.h"

namespace kollect::cel {

namespace {

using Reach = Program::Reach;

class Finder {
 public:
  Finder(std::string_view variable, std::string_view key) : variable_(variable), key_(key) {}

  Reach find(const Expr& node) {
    visit(node);
    return reach_;
  }

 private:
  [[nodiscard]] bool is_variable(const Expr& node) const {
    return node.kind == ExprKind::kIdent && node.resolution == Resolution::kVariable &&
           node.name == variable_;
  }

  void read(std::string_view key) {
    if (key == key_) reach_ = Reach::kYes;
  }

  /// A variable used as a value takes every member along.
  void whole() { reach_ = Reach::kYes; }

  void unknown() {
    if (reach_ == Reach::kNo) reach_ = Reach::kUnknown;
  }

  void visit(const Expr& node) {
    if (is_variable(node)) return whole();
    if (node.kind == ExprKind::kSelect && is_variable(*node.target)) return read(node.name);
    const bool index = node.op == Op::kIndex || node.op == Op::kOptionalIndex;
    if (index && is_variable(*node.args[0])) {
      const Expr& key = *node.args[1];
      if (key.kind == ExprKind::kConstant && key.constant.kind == Kind::kString) {
        return read(key.constant.as_text());
      }
      unknown();
      return visit(key);
    }
    for (const Expr* child : {node.target, node.filter, node.body}) {
      if (child != nullptr) visit(*child);
    }
    for (const Expr* arg : node.args) visit(*arg);
    for (const Element& element : node.elements) {
      if (element.key != nullptr) visit(*element.key);
      visit(*element.value);
    }
  }

  std::string_view variable_;
  std::string_view key_;
  Reach reach_ = Reach::kNo;
};

}  // namespace

Program::Reach find_reach(const Expr& tree, std::string_view variable, std::string_view key) {
  return Finder(variable, key).find(tree);
}

}  // namespace kollect::cel
