// Chapters "Values" and "Evaluation": arithmetic, equality, order, logic, indexes.
#include "cel/test_support.h"

namespace kollect::cel {
namespace {

using testing_support::expect_lines;
using testing_support::show;

TEST(CelOperators, IntegerArithmetic) {
  expect_lines({
      {"1 + 2", "3"},
      {"5 - 7", "-2"},
      {"6 * 7", "42"},
      {"7 / 2", "3"},
      {"-7 / 2", "-3"},
      {"7 / -2", "-3"},
      {"7 % 4", "3"},
      {"-7 % 4", "-3"},
      {"7 % -4", "3"},
      {"9223372036854775807 + 1", "eval: int overflow"},
      {"-9223372036854775808 - 1", "eval: int overflow"},
      {"9223372036854775807 * 2", "eval: int overflow"},
      {"-9223372036854775808 / -1", "eval: int overflow"},
      {"-9223372036854775808 % -1", "eval: int overflow"},
      {"-(-9223372036854775808)", "eval: int overflow"},
      {"1 / 0", "eval: division by zero"},
      {"1 % 0", "eval: modulus by zero"},
      {"1u + 2u", "3u"},
      {"2u - 3u", "eval: uint overflow"},
      {"18446744073709551615u + 1u", "eval: uint overflow"},
      {"9223372036854775808u * 2u", "eval: uint overflow"},
      {"7u / 2u", "3u"},
      {"7u % 4u", "3u"},
      {"1u / 0u", "eval: division by zero"},
      {"1u % 0u", "eval: modulus by zero"},
      {"1 + 1u", "error"},
      {"dyn(1) + dyn(1u)", "eval: no matching overload: '+' does not take (int, uint)"},
      {"true + true", "error"},
      {"null + 1", "error"},
  });
}

TEST(CelOperators, DoubleArithmetic) {
  expect_lines({
      {"1.5 + 2.25", "3.75"},
      {"1.5 - 2.0", "-0.5"},
      {"1.5 * 4.0", "6.0"},
      {"1.0 / 4.0", "0.25"},
      {"1.0 / 0.0", "+Inf"},
      {"-1.0 / 0.0", "-Inf"},
      {"0.0 / 0.0", "NaN"},
      {"-(1.5)", "-1.5"},
      {"1.0 % 2.0", "error"},
      {"1 + 1.0", "error"},
      {"1e308 * 10.0", "+Inf"},
  });
}

TEST(CelOperators, Concatenation) {
  expect_lines({
      {"'a' + 'b'", "'ab'"},
      {"'' + 'b'", "'b'"},
      {"b'a' + b'b'", "b'6162'"},
      {"[1] + [2, 3]", "[1, 2, 3]"},
      {"[] + []", "[]"},
      {"'a' + 1", "error"},
      {"'a' + b'b'", "error"},
      {"{'a': 1} + {'b': 2}", "error"},
      {"'a' - 'b'", "error"},
      {"'a' * 2", "error"},
  });
}

TEST(CelOperators, Equality) {
  expect_lines({
      {"1 == 1", "true"},
      {"1 != 2", "true"},
      {"dyn(1) == 1u", "true"},
      {"dyn(1) == 1.0", "true"},
      {"dyn(1u) == 1.0", "true"},
      {"dyn(-1) == 18446744073709551615u", "false"},
      {"dyn(1) == 1.5", "false"},
      {"1 == 1.0", "check: '==' does not take (int, double)"},
      {"dyn(9007199254740993) == 9007199254740992", "false"},
      {"0.0 == -0.0", "true"},
      {"0.0/0.0 == 0.0/0.0", "false"},
      {"0.0/0.0 != 0.0/0.0", "true"},
      {"'a' == 'a'", "true"},
      {"'a' == 'A'", "false"},
      {"'\u00e9' == 'e\u0301'", "false"},
      {"b'a' == b'a'", "true"},
      {"dyn('a') == b'a'", "false"},
      {"null == null", "true"},
      {"dyn(null) == 1", "false"},
      {"dyn('1') == 1", "false"},
      {"true == true", "true"},
      {"[1, 2] == [1, 2]", "true"},
      {"[1, 2] == [2, 1]", "false"},
      {"[1] == [1, 2]", "false"},
      {"dyn([1, 2.0]) == [1.0, 2]", "true"},
      {"[] == []", "true"},
      {"{'a': 1} == {'a': 1}", "true"},
      {"{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "true"},
      {"{'a': 1} == {'a': 2}", "false"},
      {"{'a': 1} == {'b': 1}", "false"},
      {"dyn({1: 'x'}) == {1u: 'x'}", "true"},
      {"{'a': [1, {'b': null}]} == {'a': [1, {'b': null}]}", "true"},
      {"type(1) == int", "true"},
      {"int == uint", "false"},
      {"dyn([0.0/0.0]) == [0.0/0.0]", "false"},
      {"timestamp(0) == timestamp('1970-01-01T00:00:00Z')", "true"},
      {"duration('60s') == duration('1m')", "true"},
  });
}

TEST(CelOperators, Order) {
  expect_lines({
      {"1 < 2", "true"},
      {"2 <= 2", "true"},
      {"3 > 2", "true"},
      {"2 >= 3", "false"},
      {"1u < 2u", "true"},
      {"1.5 < 1.6", "true"},
      {"1 < 1.5", "true"},
      {"2u > 1.5", "true"},
      {"-1 < 1u", "true"},
      {"dyn(18446744073709551615u) > 9223372036854775807", "true"},
      {"dyn(1) < 2u", "true"},
      {"0.0/0.0 < 1.0", "false"},
      {"0.0/0.0 >= 1.0", "false"},
      {"'a' < 'b'", "true"},
      {"'a' < 'B'", "false"},
      {"'' < 'a'", "true"},
      {"'abc' <= 'abcd'", "true"},
      {"'\u00e9' > 'z'", "true"},
      {"b'a' < b'b'", "true"},
      {"false < true", "true"},
      {"true <= false", "false"},
      {"timestamp(1) < timestamp(2)", "true"},
      {"duration('1s') >= duration('1500ms')", "false"},
      {"null < null", "error"},
      {"[1] < [2]", "error"},
      {"'a' < 1", "error"},
      {"dyn('a') < 1", "eval: no matching overload: '<' does not take (string, int)"},
      {"int < uint", "error"},
  });
}

TEST(CelOperators, Membership) {
  expect_lines({
      {"1 in [1, 2]", "true"},
      {"3 in [1, 2]", "false"},
      {"dyn(1.0) in [1, 2]", "true"},
      {"'a' in {'a': null}", "true"},
      {"'b' in {'a': 1}", "false"},
      {"1u in {1: 'x'}", "check: 'in' does not take (uint, map(int, string))"},
      {"dyn(1u) in {1: 'x'}", "true"},
      {"dyn(1.0) in {1: 'x'}", "true"},
      {"dyn(1.5) in {1: 'x'}", "false"},
      {"null in [null]", "true"},
      {"'a' in 'abc'", "error"},
      {"dyn('a') in dyn('abc')", "eval: no matching overload: 'in' does not take (string, string)"},
      {"1 in []", "false"},
      {"'x' in {}", "false"},
  });
}

TEST(CelOperators, Indexes) {
  expect_lines({
      {"[1, 2, 3][1]", "2"},
      {"[1][1]", "eval: index out of range"},
      {"[1][-1]", "eval: index out of range"},
      {"[7][dyn(0u)]", "7"},
      {"[7][dyn(0.0)]", "7"},
      {"[7][dyn(0.5)]", "eval: an index of a list must be a whole number"},
      {"[7]['a']", "error"},
      {"{'a': 1}['a']", "1"},
      {"{'a': 1}['b']", "eval: no such key: 'b'"},
      {"{'a': 1}.b", "eval: no such key: 'b'"},
      {"{1: 'x'}[1]", "'x'"},
      {"{1u: 'x'}[dyn(1)]", "'x'"},
      {"{1: 'x'}[dyn(1.0)]", "'x'"},
      {"{true: 'x'}[true]", "'x'"},
      {"{'a': {'b': 1}}.a.b", "1"},
      {"1.a", "error"},
      {"dyn(1).a", "eval: no such key: 'a'"},
      {"dyn(null).a", "eval: no such key: 'a'"},
      {"dyn(1)[0]", "eval: no matching overload: '[]' does not take (int, int)"},
      {"'abc'[0]", "error"},
  });
}

TEST(CelOperators, LogicAbsorbsErrors) {
  expect_lines({
      {"true && true", "true"},
      {"true && false", "false"},
      {"false || true", "true"},
      {"false || false", "false"},
      {"false && 1 / 0 == 1", "false"},
      {"1 / 0 == 1 && false", "false"},
      {"true || 1 / 0 == 1", "true"},
      {"1 / 0 == 1 || true", "true"},
      {"1 / 0 == 1 || false", "eval: division by zero"},
      {"1 / 0 == 1 && true", "eval: division by zero"},
      {"true && dyn(1)", "eval: no matching overload: '&&' does not take (int)"},
      {"dyn(1) || true", "true"},
      {"dyn('a') && false", "false"},
      {"1 / 0 == 1 || 1 % 0 == 1 || true", "true"},
      {"true && 1", "error"},
      {"!dyn(1)", "eval: no matching overload: '!' does not take (int)"},
      {"!1", "error"},
      {"true ? 1 : 1 / 0", "1"},
      {"false ? 1 / 0 : 2", "2"},
      {"1 / 0 == 1 ? 1 : 2", "eval: division by zero"},
      {"dyn(1) ? 1 : 2", "eval: no matching overload: '? :' does not take (int)"},
      {"true ? 1 : 'a'",
       "check: the branches of '? :' are of different types, int and string; dyn() helps"},
      {"true ? dyn(1) : 'a'", "1"},
  });
}

TEST(CelOperators, JsonNumbersKeepTheirKind) {
  const std::string object =
      R"({"i":7,"max":9223372036854775807,"u":18446744073709551615,"d":2.0,"e":1e3,"big":99999999999999999999})";
  EXPECT_EQ(show("object.i", true, object), "7");
  EXPECT_EQ(show("object.max + 0", true, object), "9223372036854775807");
  EXPECT_EQ(show("object.u", true, object), "18446744073709551615u");
  EXPECT_EQ(show("object.d", true, object), "2.0");
  EXPECT_EQ(show("type(object.e)", true, object), "double");
  EXPECT_EQ(show("type(object.big)", true, object), "double");
}

}  // namespace
}  // namespace kollect::cel
