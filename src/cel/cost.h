// What an expression will cost, judged without an object (spec: E-11).
#pragma once

#include <cstdint>

#include "cel/ast.h"
#include "cel/cel.h"

namespace kollect::cel {

/// Walks the resolved tree with the prices of the evaluator. Lists, maps and texts of the object
/// count as `assumed_size` elements or characters. Saturates instead of overflowing.
Program::CostEstimate estimate_cost(const Expr& tree, std::uint64_t assumed_size);

}  // namespace kollect::cel
