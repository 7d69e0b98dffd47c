// Resolved tree to nodes.
#pragma once

#include <string_view>

#include "cel/ast.h"
#include "cel/cache.h"
#include "cel/evaluation.h"
#include "cel/node.h"

namespace kollect::cel {

/// Builds nodes bottom-up; pure operations on constants are done at once. `folding` owns the memory
/// of the results and must live as long as the nodes, as must the arena of the tree. `prepared`
/// gets the patterns and time zones that the expression names.
class Planner {
 public:
  Planner(Evaluation& folding, EvaluationCache& prepared)
      : folding_(folding), prepared_(prepared) {}
  NodePtr build(const Expr& expr);

 private:
  NodePtr build_select(const Expr& expr);
  NodePtr build_call(const Expr& expr);
  NodePtr build_operator(const Expr& expr);
  NodePtr build_list(const Expr& expr);
  NodePtr build_map(const Expr& expr);
  NodePtr fold(NodePtr node, bool constant);
  /// Compiles the pattern, or reads the time zone, that a call names by a constant.
  void prepare(std::string_view function, const std::vector<NodePtr>& args);

  Evaluation& folding_;
  EvaluationCache& prepared_;
};

}  // namespace kollect::cel
