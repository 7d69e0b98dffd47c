// Chapter "Gradual type checking": inferred types, errors with suggestions.
#include "cel/cel.h"
#include "cel/test_support.h"
#include "cel/types.h"

namespace kollect::cel {
namespace {

/// The static type, or the first line of the error.
std::string type_of(std::string_view expression) {
  Environment environment;
  environment.variables = {{"object", "dyn"},
                           {"s", "string"},
                           {"n", "int"},
                           {"l", "list(string)"},
                           {"m", "map(string, int)"},
                           {"o", "optional_type(int)"},
                           {"t", "timestamp"},
                           {"labels", "map(string, string)"}};
  const auto program = Program::compile(expression, environment);
  if (program) return program->result_type();
  EXPECT_EQ(program.error().phase, CompileError::Phase::kCheck) << expression;
  return program.error().message.substr(0, program.error().message.find(" (line "));
}

TEST(CelChecker, InfersTypes) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"1", "int"},
      {"object.a", "dyn"},
      {"s + 'a'", "string"},
      {"l[0]", "string"},
      {"m.x", "int"},
      {"m['x']", "int"},
      {"o.orValue(1)", "int"},
      {"m.?x", "optional_type(int)"},
      {"l[?0]", "optional_type(string)"},
      {"t - t", "duration"},
      {"t + duration('1s')", "timestamp"},
      {"[1, 2]", "list(int)"},
      {"[1, 'a']", "list(dyn)"},
      {"[]", "list(dyn)"},
      {"[1, object]", "list(dyn)"},
      {"[[], [1]]", "list(list(int))"},
      {"{'a': 1}", "map(string, int)"},
      {"{'a': 1, 'b': 'c'}", "map(string, dyn)"},
      {"{}", "map(dyn, dyn)"},
      {"l.map(x, size(x))", "list(int)"},
      {"l.filter(x, x == 'a')", "list(string)"},
      {"m.map(k, m[k])", "list(int)"},
      {"l.transformMap(i, v, v)", "map(int, string)"},
      {"m.transformMapEntry(k, v, {v: k})", "map(int, string)"},
      {"l.all(x, x == 'a')", "bool"},
      {"true ? n : 2", "int"},
      {"true ? object.a : 2", "dyn"},
      {"n == 1 || s == 'a'", "bool"},
      {"type(1)", "type(int)"},
      {"type([1])", "type(list(int))"},
      {"int", "type(int)"},
      {"list", "type(list(dyn))"},
      {"google.protobuf.Timestamp", "type(timestamp)"},
      {"type(int)", "type(type(int))"},
      {"type(1) == uint", "bool"},
      {"[int, bool]", "list(type(dyn))"},
      {"[type([]), int]", "list(type(dyn))"},
      {"[int, int]", "list(type(int))"},
      {"true ? type(1) : type(1u)", "type(dyn)"},
      {"[[type(1)], [type(1u)]]", "list(list(type(dyn)))"},
      {"[o, optional.of(object)]", "list(optional_type(dyn))"},
      {"[null, o]", "list(optional_type(int))"},
      {"[{'a': 1}, {'a': object}]", "list(map(string, dyn))"},
      {"optional.none().or(o)", "optional_type(int)"},
      {"o.optMap(x, string(x))", "optional_type(string)"},
      {"cel.bind(x, l, x[0])", "string"},
      {"s.split(',')", "list(string)"},
      {"[3, 1].sort()", "list(int)"},
      {"l.sortBy(x, size(x))", "list(string)"},
      {"math.greatest(1, 2)", "int"},
      {"math.greatest(1, 2.0)", "dyn"},
      {"math.greatest(object.a, 2.0)", "dyn"},
      {"math.least([object.a, 1])", "dyn"},
      {"[][0] - duration('1s')", "dyn"},
      {"math.floor(math.abs([][0]))", "double"},
      {"[].map(x, x + 1)", "list(int)"},
      {"[].sum()", "dyn"},
      {"[1.5].sum()", "double"},
      {"[[1], [2]].flatten()", "list(int)"},
      {"quantity('1')", "kubernetes.Quantity"},
      {"l.first()", "optional_type(string)"},
      {"1 < 2.0", "bool"},
      {"null", "null"},
      {"true ? null : t", "timestamp"},
  };
  for (const auto& [expression, type] : cases) EXPECT_EQ(type_of(expression), type) << expression;
}

