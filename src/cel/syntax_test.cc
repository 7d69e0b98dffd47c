// Chapter "Syntax": literals, names, operators' order, limits.
#include "cel/test_support.h"

namespace kollect::cel {
namespace {

using testing_support::expect_lines;
using testing_support::show;

TEST(CelSyntax, Numbers) {
  expect_lines({
      {"0", "0"},
      {"42", "42"},
      {"-42", "-42"},
      {"0x1F", "31"},
      {"-0xff", "-255"},
      {"0X10", "16"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"9223372036854775808", "parse: this number does not fit an int"},
      {"-9223372036854775809", "parse: this number does not fit an int"},
      {"0u", "0u"},
      {"42U", "42u"},
      {"0xFFu", "255u"},
      {"18446744073709551615u", "18446744073709551615u"},
      {"18446744073709551616u", "parse: this number is too large for a uint"},
      {"1.5", "1.5"},
      {".5", "0.5"},
      {"-.5", "-0.5"},
      {"1e3", "1000.0"},
      {"1E-2", "0.01"},
      {"1.5e+2", "150.0"},
      {"-2.5e-1", "-0.25"},
      {"1e400", "parse: this number is too large for a double"},
      {"1x", "parse: a number cannot be followed by letters"},
      {"1.", "error"},
      {"0x", "error"},
      {"--1", "1"},
      {"---1", "-1"},
      {"- 1", "-1"},
      {"-(1)", "-1"},
      {"-1u", "error"},
  });
}

TEST(CelSyntax, Strings) {
  expect_lines({
      {"'a'", "'a'"},
      {"\"a\"", "'a'"},
      {"''", "''"},
      {"'it\\'s'", "'it's'"},
      {"\"'\"", "'''"},
      {"'\"'", "'\"'"},
      {"'''a'''", "'a'"},
      {"\"\"\"a\nb\"\"\"", "'a\nb'"},
      {"'''it's'''", "'it's'"},
      {"'''a\r\nb\rc'''", "'a\nb\nc'"},
      {"r'\\d+'", "'\\d+'"},
      {"R\"\\\"", "'\\'"},
      {"r'''\\n'''", "'\\n'"},
      {"'\\x41\\X42'", "'AB'"},
      {"'\\u00e9'", "'\u00e9'"},
      {"'\\U0001F600'", "'\U0001F600'"},
      {"'\\101\\377'", "'A\u00ff'"},
      {"'\\a\\b\\f\\n\\r\\t\\v\\\\\\?\\\"\\'\\`'", "'\a\b\f\n\r\t\v\\?\"'`'"},
      {"'\u00e9\U0001F600'", "'\u00e9\U0001F600'"},
      {"'\\z'", "error"},
      {"'\\x4'", "error"},
      {"'\\u12'", "error"},
      {"'\\ud800'", "error"},
      {"'\\U00110000'", "error"},
      {"'\\400'", "error"},
      {"'\\8'", "error"},
      {"'a", "error"},
      {"'a\nb'", "error"},
      {"'''a''", "error"},
      {"\"a'", "error"},
  });
}

TEST(CelSyntax, Bytes) {
  expect_lines({
      {"b'abc'", "b'616263'"},
      {"B\"abc\"", "b'616263'"},
      {"b''", "b''"},
      {"b'\\xff\\000'", "b'ff00'"},
      {"b'\\377'", "b'ff'"},
      {"b'\u00e9'", "b'c3a9'"},
      {"br'\\x'", "b'5c78'"},
      {"bR'\\x'", "b'5c78'"},
      {"b'''a\nb'''", "b'610a62'"},
      {"b'\\u00e9'", "error"},
      {"b'\\U0001F600'", "error"},
      {"rb'a'", "error"},
  });
}

TEST(CelSyntax, NamesAndComments) {
  expect_lines({
      {"true // comment", "true"},
      {"// first\n1 // second\n+ 2", "3"},
      {"1 +\t2\r\n+ 3\f", "6"},
      {"{'in-put': 1}.`in-put`", "1"},
      {"{'a.b/c d': 1}.`a.b/c d`", "1"},
      {"{'for': 1}.for", "1"},
      {"{'package': {'let': 2}}.package.let", "2"},
      {"{'a': 1}.in", "error"},
      {"`a`", "error"},
      {"{'a': 1}.``", "error"},
      {"{'a': 1}.`b", "error"},
      {"{'a': 1}.`b$`", "error"},
      {"for", "error"},
      {"let + 1", "error"},
      {"while", "error"},
      {"_a", "error"},
      {"null", "null"},
      {"nulls", "error"},
      {"a.true", "error"},
  });
}

TEST(CelSyntax, ListsMapsAndTrailingCommas) {
  expect_lines({
      {"[]", "[]"},
      {"[1, 2,]", "[1, 2]"},
      {"[,]", "error"},
      {"[1,,2]", "error"},
      {"{}", "{}"},
      {"{'a': 1,}", "{'a': 1}"},
      {"{,}", "error"},
      {"{'a'}", "error"},
      {"{'a': 1, 'a': 2}", "eval: a map cannot hold the same key twice"},
      {"{1: 1, 1u: 2}", "eval: a map cannot hold the same key twice"},
      {"{1.5: 1}", "eval: a key of a map cannot be of type double"},
      {"{null: 1}", "eval: a key of a map cannot be of type null_type"},
      {"{'b': 1, 'a': 2, 3: 4, true: 5}", "{true: 5, 3: 4, 'a': 2, 'b': 1}"},
      {"size([1, 2]", "error"},
      {"size(1,)", "error"},
      {"(1", "error"},
      {"1)", "error"},
  });
}

TEST(CelSyntax, Precedence) {
  expect_lines({
      {"1 + 2 * 3", "7"},
      {"(1 + 2) * 3", "9"},
      {"10 - 4 - 3", "3"},
      {"100 / 10 / 2", "5"},
      {"7 % 4 * 2", "6"},
      {"1 + 2 == 3 && 2 < 3", "true"},
      {"true || false && false", "true"},
      {"!true || true", "true"},
      {"!(true || true)", "false"},
      {"!!true", "true"},
      {"!false == true", "true"},
      {"true ? 1 : false ? 2 : 3", "1"},
      {"false ? 1 : false ? 2 : 3", "3"},
      {"false ? true ? 1 : 2 : 3", "error"},
      {"(false ? 1 : 2) + 3", "5"},
      {"-2 * -3", "6"},
      {"1 < 2 == true", "true"},
      {"2 in [1, 2] == true", "true"},
      {"[1, 2][0] + 1", "2"},
      {"{'a': [{'b': 3}]}.a[0].b", "3"},
      {"1 + ", "error"},
      {"1 2", "error"},
      {"a = b", "error"},
      {"a & b", "error"},
      {"a | b", "error"},
      {"true ? 1", "error"},
      {"# 1", "error"},
      {"", "parse: the expression is empty"},
      {"  ", "parse: the expression is empty"},
  });
}

TEST(CelSyntax, MessagesAreRefused) {
  expect_lines({
      {"google.protobuf.Duration{seconds: 1}", "error"},
      {"a.B{}", "error"},
      {".a.B{`in`: 1}", "error"},
  });
}

std::string repeat(std::string_view part, std::size_t count) {
  std::string out;
  for (std::size_t n = 0; n < count; ++n) out += part;
  return out;
}

TEST(CelSyntax, NestingIsLimited) {
  EXPECT_EQ(show(repeat("(", 249) + "1" + repeat(")", 249)), "1");
  EXPECT_TRUE(show(repeat("(", 250) + "1" + repeat(")", 250)).starts_with("parse: "));
  EXPECT_TRUE(show(repeat("[", 251) + repeat("]", 251)).starts_with("parse: "));
  EXPECT_TRUE(show(repeat("!", 5000) + "true").starts_with("parse: "));
  EXPECT_TRUE(show(repeat("-", 5000) + "object").starts_with("parse: "));
  EXPECT_TRUE(show("1" + repeat(" + 1", 5000)).starts_with("parse: "));
  EXPECT_TRUE(show("object" + repeat(".a", 5000)).starts_with("parse: "));
  EXPECT_TRUE(show(repeat("true ? 1 : ", 300) + "1").starts_with("parse: "));
  EXPECT_EQ(show("1" + repeat(" + 1", 500)), "501");
  // Chains of && and || are flat and have no such limit.
  EXPECT_EQ(show("true" + repeat(" && true", 5000)), "true");
}

TEST(CelSyntax, LengthIsLimited) {
  EXPECT_EQ(show("'" + repeat("\u00e9", 99998) + "' == ''"),
            "parse: the expression is longer than 100000 characters");
  EXPECT_EQ(show("size('" + repeat("\u00e9", 99000) + "')"), "99000");
  EXPECT_TRUE(show(repeat("a", 1 << 20)).starts_with("parse: "));
  EXPECT_TRUE(show(repeat("[1, 2, 3] + ", 1 << 17) + "[]").starts_with("parse: "));
  EXPECT_TRUE(show(repeat("'\u65e5'+", 1 << 19) + "''").starts_with("parse: "));
  EXPECT_TRUE(show("[" + repeat("1,", 49'000) + "].size()").starts_with("49000"));
  EXPECT_TRUE(show(repeat("{'a':", 20'000) + "1" + repeat("}", 20'000)).starts_with("parse: "));
  EXPECT_EQ(show("'\xff'"), "parse: the expression is not valid UTF-8");
}

}  // namespace
}  // namespace kollect::cel
