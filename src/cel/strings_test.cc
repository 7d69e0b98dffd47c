// The strings extension, format(), regex and encoders.
#include "cel/regex.h"
#include "cel/test_support.h"

namespace kollect::cel {
namespace {

using testing_support::expect_lines;

TEST(CelStrings, CharactersAndPlaces) {
  expect_lines({
      {"'tacocat'.charAt(3)", "'o'"},
      {"'tacocat'.charAt(7)", "''"},
      {"'na\u00efve \U0001F350'.charAt(2)", "'\u00ef'"},
      {"'na\u00efve \U0001F350'.charAt(6)", "'\U0001F350'"},
      {"'abc'.charAt(4)", "eval: index out of range"},
      {"'abc'.charAt(-1)", "eval: index out of range"},
      {"'tacocat'.indexOf('ac')", "1"},
      {"'tacocat'.indexOf('')", "0"},
      {"'tacocat'.indexOf('x')", "-1"},
      {"'tacocat'.indexOf('a', 3)", "5"},
      {"'tacocat'.indexOf('a', 7)", "-1"},
      {"'tacocat'.indexOf('', 7)", "7"},
      {"'tacocat'.indexOf('a', 8)", "eval: index out of range"},
      {"'\u00e9\u00e9a'.indexOf('a')", "2"},
      {"''.indexOf('ab')", "-1"},
      {"''.contains('ab')", "false"},
      {"'tacocat'.lastIndexOf('a')", "5"},
      {"'tacocat'.lastIndexOf('')", "7"},
      {"'tacocat'.lastIndexOf('a', 3)", "1"},
      {"'tacocat'.lastIndexOf('', 3)", "3"},
      {"'tacocat'.lastIndexOf('at', 7)", "-1"},
      {"'tacocat'.lastIndexOf('a', -1)", "eval: index out of range"},
      {"'\u00e9\u00e9a\u00e9'.lastIndexOf('\u00e9', 2)", "1"},
      {"'tacocat'.substring(4)", "'cat'"},
      {"'tacocat'.substring(0, 4)", "'taco'"},
      {"'tacocat'.substring(4, 4)", "''"},
      {"'tacocat'.substring(7)", "''"},
      {"'\u00e9\u00ef\u00f6'.substring(1, 2)", "'\u00ef'"},
      {"'tacocat'.substring(8)", "eval: index out of range"},
      {"'tacocat'.substring(4, 3)", "eval: invalid substring range: the end is before the start"},
      {"'a'.charAt('b')", "error"},
  });
}

TEST(CelStrings, Changes) {
  expect_lines({
      {"'TacoCat \u00c9'.lowerAscii()", "'tacocat \u00c9'"},
      {"'TacoCat \u00e9'.upperAscii()", "'TACOCAT \u00e9'"},
      {"'hello hello'.replace('he', 'we')", "'wello wello'"},
      {"'hello hello'.replace('he', 'we', 1)", "'wello hello'"},
      {"'hello hello'.replace('he', 'we', 0)", "'hello hello'"},
      {"'hello hello'.replace('he', 'we', -1)", "'wello wello'"},
      {"'ab'.replace('', '-')", "'-a-b-'"},
      {"'a\u00e9'.replace('', '-')", "'-a-\u00e9-'"},
      {"'ab'.replace('', '-', 2)", "'-a-b'"},
      {"''.replace('', 'x')", "'x'"},
      {"'abc'.replace('b', '')", "'ac'"},
      {"'  a b\\t\\n'.trim()", "'a b'"},
      {"'\\u00a0\\u2003a\\u3000'.trim()", "'a'"},
      {"'\\u200ba'.trim()", "'\u200ba'"},
      {"'   '.trim()", "''"},
      {"'abc'.reverse()", "'cba'"},
      {"'a\u00ef\U0001F350'.reverse()", "'\U0001F350\u00efa'"},
      {"''.reverse()", "''"},
      {"strings.quote('a\"b\\n\\\\')", "'\"a\\\"b\\n\\\\\"'"},
      {"strings.quote('\\a\\b\\f\\r\\t\\v')", "'\"\\a\\b\\f\\r\\t\\v\"'"},
      {"strings.quote('\u00e9')", "'\"\u00e9\"'"},
  });
}

TEST(CelStrings, JoinAndSplit) {
  expect_lines({
      {"['a', 'b'].join()", "'ab'"},
      {"['a', 'b'].join('-')", "'a-b'"},
      {"['', 'b', ''].join('-')", "'-b-'"},
      {"[].join('-')", "''"},
      {"[''].join('-')", "''"},
      {"[1].join()", "error"},
      {"[dyn(1)].join()", "eval: no matching overload: 'join' does not take (list)"},
      {"'a,b,c'.split(',')", "['a', 'b', 'c']"},
      {"'a,b,c'.split(',', 2)", "['a', 'b,c']"},
      {"'a,b,c'.split(',', 1)", "['a,b,c']"},
      {"'a,b,c'.split(',', 0)", "[]"},
      {"'a,b,c'.split(',', -1)", "['a', 'b', 'c']"},
      {"'a,b,c'.split(';')", "['a,b,c']"},
      {"'a\u00efb'.split('')", "['a', '\u00ef', 'b']"},
      {"'abc'.split('', 2)", "['a', 'bc']"},
      {"''.split(',')", "['']"},
      {"''.split('')", "[]"},
      {"',a,'.split(',')", "['', 'a', '']"},
  });
}

TEST(CelStrings, Format) {
  expect_lines({
      {"'%s=%d'.format(['a', 7])", "'a=7'"},
      {"'100%%'.format([])", "'100%'"},
      {"'%s'.format([true])", "'true'"},
      {"'%s'.format([null])", "'null'"},
      {"'%s'.format([1.5])", "'1.5'"},
      {"'%s'.format([123456789.0])", "'123456789'"},
      {"'%s'.format([1e21])", "'1000000000000000000000'"},
      {"'%s'.format([b'xyz'])", "'xyz'"},
      {"'%s'.format([timestamp(0)])", "'1970-01-01T00:00:00Z'"},
      {"'%s'.format([duration('90s')])", "'90s'"},
      {"'%s'.format([int])", "'int'"},
      {"'%s'.format([[1, 'a', null]])", "'[1, a, null]'"},
      {"'%s'.format([{'b': 1, 'a': [2]}])", "'{a: [2], b: 1}'"},
      {"'%d'.format([-7])", "'-7'"},
      {"'%d'.format([7u])", "'7'"},
      {"'%d'.format([0.0/0.0])", "'NaN'"},
      {"'%f'.format([2.5])", "'2.500000'"},
      {"'%.2f'.format([3])", "'3.00'"},
      {"'%.0f'.format([2.5])", "'2'"},
      {"'%.0f'.format([3.5])", "'4'"},
      {"'%e'.format([1234.5])", "'1.234500e+03'"},
      {"'%.1e'.format([0.00012])", "'1.2e-04'"},
      {"'%f'.format([1.0/0.0])", "'Infinity'"},
      {"'%e'.format([-1.0/0.0])", "'-Infinity'"},
      {"'%b'.format([5])", "'101'"},
      {"'%b'.format([-5])", "'-101'"},
      {"'%b'.format([true])", "'1'"},
      {"'%o'.format([8])", "'10'"},
      {"'%x'.format([255])", "'ff'"},
      {"'%X'.format([255u])", "'FF'"},
      {"'%x'.format([-255])", "'-ff'"},
      {"'%x'.format(['hi'])", "'6869'"},
      {"'%X'.format([b'\\xab'])", "'AB'"},
      {"'%b'.format([-9223372036854775808])",
       "'-1000000000000000000000000000000000000000000000000000000000000000'"},
      {"'%d'.format(['a'])", "eval: the formatting clause %d does not take string"},
      {"'%f'.format(['a'])", "eval: the formatting clause %f does not take string"},
      {"'%x'.format([1.5])", "eval: the formatting clause %x does not take double"},
      {"'%o'.format(['a'])", "eval: the formatting clause %o does not take string"},
      {"'%s'.format([optional.of(1)])",
       "eval: the formatting clause %s does not take optional_type"},
      {"'%d'.format([])", "eval: there are fewer arguments than formatting clauses"},
      {"'%a'.format([1])", "eval: there is no such formatting clause"},
      {"'%'.format([1])", "eval: a formatting clause is not complete"},
      {"'%.f'.format([1])", "eval: a formatting clause has a point but no precision"},
      {"'%.9999f'.format([1])", "eval: the precision of a formatting clause is too large"},
      {"'a'.format('b')", "error"},
  });
}

TEST(CelStrings, Regex) {
  expect_lines({
      {"'abc 123'.find('[0-9]+')", "'123'"},
      {"'abc'.find('[0-9]+')", "''"},
      {"'1 22 333'.findAll('[0-9]+')", "['1', '22', '333']"},
      {"'1 22 333'.findAll('[0-9]+', 2)", "['1', '22']"},
      {"'1 22 333'.findAll('[0-9]+', 0)", "[]"},
      {"'1 22'.findAll('[0-9]+', -1)", "['1', '22']"},
      {"'aXb'.findAll('X?')", "['', 'X', '']"},
      {"'\u00e9'.findAll('')", "['', '']"},
      {"'a'.find('(')", "eval: the pattern is not a valid regular expression"},
      {"'a'.matches('\\\\C')",
       "eval: the pattern is not a valid regular expression: \\C is not supported"},
      {"'ab'.matches('(?<x>a)(?P<y>b)')", "true"},
      {"regex.extract('item-A, item-B', 'item-(\\\\w)')", "optional('A')"},
      {"regex.extract('HELLO', 'hello')", "none"},
      {"regex.extract('hello', 'l+')", "optional('ll')"},
      {"regex.extract('', 'a*')", "optional('')"},
      {"regex.extract('b', '(a)?b')", "none"},
      {"regex.extract('ab', '(a)(b)')", "eval: the pattern of extract() has more than one group"},
      {"regex.extractAll('id:123, id:456', 'id:\\\\d+')", "['id:123', 'id:456']"},
      {"regex.extractAll('id:123, id:456', 'id:(\\\\d+)')", "['123', '456']"},
      {"regex.extractAll('x', 'id')", "[]"},
      {"regex.extractAll('ab', '(a)(b)')",
       "eval: the pattern of extractAll() has more than one group"},
      {"regex.replace('hello world', 'l', 'L')", "'heLLo worLd'"},
      {"regex.replace('hello world', 'l', 'L', 2)", "'heLLo world'"},
      {"regex.replace('hello', 'l', 'L', 0)", "'hello'"},
      {"regex.replace('hello', '(', 'L', 0)", "'hello'"},
      {"regex.replace('hello', 'l', 'L', -1)", "'heLLo'"},
      {"regex.replace('a b', '(\\\\w) (\\\\w)', '\\\\2 \\\\1')", "'b a'"},
      {"regex.replace('abc', 'b', '[\\\\0]')", "'a[b]c'"},
      {"regex.replace('abc', 'b', '\\\\\\\\')", "'a\\c'"},
      {"regex.replace('abc', 'b', '\\\\1')",
       "eval: the replacement names a group that the pattern does not have"},
      {"regex.replace('abc', '', '-')", "'-a-b-c-'"},
  });
}

TEST(CelStrings, Base64) {
  expect_lines({
      {"base64.encode(b'hello')", "'aGVsbG8='"},
      {"base64.encode(b'')", "''"},
      {"base64.decode('aGVsbG8=')", "b'68656c6c6f'"},
      {"base64.decode('aGVsbG8')", "b'68656c6c6f'"},
      {"base64.decode('')", "b''"},
      {"base64.decode('+/+/')", "b'fbffbf'"},
      {"base64.decode('aGVs\\nbG8=')", "b'68656c6c6f'"},
      {"base64.decode('a')", "eval: the text is no base64"},
      {"json.encode({'b': [1, 2.5, null, true], 'a': 'x'})",
       "'{\"a\":\"x\",\"b\":[1,2.5,null,true]}'"},
      {"json.encode('')", "'\"\"'"},
      {"json.encode(b'hi')", "'\"aGk=\"'"},
      {"json.encode(duration('90s'))", "'\"90s\"'"},
      {"json.encode({1: 18446744073709551615u})", "'{\"1\":18446744073709551615}'"},
      {"json.encode(optional.none())", "'null'"},
      {"json.encode(0.0/0.0)", "eval: NaN and infinities have no JSON form"},
      {"json.encode(int)", "eval: a result of type type has no JSON form"},
      {"json.encode({1: 1, '1': 2})", "eval: two keys of a map have the same text in JSON"},
      {"base64.decode('a-b_')", "eval: the text is no base64"},
      {"base64.decode('aGVsbG8==')", "eval: the text is no base64"},
      {"base64.encode('a')", "error"},
  });
}

bool found(std::string_view pattern, std::string_view text) {
  std::string error;
  const auto regex = Regex::compile(pattern, error);
  EXPECT_NE(regex, nullptr) << pattern << ": " << error;
  return regex != nullptr && regex->search(text);
}

// RE2 before December 2023 loses a letter when it merges alternatives that differ in case only.
TEST(CelRegex, AlternativesThatDifferInCaseKeepBoth) {
  EXPECT_TRUE(found("^(?:a|[aA])$", "A"));
  EXPECT_TRUE(found("a|[aA]", "A"));
  EXPECT_TRUE(found("^(?:0a|0[aA])$", "0A"));
  EXPECT_TRUE(found("^(?:(?:0a)|(?:0[aA]))$", "0A"));
  EXPECT_TRUE(found("^0(?:a|[aA])$", "0A"));
  EXPECT_TRUE(found("^(?:0[a]|0[aA])$", "0A"));
  EXPECT_TRUE(found("^(?:a|(?i)a)$", "A"));
  EXPECT_TRUE(found("^(?:a|(?i:a))$", "A"));
  EXPECT_TRUE(found("^(?:b|a|[aA])$", "A"));
  EXPECT_FALSE(found("^(?:a|[bB])$", "A"));
}

TEST(CelRegex, ShieldingKeepsPatternsAsTheyAre) {
  EXPECT_EQ(shield_alternatives("a|b"), "a|b");
  EXPECT_EQ(shield_alternatives("[ab]|c"), "[ab]|(?:)c");
  EXPECT_EQ(shield_alternatives("[a|b]"), "[a|b]");
  EXPECT_EQ(shield_alternatives("[]|]x|y"), "[]|]x|(?:)y");
  EXPECT_EQ(shield_alternatives("[^]|]|y"), "[^]|]|(?:)y");
  EXPECT_EQ(shield_alternatives("[[:alpha:]|]|y"), "[[:alpha:]|]|(?:)y");
  EXPECT_EQ(shield_alternatives("[a]\\|b"), "[a]\\|b");
  EXPECT_EQ(shield_alternatives("[a]\\Q|\\E|b"), "[a]\\Q|\\E|(?:)b");
  EXPECT_EQ(shield_alternatives("[a]|*"), "[a]|*");
  EXPECT_EQ(shield_alternatives("[a"), "[a");
  EXPECT_EQ(shield_alternatives("(?<n>a)"), "(?P<n>a)");
  EXPECT_EQ(shield_alternatives("(?i)a|b"), "(?i)a|(?:)b");
}

TEST(CelRegex, HugePatternsEndInAnError) {
  std::string error;
  EXPECT_EQ(Regex::compile("((a{100}){100}){100}", error), nullptr);
  EXPECT_EQ(Regex::compile("a{1001}", error), nullptr);
  EXPECT_EQ(error, "invalid repetition size (at most 1000)");
  // Linear time: the classic trap of backtracking engines.
  EXPECT_FALSE(found("^(a+)+$", std::string(50000, 'a') + "b"));
}

}  // namespace
}  // namespace kollect::cel
