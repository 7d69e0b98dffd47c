// Every function and macro with usual, edge and wrong arguments: tests/cases/cel/functions.tsv has
// a case a line, the function ("x.name" when it is called on a value), an expression and its value
// as cel.expr.Value or "error: …".
#include "cel/functions.h"

#include <gtest/gtest.h>

#include <map>

#include "base/files.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "cel/batch.h"

namespace kollect::cel {
namespace {

struct Case {
  std::string_view function;
  std::string_view expression;
  std::string_view expected;
};

const std::vector<Case>& cases() {
  static const auto text = base::read_file(KOLLECT_SOURCE_DIR "/tests/cases/cel/functions.tsv");
  static const std::vector<Case> all = [] {
    std::vector<Case> list;
    for (const auto line : base::split(*text, '\n')) {
      const auto columns = base::split(line, '\t');
      if (columns.size() == 3) list.push_back({columns[0], columns[1], columns[2]});
    }
    return list;
  }();
  return all;
}

/// The value of an answer, or "error: …" without the place.
std::string evaluate(std::string_view expression, bool check) {
  std::string line = R"({"id":1,"expr":)";
  base::json::append_string(line, expression);
  const std::string out = run_batch_line(line + (check ? "}" : R"(,"check":false})"));
  constexpr std::string_view kValue = R"({"id":1,"value":)";
  if (out.starts_with(kValue)) return out.substr(kValue.size(), out.size() - kValue.size() - 1);
  const auto answer = base::json::Document::parse(out);
  const std::string error(answer->root().text("error"));
  return "error: " + error.substr(0, error.find(" (line "));
}

TEST(CelFunctions, EveryCaseHasItsValue) {
  ASSERT_GE(cases().size(), 700U);
  for (const Case& each : cases()) {
    EXPECT_EQ(evaluate(each.expression, true), each.expected) << each.expression;
    // Without the checker only errors may read otherwise.
    const std::string unchecked = evaluate(each.expression, false);
    if (each.expected.starts_with("error: ")) {
      EXPECT_TRUE(unchecked.starts_with("error: ")) << each.expression << " gave " << unchecked;
    } else {
      EXPECT_EQ(unchecked, each.expected) << each.expression;
    }
  }
}

TEST(CelFunctions, EveryFunctionHasValuesAndErrors) {
  struct Count {
    int values = 0;
    int errors = 0;
  };
  std::map<std::string, Count> counts;
  for (const Case& each : cases()) {
    Count& count = counts[std::string(each.function)];
    ++(each.expected.starts_with("error: ") ? count.errors : count.values);
  }
  for (const bool member : {false, true}) {
    for (const auto& name : Registry::instance().names(member)) {
      const Count count = counts[member ? "x." + name : name];
      EXPECT_GE(count.values, 1) << name;
      EXPECT_GE(count.errors, 1) << name;
      EXPECT_GE(count.values + count.errors, 3) << name;
    }
  }
}

}  // namespace
}  // namespace kollect::cel