TEST(CelChecker, SaysWhatIsWrong) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"objekt.spec", "there is no variable 'objekt', did you mean 'object'?"},
      {"lables.x", "there is no variable 'lables', did you mean 'labels'?"},
      {"zzz", "there is no variable 'zzz'"},
      {"s.startWith('a')", "there is no function 'startWith', did you mean 'startsWith'?"},
      {"sizes(s)", "there is no function 'sizes', did you mean 'size'?"},
      {"contains(s, 'a')", "'contains' is called as x.contains(), not as contains(x)"},
      {"s.type()", "'type' is called as type(x), not as x.type()"},
      {"s + 1", "'+' does not take (string, int)"},
      {"s.contains(n)", "'contains' does not take (string, int)"},
      {"n.foo", "a value of type int has no field 'foo'"},
      {"l.foo", "a value of type list(string) has no field 'foo'"},
      {"{1: 2}.foo", "field 'foo' of a map whose keys are int"},
      {"l['a']", "'[]' does not take (list(string), string)"},
      {"n && true", "an operand of '&&' must be bool, not int"},
      {"s ? 1 : 2", "the condition of '? :' must be bool, not string"},
      {"true ? 1 : 'a'",
       "the branches of '? :' are of different types, int and string; dyn() helps"},
      {"n.all(x, true)", "a macro goes over a list or a map, not over int"},
      {"l.all(x, size(x))", "the condition of a macro must be bool, not int"},
      {"l.map(x, x + 1)", "'+' does not take (string, int)"},
      {"[[1]].sort()", "'sort' does not take (list(list(int)))"},
      {"[m].isSorted()", "'isSorted' does not take (list(map(string, int)))"},
      {"l.sortBy(x, [x])", "sortBy() needs a key that has an order, not list(string)"},
      {"[?n]", "an element with '?' must be optional, not int"},
      {"n.optMap(x, x)", "the receiver must be optional, not int"},
      {"o.optFlatMap(x, x)", "the body of optFlatMap() must be optional"},
      {"s == 1", "'==' does not take (string, int)"},
      {"1 in l", "'in' does not take (int, list(string))"},
      {"a.B{}", "'a.B{…}': literals of messages are not supported"},
      {"cel.bind(x, 1, x + 'a')", "'+' does not take (int, string)"},
  };
  for (const auto& [expression, text] : cases) EXPECT_EQ(type_of(expression), text) << expression;
}

TEST(CelChecker, TheStaticTypeDecidesWhatAnEmptySumIs) {
  using testing_support::show;
  EXPECT_EQ(show("[1.0].filter(x, false).sum()"), "0.0");
  EXPECT_EQ(show("[1u].filter(x, false).sum()"), "0u");
  EXPECT_EQ(show("[duration('1s')].filter(x, false).sum()"), "duration(0s)");
  EXPECT_EQ(show("[1].filter(x, false).sum()"), "0");
  EXPECT_EQ(show("dyn([1.0]).filter(x, false).sum()"), "0");
  EXPECT_EQ(show("[1.0].filter(x, false).sum()", false), "0");
}

