// Chapter "Standard definitions": types, conversions, size and tests of strings.
#include "cel/test_support.h"

namespace kollect::cel {
namespace {

using testing_support::expect_lines;

TEST(CelConversions, ToInt) {
  expect_lines({
      {"int(1)", "1"},
      {"int(5u)", "5"},
      {"int(9223372036854775808u)", "eval: the value is out of the range of int"},
      {"int(-1.9)", "-1"},
      {"int(1.9)", "1"},
      {"int(9223372036854775807.0)", "eval: the value is out of the range of int"},
      {"int(-9223372036854775808.0)", "eval: the value is out of the range of int"},
      {"int(9223372036854774784.0)", "9223372036854774784"},
      {"int(0.0/0.0)", "eval: the value is out of the range of int"},
      {"int(1.0/0.0)", "eval: the value is out of the range of int"},
      {"int('12')", "12"},
      {"int('-9223372036854775808')", "-9223372036854775808"},
      {"int('+3')", "3"},
      {"int('9223372036854775808')", "eval: the text is no int"},
      {"int('12x')", "eval: the text is no int"},
      {"int('0x10')", "eval: the text is no int"},
      {"int(' 1')", "eval: the text is no int"},
      {"int('')", "eval: the text is no int"},
      {"int('+-1')", "eval: the text is no int"},
      {"int('1.0')", "eval: the text is no int"},
      {"int(timestamp(7))", "7"},
      {"int(true)", "error"},
      {"int(dyn(null))", "eval: no matching overload: 'int' does not take (null_type)"},
      {"int()", "error"},
      {"int(1, 2)", "error"},
  });
}

TEST(CelConversions, ToUint) {
  expect_lines({
      {"uint(1)", "1u"},
      {"uint(-1)", "eval: the value is out of the range of uint"},
      {"uint(1.9)", "1u"},
      {"uint(-0.5)", "eval: the value is out of the range of uint"},
      {"uint(18446744073709551616.0)", "eval: the value is out of the range of uint"},
      {"uint('18446744073709551615')", "18446744073709551615u"},
      {"uint('18446744073709551616')", "eval: the text is no uint"},
      {"uint('-1')", "eval: the text is no uint"},
      {"uint(3u)", "3u"},
  });
}

TEST(CelConversions, ToDouble) {
  expect_lines({
      {"double(1)", "1.0"},
      {"double(18446744073709551615u)", "1.8446744073709552e+19"},
      {"double('2.5')", "2.5"},
      {"double('-1e3')", "-1000.0"},
      {"double('.5')", "0.5"},
      {"double('NaN')", "NaN"},
      {"double('Infinity')", "+Inf"},
      {"double('-inf')", "-Inf"},
      {"double('1e400')", "eval: the text is no double"},
      {"double('1e-400')", "0.0"},
      {"double('')", "eval: the text is no double"},
      {"double('abc')", "eval: the text is no double"},
      {"double('1 ')", "eval: the text is no double"},
      {"double(' 1')", "eval: the text is no double"},
      {"double('--1')", "eval: the text is no double"},
  });
}

TEST(CelConversions, ToString) {
  expect_lines({
      {"string('a')", "'a'"},
      {"string(true)", "'true'"},
      {"string(-3)", "'-3'"},
      {"string(3u)", "'3'"},
      {"string(1.0)", "'1'"},
      {"string(1.5)", "'1.5'"},
      {"string(0.1)", "'0.1'"},
      {"string(1e21)", "'1e+21'"},
      {"string(123456789.0)", "'1.23456789e+08'"},
      {"string(100000.0)", "'100000'"},
      {"string(1000000.0)", "'1e+06'"},
      {"string(0.0001)", "'0.0001'"},
      {"string(0.00001)", "'1e-05'"},
      {"string(-0.0)", "'-0'"},
      {"string(0.0/0.0)", "'NaN'"},
      {"string(1.0/0.0)", "'+Inf'"},
      {"string(b'abc')", "'abc'"},
      {"string(b'\\xff')", "eval: the bytes are no valid UTF-8"},
      {"string(duration('1h30m'))", "'5400s'"},
      {"string(duration('-1500ms'))", "'-1.5s'"},
      {"string(timestamp('2026-02-03T04:05:06.5+02:00'))", "'2026-02-03T02:05:06.5Z'"},
      {"string(null)", "error"},
      {"string([1])", "error"},
  });
}

TEST(CelConversions, ToBytesBoolDynType) {
  expect_lines({
      {"bytes('\u00e9')", "b'c3a9'"},
      {"bytes(b'a')", "b'61'"},
      {"bytes(1)", "error"},
      {"bool('true')", "true"},
      {"bool('t')", "true"},
      {"bool('1')", "true"},
      {"bool('TRUE')", "true"},
      {"bool('True')", "true"},
      {"bool('false')", "false"},
      {"bool('F')", "false"},
      {"bool('0')", "false"},
      {"bool('yes')", "eval: the text is no bool"},
      {"bool('tRUE')", "eval: the text is no bool"},
      {"bool(1)", "error"},
      {"dyn([1, 'a'])", "[1, 'a']"},
      {"type(1)", "int"},
      {"type(1u)", "uint"},
      {"type(1.0)", "double"},
      {"type('a')", "string"},
      {"type(b'a')", "bytes"},
      {"type(true)", "bool"},
      {"type(null)", "null_type"},
      {"type([1])", "list"},
      {"type({})", "map"},
      {"type(type(1))", "type"},
      {"type(timestamp(0))", "google.protobuf.Timestamp"},
      {"type(duration('1s')) == google.protobuf.Duration", "true"},
      {"type(int) == type", "true"},
      {"type(1) == type(2)", "true"},
      {"type(1) != type(1u)", "true"},
  });
}

TEST(CelConversions, SizeCountsCodePoints) {
  expect_lines({
      {"size('')", "0"},
      {"size('abc')", "3"},
      {"size('na\u00efve \U0001F350')", "7"},
      {"'abc'.size()", "3"},
      {"size(b'\u00e9')", "2"},
      {"b'abc'.size()", "3"},
      {"size([1, 2])", "2"},
      {"[].size()", "0"},
      {"size({'a': 1})", "1"},
      {"size(1)", "error"},
      {"size(dyn(null))", "eval: no matching overload: 'size' does not take (null_type)"},
  });
}

TEST(CelConversions, TestsOfStrings) {
  expect_lines({
      {"'abc'.contains('b')", "true"},
      {"'abc'.contains('')", "true"},
      {"'abc'.contains('d')", "false"},
      {"'abc'.startsWith('ab')", "true"},
      {"'abc'.startsWith('b')", "false"},
      {"'abc'.endsWith('bc')", "true"},
      {"'abc'.endsWith('abcd')", "false"},
      {"'abc'.matches('^a.c$')", "true"},
      {"'abc'.matches('b')", "true"},
      {"matches('abc', '^b')", "false"},
      {"'abc'.matches('(')", "eval: the pattern is not a valid regular expression"},
      {"'abc'.matches('a{1001}')", "eval: invalid repetition size (at most 1000)"},
      {"'\u00e9'.matches('^.$')", "true"},
      {"'a\\nb'.matches('a.b')", "false"},
      {"'A'.matches('(?i)a')", "true"},
      {"contains('abc', 'b')", "error"},
      {"'abc'.contains(1)", "error"},
      {"dyn(1).contains('a')",
       "eval: no matching overload: 'contains' does not take (int, string)"},
  });
}

}  // namespace
}  // namespace kollect::cel
