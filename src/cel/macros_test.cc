// Chapters "Macros" and "Field selection": has(), comprehensions, bindings, optionals.
#include "cel/test_support.h"

namespace kollect::cel {
namespace {

using testing_support::expect_lines;
using testing_support::show;

TEST(CelMacros, Has) {
  expect_lines({
      {"has({'a': 1}.a)", "true"},
      {"has({'a': 1}.b)", "false"},
      {"has({'a': null}.a)", "true"},
      {"has({'a': {'b': 1}}.a.b)", "true"},
      {"has({'a': {}}.b.c)", "eval: no such key: 'b'"},
      {"has(dyn(1).a)", "false"},
      {"has(dyn([1]).a)", "eval: a list has no field 'a'"},
      {"dyn([1]).?a", "eval: a list has no field 'a'"},
      {"has({1: 2}.a)", "false"},
      {"{1: 2}.?a", "none"},
      {"optional.of(dyn([1])).?a", "eval: a list has no field 'a'"},
      {"has(optional.of({'a': 1}).a)", "true"},
      {"has(dyn(null).a)", "false"},
      {"has(1)", "error"},
      {"has([1][0])", "error"},
      {"has({'a': 1}.a, 1)", "error"},
  });
  EXPECT_EQ(show("has(object.s.x)", true, R"({"s":"text"})"), "false");
  EXPECT_EQ(show("has(object.n)", true, R"({"n":null})"), "true");
}

TEST(CelMacros, AllAndExists) {
  expect_lines({
      {"[1, 2].all(x, x > 0)", "true"},
      {"[1, -2].all(x, x > 0)", "false"},
      {"[].all(x, x > 0)", "true"},
      {"[1, 2].exists(x, x == 2)", "true"},
      {"[1, 2].exists(x, x == 3)", "false"},
      {"[].exists(x, true)", "false"},
      {"{'a': 1}.all(k, k == 'a')", "true"},
      {"{'a': 1, 'b': 2}.exists(k, k == 'b')", "true"},
      {"[0, 1].exists(x, 1 / x == 1)", "true"},
      {"[0, 2].exists(x, 1 / x == 1)", "eval: division by zero"},
      {"[0, 2].all(x, 1 / x == 1)", "false"},
      {"[0, 1].all(x, 1 / x == 1)", "eval: division by zero"},
      {"[1, 2].all(x, dyn(x))", "eval: the condition of a macro must be bool, not int"},
      {"[1].all(x, x)", "error"},
      {"[1, 2].all(i, v, v > i)", "true"},
      {"[1, 0].all(i, v, v > i)", "false"},
      {"{'a': 1}.exists(k, v, k == 'a' && v == 1)", "true"},
      {"1.all(x, true)", "error"},
      {"dyn(1).all(x, true)", "eval: a macro goes over a list or a map, not over int"},
      {"[1].all(x.y, true)", "error"},
      {"[1].all(1, true)", "error"},
      {"[1].all(x, x, true)", "error"},
      {"[1].all(true)", "error"},
  });
}

TEST(CelMacros, ExistsOne) {
  expect_lines({
      {"[1, 2, 3].exists_one(x, x > 2)", "true"},
      {"[1, 2, 3].exists_one(x, x > 1)", "false"},
      {"[].exists_one(x, true)", "false"},
      {"[1, 2].existsOne(x, x == 1)", "true"},
      {"[1, 2].existsOne(i, v, i == 0 && v == 1)", "true"},
      {"{'a': 1, 'b': 1}.existsOne(k, v, v == 1)", "false"},
      {"[1, 0].exists_one(x, 1 / x == 1)", "eval: division by zero"},
  });
}

TEST(CelMacros, MapAndFilter) {
  expect_lines({
      {"[1, 2].map(x, x * 2)", "[2, 4]"},
      {"[].map(x, x)", "[]"},
      {"[1, 2, 3].map(x, x > 1, x * 2)", "[4, 6]"},
      {"{'b': 1, 'a': 2}.map(k, k)", "['a', 'b']"},
      {"[1, 2, 3].filter(x, x % 2 == 1)", "[1, 3]"},
      {"{'a': 1, 'b': 2}.filter(k, k != 'a')", "['b']"},
      {"[1, 2].map(x, [x]).map(l, l[0])", "[1, 2]"},
      {"[[1, 2], [3]].map(l, l.map(x, x + 1))", "[[2, 3], [4]]"},
      {"[1].map(x, [2].map(x, x))", "[[2]]"},
      {"[0].map(x, 1 / x)", "eval: division by zero"},
      {"[1].filter(x, 'a')", "error"},
      {"[1].filter(x, dyn('a'))", "eval: the condition of a macro must be bool, not string"},
      {"[1, 2].map(x, x, x)", "error"},
  });
}

TEST(CelMacros, Transformations) {
  expect_lines({
      {"[10, 20].transformList(i, v, i + v)", "[10, 21]"},
      {"[10, 20].transformList(i, v, i > 0, v)", "[20]"},
      {"{'a': 1, 'b': 2}.transformList(k, v, k + string(v))", "['a1', 'b2']"},
      {"{'a': 1, 'b': 2}.transformMap(k, v, v * 2)", "{'a': 2, 'b': 4}"},
      {"{'a': 1, 'b': 2}.transformMap(k, v, k == 'b', v)", "{'b': 2}"},
      {"['x', 'y'].transformMap(i, v, v)", "{0: 'x', 1: 'y'}"},
      {"{'a': 'x', 'b': 'y'}.transformMapEntry(k, v, {v: k})", "{'x': 'a', 'y': 'b'}"},
      {"['a', 'b'].transformMapEntry(i, v, i == 1, {v: i})", "{'b': 1}"},
      {"['a', 'a'].transformMapEntry(i, v, {v: i})", "eval: a map cannot hold the same key twice"},
      {"['a'].transformMapEntry(i, v, v)", "error"},
      {"[1].transformList(i, v)", "error"},
      {"[1].transformList(i, i, v)", "error"},
  });
}

TEST(CelMacros, Bindings) {
  expect_lines({
      {"cel.bind(x, 2, x * x)", "4"},
      {"cel.bind(x, 1, cel.bind(y, x + 1, x + y))", "3"},
      {"cel.bind(x, 1, cel.bind(x, x + 1, x))", "2"},
      {"cel.bind(x, [1, 2], x.map(y, y + x[0]))", "[2, 3]"},
      {"cel.bind(x, 1 / 0, true)", "true"},
      {"cel.bind(x, 1 / 0, x)", "eval: division by zero"},
      {"cel.bind(a.b, 1, 2)", "error"},
      {"cel.block([1, cel.index(0) + 1], cel.index(1))", "2"},
      {"cel.block([[1, 2]], cel.index(0).map(cel.iterVar(0, 0), cel.iterVar(0, 0) * 2))", "[2, 4]"},
      {"cel.block(1, 2)", "error"},
      {"cel.index(0)", "error"},
      {"cel.index(-1)", "error"},
  });
}

TEST(CelMacros, Optionals) {
  expect_lines({
      {"optional.of(1)", "optional(1)"},
      {"optional.none()", "none"},
      {"optional.ofNonZeroValue(0)", "none"},
      {"optional.ofNonZeroValue('')", "none"},
      {"optional.ofNonZeroValue([])", "none"},
      {"optional.ofNonZeroValue(false)", "none"},
      {"optional.ofNonZeroValue(null)", "none"},
      {"optional.ofNonZeroValue(duration('0s'))", "none"},
      {"optional.ofNonZeroValue('a')", "optional('a')"},
      {"optional.of(1).hasValue()", "true"},
      {"optional.none().hasValue()", "false"},
      {"optional.of(1).value()", "1"},
      {"optional.none().value()", "eval: the optional has no value"},
      {"optional.none().orValue(1 / 1)", "1"},
      {"optional.of(1).orValue(1 / 0)", "1"},
      {"optional.of(1).or(optional.of(2))", "optional(1)"},
      {"optional.none().or(optional.of(2)).value()", "2"},
      {"optional.of(2).optMap(x, x * 2)", "optional(4)"},
      {"optional.none().optMap(x, x * 2)", "none"},
      {"optional.of(2).optFlatMap(x, optional.of(x + 1))", "optional(3)"},
      {"optional.of(2).optFlatMap(x, optional.none())", "none"},
      {"optional.of(2).optFlatMap(x, x)", "error"},
      {"dyn(1).optMap(x, x)", "eval: the receiver must be optional, not int"},
      {"{'a': 1}.?a", "optional(1)"},
      {"{'a': 1}.?b", "none"},
      {"{'a': {'b': 2}}.?a.b", "optional(2)"},
      {"{'a': {}}.?a.b", "none"},
      {"{'a': 1}[?'a']", "optional(1)"},
      {"[1][?0]", "optional(1)"},
      {"[1][?5]", "none"},
      {"[1][?-1]", "none"},
      {"optional.of([1])[0]", "optional(1)"},
      {"optional.of([1])[1]", "none"},
      {"[?optional.of(1), 2, ?optional.none()]", "[1, 2]"},
      {"{?'a': optional.of(1), ?'b': optional.none()}", "{'a': 1}"},
      {"[?1]", "error"},
      {"[?dyn(1)]", "eval: an element with '?' must be optional, not int"},
      {"optional.of(1) == optional.of(1)", "true"},
      {"optional.of(1) == optional.none()", "false"},
      {"type(optional.none()) == optional_type", "true"},
      {"[optional.of(1), optional.none()].unwrapOpt()", "[1]"},
      {"optional.unwrap([optional.none(), optional.of(2)])", "[2]"},
      {"has({'a': {'b': 1}}.?a.b)", "true"},
      {"dyn(1).?a", "none"},
      {"dyn(null).?a", "none"},
  });
}

TEST(CelMacros, ObjectsAreWalkedInKeyOrder) {
  const std::string object = R"({"m":{"b":1,"a":2,"b":3,"B":4}})";
  EXPECT_EQ(show("object.m.map(k, k)", true, object), "['B', 'a', 'b']");
  EXPECT_EQ(show("object.m.transformList(k, v, v)", true, object), "[4, 2, 3]");
  EXPECT_EQ(show("object.m.b", true, object), "3");
}

}  // namespace
}  // namespace kollect::cel
