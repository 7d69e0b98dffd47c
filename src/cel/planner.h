// Resolved tree to nodes.
#pragma once

#include <string_view>

#include "cel/ast.h"
#include "cel/evaluation.h"
#include "cel/node.h"

namespace kollect::cel {

/// Builds nodes bottom-up; pure operations on constants are done at once. `folding` owns the memory
/// of the results and must live as long as the nodes, as must the arena of the tree.
class Planner {
 public:
  explicit Planner(Evaluation& folding) : folding_(folding) {}
  NodePtr build(const Expr& expr);

 private:
  NodePtr build_select(const Expr& expr);
  NodePtr build_call(const Expr& expr);
  NodePtr build_operator(const Expr& expr);
  NodePtr build_list(const Expr& expr);
  NodePtr build_map(const Expr& expr);
  NodePtr fold(NodePtr node, bool constant);

  Evaluation& folding_;
};

}  // namespace kollect::cel
