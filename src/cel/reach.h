// What an expression can read of a variable (spec: extraction 6, E-15).
#pragma once

#include <string_view>

#include "cel/ast.h"
#include "cel/cel.h"

namespace kollect::cel {

/// Judges the resolved tree: kYes when member `key` of the variable is read by name or the variable
/// is used as a whole, kUnknown when it is read with a computed key, else kNo.
Program::Reach find_reach(const Expr& tree, std::string_view variable, std::string_view key);

}  // namespace kollect::cel
