// How the planner makes nodes; each group of nodes lives in its own file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cel/ast.h"
#include "cel/functions.h"
#include "cel/node.h"
#include "cel/regex.h"

namespace kollect::cel {

// node_basic.cc
NodePtr make_constant(std::uint32_t position, const Value& value);
NodePtr make_failure(std::uint32_t position, std::string message);
NodePtr make_local(std::uint32_t position, std::uint32_t slot);
NodePtr make_variable(std::uint32_t position, std::uint32_t variable);
NodePtr make_select(const Expr& expr, NodePtr operand);
/// A chain of plain selects on a variable or local.
struct PathRoot {
  bool local = false;
  std::uint32_t number = 0;
};
struct PathStep {
  std::string_view field;
  std::uint32_t position = 0;
};
NodePtr make_path(std::uint32_t position, PathRoot root, std::vector<PathStep> steps, bool has);
NodePtr make_index(std::uint32_t position, NodePtr operand, NodePtr key, bool optional);
NodePtr make_list_node(const Expr& expr, std::vector<NodePtr> values);
NodePtr make_map_node(const Expr& expr, std::vector<NodePtr> keys, std::vector<NodePtr> values);

// node_operators.cc
NodePtr make_logic(std::uint32_t position, Op op, std::vector<NodePtr> operands);
NodePtr make_conditional(std::uint32_t position, NodePtr condition, NodePtr yes, NodePtr no);
NodePtr make_operator(std::uint32_t position, Op op, std::vector<NodePtr> operands);
/// `second` is asked when `first` has no form for the arguments' types; may be nullptr.
NodePtr make_call(std::uint32_t position, std::string_view name, Implementation first,
                  Implementation second, std::vector<NodePtr> args);
/// or() and orValue(): the argument is evaluated only when the receiver is empty.
NodePtr make_optional_or(std::uint32_t position, bool value, NodePtr receiver, NodePtr otherwise);
NodePtr make_matches(std::uint32_t position, NodePtr text, std::unique_ptr<Regex> pattern);

// node_comprehension.cc
NodePtr make_comprehension(const Expr& expr, NodePtr range, NodePtr filter, NodePtr body);
NodePtr make_bind(const Expr& expr, NodePtr value, NodePtr body);

}  // namespace kollect::cel
