// Math, lists, sets.
#include "cel/test_support.h"

namespace kollect::cel {
namespace {

using testing_support::expect_lines;
using testing_support::show;

TEST(CelMath, GreatestAndLeast) {
  expect_lines({
      {"math.greatest(1)", "1"},
      {"math.greatest(1, 2)", "2"},
      {"math.greatest(1, 2.5, 2u)", "2.5"},
      {"math.greatest([1, 5, 3])", "5"},
      {"math.greatest([1u, 2u])", "2u"},
      {"math.least(1, -2, 3)", "-2"},
      {"math.least([2.5, 1.5])", "1.5"},
      {"math.least(-1, 0u)", "-1"},
      {"math.greatest(dyn([]))", "eval: the list is empty"},
      {"math.greatest(0.0/0.0, 1.0)", "eval: NaN has no order"},
      {"math.least([1.0, 0.0/0.0])", "eval: NaN has no order"},
      {"math.isNaN(math.least(0.0/0.0))", "true"},
      {"math.greatest('a')", "error"},
      {"math.greatest(1, dyn('a'))", "error"},
      {"math.greatest()", "error"},
  });
}

TEST(CelMath, Rounding) {
  expect_lines({
      {"math.ceil(1.2)", "2.0"},
      {"math.ceil(-1.2)", "-1.0"},
      {"math.floor(1.8)", "1.0"},
      {"math.floor(-1.2)", "-2.0"},
      {"math.round(1.5)", "2.0"},
      {"math.round(-1.5)", "-2.0"},
      {"math.round(2.5)", "3.0"},
      {"math.trunc(1.9)", "1.0"},
      {"math.trunc(-1.9)", "-1.0"},
      {"math.ceil(1)", "error"},
      {"math.round(0.0/0.0)", "NaN"},
      {"math.sqrt(9)", "3.0"},
      {"math.sqrt(2.25)", "1.5"},
      {"math.sqrt(-1.0)", "NaN"},
      {"math.sqrt(4u)", "2.0"},
  });
}

TEST(CelMath, SignsAndTests) {
  expect_lines({
      {"math.abs(-1)", "1"},
      {"math.abs(2u)", "2u"},
      {"math.abs(-1.5)", "1.5"},
      {"math.abs(-9223372036854775808)", "eval: int overflow"},
      {"math.sign(-7)", "-1"},
      {"math.sign(0)", "0"},
      {"math.sign(3u)", "1u"},
      {"math.sign(-2.5)", "-1.0"},
      {"math.sign(0.0)", "0.0"},
      {"math.isNaN(0.0/0.0)", "true"},
      {"math.isInf(1.0/0.0)", "true"},
      {"math.isInf(1.0)", "false"},
      {"math.isFinite(1.0)", "true"},
      {"math.isFinite(1.0/0.0)", "false"},
      {"math.isNaN(1)", "error"},
      {"math.abs('a')", "error"},
  });
}

TEST(CelMath, Bits) {
  expect_lines({
      {"math.bitAnd(6, 3)", "2"},
      {"math.bitOr(6u, 3u)", "7u"},
      {"math.bitXor(6, 3)", "5"},
      {"math.bitNot(0)", "-1"},
      {"math.bitNot(0u)", "18446744073709551615u"},
      {"math.bitShiftLeft(1, 4)", "16"},
      {"math.bitShiftLeft(1, 64)", "0"},
      {"math.bitShiftLeft(-1, 1)", "-2"},
      {"math.bitShiftRight(-1024, 3)", "2305843009213693824"},
      {"math.bitShiftRight(8u, 2)", "2u"},
      {"math.bitShiftRight(8, 64)", "0"},
      {"math.bitShiftLeft(1, -1)", "eval: a shift by a negative number of places"},
      {"math.bitAnd(1, 1u)", "error"},
      {"math.bitAnd(1.5, 1.5)", "error"},
  });
}

TEST(CelLists, Order) {
  expect_lines({
      {"[3, 1, 2].sort()", "[1, 2, 3]"},
      {"['b', 'a'].sort()", "['a', 'b']"},
      {"[true, false].sort()", "[false, true]"},
      {"[].sort()", "[]"},
      {"[timestamp(2), timestamp(1)].sort()",
       "[timestamp(1970-01-01T00:00:01Z), timestamp(1970-01-01T00:00:02Z)]"},
      {"[1, 'a'].sort()", "eval: the keys of a sort must be of one type that has an order"},
      {"[[1]].sort()", "error"},
      {"[3, 1, 2].sortBy(x, -x)", "[3, 2, 1]"},
      {"[{'n': 2}, {'n': 1}].sortBy(x, x.n)", "[{'n': 1}, {'n': 2}]"},
      {"['bb', 'a', 'cc'].sortBy(x, size(x))", "['a', 'bb', 'cc']"},
      {"[1].sortBy(x, x.y)", "error"},
      {"{'a': 1}.sortBy(x, x)", "eval: sortBy() goes over a list, not over map"},
      {"[1, 2, 2].isSorted()", "true"},
      {"[2, 1].isSorted()", "false"},
      {"[].isSorted()", "true"},
      {"[[1], [2]].isSorted()", "error"},
      {"[1, 2].reverse()", "[2, 1]"},
      {"[].reverse()", "[]"},
  });
}

TEST(CelLists, Parts) {
  expect_lines({
      {"[1, 2, 3].slice(1, 3)", "[2, 3]"},
      {"[1, 2].slice(0, 0)", "[]"},
      {"[1].slice(0, 2)", "eval: the bounds of slice() are out of range"},
      {"[1].slice(-1, 1)", "eval: the bounds of slice() are out of range"},
      {"[1, 2].slice(1, 0)", "eval: the bounds of slice() are out of range"},
      {"[1, 2].first()", "optional(1)"},
      {"[1, 2].last()", "optional(2)"},
      {"[].first()", "none"},
      {"[].last()", "none"},
      {"[1, 2, 1].indexOf(1)", "0"},
      {"[1, 2, 1].lastIndexOf(1)", "2"},
      {"[1, 2].indexOf(3)", "-1"},
      {"['a', 'b'].indexOf('b')", "1"},
      {"dyn([1, 2]).indexOf(2)", "1"},
      {"[1].indexOf('a')", "check: 'indexOf' does not take (list(int), string)"},
  });
  EXPECT_EQ(show("object.l.slice(1, 3)", true, R"({"l":[1,2,3]})"), "[2, 3]");
  EXPECT_EQ(show("object.l.last()", true, R"({"l":[1,[2]]})"), "optional([2])");
  EXPECT_EQ(show("object.l.reverse()", true, R"({"l":[1,[2]]})"), "[[2], 1]");
}

TEST(CelLists, NewLists) {
  expect_lines({
      {"[1, 2, 1, 1.0].distinct()", "[1, 2]"},
      {"[{'a': 1}, {'a': 1}].distinct()", "[{'a': 1}]"},
      {"[].distinct()", "[]"},
      {"[[1], [2, 3]].flatten()", "[1, 2, 3]"},
      {"[1, [2, [3]]].flatten()", "[1, 2, [3]]"},
      {"[1, [2, [3]]].flatten(2)", "[1, 2, 3]"},
      {"[[1]].flatten(0)", "[[1]]"},
      {"[[1]].flatten(-1)", "eval: the depth of flatten() cannot be negative"},
      {"lists.range(3)", "[0, 1, 2]"},
      {"lists.range(0)", "[]"},
      {"lists.range(-1)", "eval: the size of lists.range() cannot be negative"},
      {"[1, 2].sum()", "3"},
      {"[1.5, 2.0].sum()", "3.5"},
      {"[duration('1s'), duration('2s')].sum()", "duration(3s)"},
      {"[].sum()", "0"},
      {"1.0 / [-0.0].sum()", "+Inf"},
      {"[1, 2.0].includes(2)", "true"},
      {"[[1]].includes([1])", "true"},
      {"[].includes(1)", "false"},
      {"'a'.includes('a')", "true"},
      {"'ab'.includes('a')", "false"},
      {"dyn(1).includes(1.0)", "true"},
      {"[9223372036854775807, 1].sum()", "eval: int overflow"},
      {"['a'].sum()", "error"},
      {"[2, 3, 1].min()", "1"},
      {"[2, 3, 1].max()", "3"},
      {"['b', 'a'].min()", "'a'"},
      {"[].min()", "eval: the list is empty"},
      {"[[1]].max()", "error"},
  });
}

TEST(CelSets, Relations) {
  expect_lines({
      {"sets.contains([1, 2], [2])", "true"},
      {"sets.contains([1], [1, 2])", "false"},
      {"sets.contains([], [])", "true"},
      {"sets.contains([1], [])", "true"},
      {"sets.contains(dyn([1, 2]), [1.0, 2u])", "true"},
      {"sets.equivalent([1, 2, 2], [2, 1])", "true"},
      {"sets.equivalent([1], [1, 2])", "false"},
      {"sets.equivalent([], [])", "true"},
      {"sets.intersects([1, 2], [2, 3])", "true"},
      {"sets.intersects([1], [2])", "false"},
      {"sets.intersects([], [])", "false"},
      {"sets.contains([[1], [2]], [[2]])", "true"},
      {"sets.contains(1, [1])", "error"},
  });
}

}  // namespace
}  // namespace kollect::cel