TEST(CelChecker, DeclaredTypesAreRead) {
  Arena arena;
  for (const std::string_view text :
       {"dyn", "bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration", "null",
        "type(dyn)", "type(list(int))", "list(string)", "map(string, list(int))",
        "optional_type(int)", "net.IP"}) {
    const Type* type = parse_type(text, arena);
    ASSERT_NE(type, nullptr) << text;
    EXPECT_EQ(to_string(type), text);
  }
  EXPECT_EQ(to_string(parse_type("list", arena)), "list(dyn)");
  EXPECT_EQ(to_string(parse_type("map", arena)), "map(dyn, dyn)");
  EXPECT_EQ(to_string(parse_type("type", arena)), "type(dyn)");
  EXPECT_EQ(to_string(parse_type("google.protobuf.Timestamp", arena)), "timestamp");
  for (const std::string_view text : {"", "foo", "list(", "list(int", "list(int,int)", "map(int)",
                                      "int(int)", "A", "list(int) x", "map(,)"}) {
    EXPECT_EQ(parse_type(text, arena), nullptr) << text;
  }
  const auto wrong = Program::compile("1", {.variables = {{"x", "strng"}}, .container = {}});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().phase, CompileError::Phase::kCheck);
}

TEST(CelChecker, DeclaredFunctionsAreChecked) {
  Environment environment;
  environment.variables = {{"n", "int"}};
  environment.container = "space";
  environment.functions = {
      {"tuple", "A, B, C -> tuple(A, B, C)"},
      {"same", "tuple(A, A, A) -> A"},
      {"cast", "dyn, type(A) -> A"},
      {"item", "type(list(A)) -> A"},
      {"space.f", "int -> string; string -> int"},
      {"size", "string -> string"},
  };
  const auto type = [&](std::string_view expression) {
    const auto program = Program::compile(expression, environment);
    return program ? program->result_type()
                   : program.error().message.substr(0, program.error().message.find(" (line "));
  };
  EXPECT_EQ(type("tuple(1, 2u, 'x')"), "tuple(int, uint, string)");
  EXPECT_EQ(type("[tuple(1, 2, 3), tuple(1, dyn(2), 3)]"), "list(tuple(int, dyn, int))");
  EXPECT_EQ(type("same(tuple(1, dyn(2), 3))"), "dyn");
  EXPECT_EQ(type("same(tuple(1, 2, 3))"), "int");
  EXPECT_EQ(type("same(tuple(1, 'a', 3))"), "'same' does not take (tuple(int, string, int))");
  EXPECT_EQ(type("cast('1', int)"), "int");
  EXPECT_EQ(type("item(type([1u]))"), "uint");
  EXPECT_EQ(type("f(n)"), "string");
  EXPECT_EQ(type("space.f('a')"), "int");
  EXPECT_EQ(type(".space.f(1)"), "string");
  EXPECT_EQ(type("size('a')"), "string");  // goes before the one of the language
  EXPECT_EQ(type("f(1.0)"), "'space.f' does not take (double)");
  const auto program = Program::compile("f(n) == ''", environment);
  const auto number = base::json::Document::parse("1");
  const auto outcome = program->evaluate({{"n", number->root()}});
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().message, "the function 'space.f' is only declared (line 1, column 1)");
  environment.functions = {{"f", "int"}};
  EXPECT_EQ(type("f(1)"), "'int', declared for the function 'f', is no signature");
}

TEST(CelChecker, CaretStandsBelowTheColumn) {
  const auto program = Program::compile("'\u00e9\u00e9' + object.x ==\n  lalala",
                                        {.variables = {{"object"}}, .container = {}});
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().line, 2U);
  EXPECT_EQ(program.error().column, 3U);
  EXPECT_EQ(program.error().message,
            "there is no variable 'lalala' (line 2, column 3)\n |   lalala\n |   ^");
}

TEST(CelChecker, LongLinesAreCutAroundTheColumn) {
  const std::string text = std::string(300, ' ') + "foo" + std::string(300, ' ');
  const auto program = Program::compile(text, {});
  ASSERT_FALSE(program.has_value());
  const std::string& message = program.error().message;
  EXPECT_EQ(program.error().column, 301U);
  EXPECT_LT(message.size(), 400U);
  const auto lines = message.substr(message.find('\n') + 1);
  const auto middle = lines.find('\n');
  const std::string source = lines.substr(0, middle);
  const std::string caret = lines.substr(middle + 1);
  // The dots at the cut are one character of three bytes.
  EXPECT_EQ(source.find("foo") - 2, caret.find('^'));
}

}  // namespace
}  // namespace kollect::cel
