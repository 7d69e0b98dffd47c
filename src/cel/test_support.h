// Shared by the tests of the room: evaluates one expression and shows the result as an expression
// would write it.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/cel.h"
#include "cel/value.h"

namespace kollect::cel::testing_support {

/// One line of a table: an expression and what show() gives for it.
struct Line {
  std::string_view expression;
  std::string_view expected;
};

/// "1", "1u", "1.0", "'x'", "b'6869'" (hex), "[1, 2]", "{'a': 1}", "timestamp(…)", "duration(…)",
/// "int" (a type), "optional(1)", "none", "kubernetes.Quantity(1Gi)"; errors: "parse: …", "check:
/// …", "eval: …", "limit: …" up to the position.
std::string show(std::string_view expression, bool check = true, std::string_view object = "{}");
std::string show(const Value& value);

/// Every line checked and unchecked must give what is expected; an expectation "error" takes any
/// error.
void expect_lines(std::initializer_list<Line> lines);

}  // namespace kollect::cel::testing_support
