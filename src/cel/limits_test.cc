// Cost, memory and size of results (spec: E-11), conversion to JSON (spec: extraction 4).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/json/write.h"
#include "cel/cel.h"
#include "cel/test_support.h"

namespace kollect::cel {
namespace {

namespace json = base::json;
using testing_support::show;

Environment environment_with_object() {
  Environment environment;
  environment.variables = {{"object", "dyn"}};
  return environment;
}

/// Canonical JSON, "absent", "limit" or the error.
std::string to_json(std::string_view expression, std::string_view object = "{}",
                    std::size_t max_bytes = 256U << 10U) {
  const auto program = Program::compile(expression, environment_with_object());
  if (!program) return "compile: " + program.error().message;
  const auto document = json::Document::parse(object);
  const auto outcome = program->evaluate({{"object", document->root()}}, max_bytes);
  if (!outcome) return outcome.error().limit ? "limit" : "error: " + outcome.error().message;
  return outcome->value ? json::canonical(*outcome->value) : "absent";
}

TEST(CelLimits, CostEndsLoops) {
  const std::string_view costly[] = {
      "lists.range(100000).map(x, lists.range(100000).map(y, x * y))",
      "lists.range(2000000)",
      "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, true)))",
      "lists.range(1000).exists(a, lists.range(2000).exists(b, a + b < 0)) || true",
      "lists.range(3000).map(x, string(x)).distinct()",
      "sets.equivalent(lists.range(3000), lists.range(3000).reverse())",
      "lists.range(100000).map(x, x in lists.range(100000))",
      "lists.range(100000).transformMap(i, v, lists.range(100000))",
  };
  for (const auto expression : costly) {
    EXPECT_TRUE(show(expression).starts_with("limit: "))
        << expression << " gave " << show(expression).substr(0, 200);
  }
}

TEST(CelLimits, MemoryEndsGrowth) {
  std::string doubling = "'0123456789'";
  for (int n = 0; n < 40; ++n) doubling = "cel.bind(s, " + doubling + ", s + s)";
  EXPECT_TRUE(show(doubling + ".size() > 0").starts_with("limit: "));
  std::string lists = "[1, 2]";
  for (int n = 0; n < 40; ++n) lists = "cel.bind(s, " + lists + ", s + s)";
  EXPECT_TRUE(show(lists).starts_with("limit: "));
  std::string replaced = "'aaaaaaaaaa'";
  for (int n = 0; n < 12; ++n) replaced += ".replace('a', 'aaaaaaaaaa')";
  EXPECT_TRUE(show(replaced).starts_with("limit: "));
  EXPECT_TRUE(show("'%1000000f'.format([1])").starts_with("eval: "));
}

/// A list that holds another twice, that one another twice, and so on: 2^59 elements in the space
/// of 60 lists. `last` may use it as cel.index(59).
std::string doubled(std::string_view last) {
  std::string text = "cel.block([1";
  for (int n = 0; n < 59; ++n) text += fmt::format(", [cel.index({0}), cel.index({0})]", n);
  return text + "], " + std::string(last) + ")";
}

TEST(CelLimits, ListsThatHoldAnotherManyTimes) {
  const std::string_view walks[] = {
      "cel.index(59) == cel.index(59)",
      "cel.index(59) in [cel.index(59)]",
      "optional.of(cel.index(59)) == optional.of(cel.index(59))",
      "{'a': cel.index(59)} == {'a': cel.index(59)}",
      "[cel.index(59), cel.index(59)].distinct().size() == 1",
      "sets.contains([cel.index(59)], [cel.index(59)])",
      "[cel.index(59)].indexOf(cel.index(59)) == 0",
      "cel.index(59).flatten(60).size() == 1",
      "'%s'.format([cel.index(59)]) == ''",
      "cel.index(59) == cel.index(59) || true",
  };
  for (const auto walk : walks) {
    EXPECT_TRUE(show(doubled(walk)).starts_with("limit: ")) << walk;
    EXPECT_TRUE(show(doubled(walk), false).starts_with("limit: ")) << walk;
  }
  EXPECT_EQ(to_json(doubled("cel.index(59)")), "limit");
  EXPECT_TRUE(to_json(doubled("json.encode(cel.index(59))")).starts_with("error: "));
}

TEST(CelLimits, TypesThatHoldAnotherManyTimes) {
  // {x: x} doubles the type of x.
  const auto nested = [](std::string_view step, std::string_view last) {
    std::string text = "cel.block([1";
    for (int n = 0; n < 59; ++n) text += ", " + fmt::format(fmt::runtime(step), n);
    return text + "], " + std::string(last) + ")";
  };
  constexpr std::string_view kMap = "{{cel.index({0}): cel.index({0})}}";
  constexpr std::string_view kOptional = "optional.of({{cel.index({0}): cel.index({0})}})";
  EXPECT_EQ(show(nested(kMap, "true || cel.index(59) == cel.index(59)")), "true");
  EXPECT_EQ(show(nested(kMap, "true ? 1 : [cel.index(59), cel.index(58)].size()")), "1");
  EXPECT_EQ(show(nested(kOptional, "true ? 1 : [cel.index(59), cel.index(59)].size()")), "1");
  // A type of a few levels is told in full, one of many is cut.
  const std::string told = show(nested(kMap, "cel.index(7) + 1"));
  EXPECT_TRUE(told.starts_with("check: '+' does not take (map(map(")) << told.substr(0, 100);
  EXPECT_LT(told.size(), 3000U);
  EXPECT_LT(show(nested(kMap, "cel.index(59) + 1")).size(), 3000U);
  // Open types, each a map from the next one to itself.
  std::string open = "cel.block([[]";
  for (int n = 0; n < 59; ++n) {
    open += fmt::format(", [cel.index({0})[0], {{[][0]: [][0]}}]", n);
  }
  const std::string result = show(open + "], true || cel.index(59) == cel.index(59))");
  EXPECT_TRUE(result == "true" || result == "check: the types of the expression are too large")
      << result;
}

TEST(CelLimits, WorkOnLargeValuesIsCharged) {
  // Each walks a large value in every round and has an answer that lets the loop go on.
  const std::string_view rounds[] = {
      "double(object.n) == 1.0",
      "int(object.n) == 1",
      "timestamp(object.s) == timestamp(0)",
      "duration(object.n + 's') == duration('1s')",
      "object.s.charAt(99999) == 'b'",
      "object.s.substring(99998) == 'b'",
      "object.s.matches(object.s + '*b')",
      "'a'.matches(object.s + '(')",
      "isQuantity(object.n) && false",
      "isURL(object.s)",
      "isSemver(object.n)",
      "url('http://a/' + object.s) == url('http://b/' + object.s)",
      "object.s.lastIndexOf(object.s + 'b') == 0",
      "'%s%d'.format([object.s, 'x']) == ''",
      "json.encode([object.s, 0.0 / 0.0]) == ''",
      "[object.s, 1].join() == 'x'",
      "optional.of(object.s) != optional.of(object.s)",
      "[object.s] != [object.s]",
      "object.texts != object.texts",
      "{'a': object.texts} != {'a': object.texts}",
      "object.many.zz == 1",
      "has(object.many.zz)",
      "'zz' in object.many",
      "object.many['zz'] == 1",
      "object.many[?'zz'].hasValue()",
      "object.many.?zz.hasValue()",
      "object.list[9999] == 5",
      "object.list.last() == optional.of(-2)",
      "object.list.slice(9999, 10000) == []",
      "object.list != object.list",
      "object.many != object.many",
      "object.mixed.sort() == []",
  };
  std::string many;
  std::string list;
  for (int n = 0; n < 10'000; ++n) {
    many += fmt::format("\"k{0}\":{0},", n);
    list += fmt::format("{},", n);
  }
  const std::string text(100'000, 'a');
  const std::string object = fmt::format(
      R"({{"s":"{}","n":"{}","texts":{{"a":["{}"]}},"many":{{{}"end":0}},"list":[{}-1],"mixed":[{}"x"]}})",
      text, std::string(100'000, '1'), text, many, list, list);
  for (const auto round : rounds) {
    // 160,000 rounds of the cheapest kind fit the budget.
    const std::string loop = fmt::format("lists.range(100000).exists(x, {})", round);
    const std::string result = show(loop, true, object);
    EXPECT_TRUE(result.starts_with("limit: ")) << round << " gave " << result.substr(0, 200);
  }
}

TEST(CelLimits, SearchesTakeTimeOfTheSumOfLengths) {
  const std::string object =
      fmt::format(R"({{"s":"{}","part":"{}b","back":"b{}"}})", std::string(1'000'000, 'a'),
                  std::string(500'000, 'a'), std::string(500'000, 'a'));
  EXPECT_EQ(show("object.s.contains(object.part)", true, object), "false");
  EXPECT_EQ(show("object.s.indexOf(object.part)", true, object), "-1");
  EXPECT_EQ(show("object.s.lastIndexOf(object.back)", true, object), "-1");
  EXPECT_EQ(show("object.s.split(object.part).size()", true, object), "1");
  EXPECT_EQ(show("object.s.replace(object.part, '').size()", true, object), "1000000");
  EXPECT_EQ(show("(object.s + object.part + 'c').lastIndexOf(object.part)", true, object),
            "1000000");
  EXPECT_EQ(show("(object.part + 'c').lastIndexOf(object.part, 0)", true, object), "0");
  EXPECT_EQ(show("('c' + object.part).lastIndexOf(object.part, 0)", true, object), "-1");
  EXPECT_EQ(show("(object.back + object.back).lastIndexOf(object.back, 500000)", true, object),
            "0");
  EXPECT_EQ(show("(object.back + object.back).lastIndexOf(object.back, 500001)", true, object),
            "500001");
}

TEST(CelLimits, PatternsThatAreCatastrophicElsewhereAreNot) {
  const std::string many(50'000, 'a');
  for (const std::string pattern :
       {"(a+)+$", "(a|aa)+$", "^(a|a?)+$", "(.*a){12}$", "^(([a-z])+.)+[A-Z]([a-z])+$"}) {
    const std::string object = R"({"s":")" + many + "!\"}";
    EXPECT_EQ(show("object.s.matches('" + pattern + "')", true, object), "false") << pattern;
    EXPECT_EQ(show("object.s.find('" + pattern + "')", true, object), "''") << pattern;
  }
  EXPECT_TRUE(show("'a'.matches('((((a{100}){100}){100}){100}){100}')").starts_with("eval: "));
  EXPECT_TRUE(show("'a'.matches('a{1001}')").starts_with("eval: "));
  EXPECT_TRUE(show("'a'.matches('(?=a)')").starts_with("eval: "));
  EXPECT_TRUE(show("'aa'.matches('(a)\\\\1')").starts_with("eval: "));
}

TEST(CelLimits, LimitsAreNotAbsorbed) {
  EXPECT_TRUE(show("lists.range(2000000).size() == 1 || true").starts_with("limit: "));
  EXPECT_TRUE(show("lists.range(2000000).size() == 1 && false").starts_with("limit: "));
  EXPECT_TRUE(
      show("[1, 2].exists(x, x == 2 || lists.range(2000000).size() == 1)").starts_with("limit: "));
  EXPECT_TRUE(show("cel.bind(x, lists.range(2000000), 1)").starts_with("limit: "));
}

TEST(CelLimits, TheLimitIsThatOfTheEnvironment) {
  Environment environment = environment_with_object();
  environment.cost_limit = 100;
  const auto program = Program::compile("object.l.map(x, x + 1).size()", environment);
  ASSERT_TRUE(program.has_value());
  const auto small = json::Document::parse(R"({"l":[1,2,3]})");
  const auto outcome = program->evaluate({{"object", small->root()}});
  ASSERT_TRUE(outcome.has_value());
  EXPECT_GT(outcome->cost, 5U);
  EXPECT_LT(outcome->cost, 50U);
  std::string text = R"({"l":[1)";
  for (int n = 0; n < 1000; ++n) text += ",1";
  const auto large = json::Document::parse(text + "]}");
  const auto failed = program->evaluate({{"object", large->root()}});
  ASSERT_FALSE(failed.has_value());
  EXPECT_TRUE(failed.error().limit);
}

TEST(CelLimits, TheStaticEstimateGrowsWithLoops) {
  const auto estimate = [](std::string_view expression, std::uint64_t size) {
    const auto program = Program::compile(expression, environment_with_object());
    EXPECT_TRUE(program.has_value()) << expression;
    return program->estimate_cost(size);
  };
  EXPECT_EQ(estimate("object.a.b", 100).max, 3U);
  EXPECT_EQ(estimate("object.a.b", 100).min, 3U);
  EXPECT_LT(estimate("true || object.l.all(x, x > 1)", 100).min, 10U);
  const auto once = estimate("object.l.all(x, x > 1)", 1000).max;
  const auto twice = estimate("object.l.all(x, object.l.all(y, x > y))", 1000).max;
  EXPECT_GT(once, 1000U);
  EXPECT_GT(twice, once * 500);
  EXPECT_EQ(estimate("lists.range(5).all(x, true)", 1000).max,
            estimate("lists.range(5).all(x, true)", 7).max);
  std::string deep = "true";
  for (int n = 0; n < 30; ++n) deep = "object.l.all(x, " + deep + ")";
  EXPECT_EQ(estimate(deep, 1000).max, UINT64_MAX);
}

TEST(CelLimits, ResultsHaveASize) {
  EXPECT_EQ(to_json("object.s", R"({"s":"0123456789"})", 12 + 1), "\"0123456789\"");
  EXPECT_EQ(to_json("object.s", R"({"s":"0123456789"})", 8), "limit");
  EXPECT_EQ(to_json("object", R"({"s":[1,2,3,4,5,6,7,8,9]})", 8), "limit");
  EXPECT_EQ(to_json("lists.range(100000)"), "limit");
}

TEST(CelJson, EveryKindHasItsForm) {
  EXPECT_EQ(to_json("[1, 2u, 1.5, true, null, 'a', b'a']"), R"([1,2,1.5,true,null,"a","YQ=="])");
  EXPECT_EQ(to_json("18446744073709551615u"), "18446744073709551615");
  EXPECT_EQ(to_json("timestamp('2026-01-01T00:30:00.50+02:00')"), R"("2025-12-31T22:30:00.5Z")");
  EXPECT_EQ(to_json("duration('-1h2m3.004s')"), R"("-3723.004s")");
  EXPECT_EQ(to_json("{1: 'a', true: 'b', 'c': null, 2u: 'd'}"),
            R"({"1":"a","2":"d","c":null,"true":"b"})");
  EXPECT_EQ(to_json("{1: 'a', '1': 'b'}"), "error: two keys of a map have the same text in JSON");
  EXPECT_EQ(to_json("optional.of(optional.of(1))"), "1");
  EXPECT_EQ(to_json("optional.none()"), "absent");
  EXPECT_EQ(to_json("[optional.none(), optional.of(1)]"), "[null,1]");
  EXPECT_EQ(to_json("{'a': optional.none()}"), R"({"a":null})");
  EXPECT_EQ(to_json("0.0/0.0"), "error: NaN and infinities have no JSON form");
  EXPECT_EQ(to_json("[1.0/0.0]"), "error: NaN and infinities have no JSON form");
  EXPECT_EQ(to_json("type(1)"), "error: a result of type type has no JSON form");
  EXPECT_EQ(to_json("[type(1)]"), "error: a result of type type has no JSON form");
  EXPECT_EQ(
      to_json(
          "[quantity('1024Mi'), ip('0::1'), cidr('10.0.0.1/8'), semver('v1', true), url('/a')]"),
      R"(["1Gi","::1","10.0.0.1/8","1.0.0","/a"])");
  // Reading a number beyond doubles fails the object, other members do not (spec: E-35).
  EXPECT_EQ(to_json("object.x", R"({"x":1e400})"), "limit");
  EXPECT_EQ(to_json("object.x > 1 || true", R"({"x":1e400})"), "limit");
  EXPECT_EQ(to_json("object['x'] > 1", R"({"x":1e400})"), "limit");
  EXPECT_EQ(to_json("object.l.exists(n, n > 1)", R"({"l":[1e400]})"), "limit");
  EXPECT_EQ(to_json("object", R"({"x":[1e400]})"), "limit");
  EXPECT_EQ(to_json("object.y", R"({"x":1e400,"y":1})"), "1");
  EXPECT_EQ(to_json("has(object.x)", R"({"x":1e400})"), "true");
}

TEST(CelJson, IntegersKeepEveryDigit) {
  // field-integers-past-2-to-53
  const std::string object =
      R"({"spec":{"odd":9007199254740993,"max":9223372036854775807,"umax":18446744073709551615}})";
  EXPECT_EQ(to_json("object.spec.odd", object), "9007199254740993");
  EXPECT_EQ(to_json("object.spec.odd == 9007199254740993", object), "true");
  EXPECT_EQ(to_json("object.spec.odd == 9007199254740992", object), "false");
  EXPECT_EQ(to_json("object.spec", object),
            R"({"max":9223372036854775807,"odd":9007199254740993,"umax":18446744073709551615})");
}

TEST(CelErrors, NeverHoldValuesOfTheObject) {
  const std::string object =
      R"({"a":"top-secret","l":["top-secret"],"m":{"top-secret":1},"n":424242})";
  const std::string_view failing[] = {"object.a + 1",
                                      "int(object.a)",
                                      "timestamp(object.a)",
                                      "duration(object.a)",
                                      "object.m[object.n]",
                                      "object.m[object.a + 'x']",
                                      "object.l[object.n]",
                                      "object.a.matches(object.a + '(')",
                                      "quantity(object.a)",
                                      "ip(object.a)",
                                      "cidr(object.a)",
                                      "url(object.a)",
                                      "semver(object.a)",
                                      "object.a.foo",
                                      "object.a.substring(object.n)",
                                      "base64.decode(object.a)",
                                      "bool(object.a)",
                                      "double(object.a)",
                                      "object.l.map(x, x + 1)",
                                      "'%d'.format([object.a])",
                                      "object.a.charAt(object.n)",
                                      "object.a ? 1 : 2",
                                      "!object.a",
                                      "timestamp(0).getHours(object.a)",
                                      "{object.l: 1}",
                                      "object.l.slice(object.n, object.n + 1)"};
  for (const auto expression : failing) {
    const std::string result = show(expression, true, object);
    EXPECT_TRUE(result.starts_with("eval: ")) << expression << " gave " << result;
    EXPECT_EQ(result.find("top-secret"), std::string::npos) << expression << " gave " << result;
    EXPECT_EQ(result.find("424242"), std::string::npos) << expression << " gave " << result;
  }
}

TEST(CelProgram, ConditionsMustBeBool) {
  const auto document = json::Document::parse(R"({"a":1,"t":true})");
  const auto condition = [&](std::string_view expression) {
    const auto program = Program::compile(expression, environment_with_object());
    EXPECT_TRUE(program.has_value());
    const auto result = program->evaluate_bool({{"object", document->root()}});
    return result ? (*result ? std::string("true") : std::string("false")) : result.error().message;
  };
  EXPECT_EQ(condition("object.t"), "true");
  EXPECT_EQ(condition("object.a == 2"), "false");
  EXPECT_EQ(condition("object.a"), "the condition must be bool, not int");
  EXPECT_EQ(condition("object.b"), "no such key: 'b' (line 1, column 8)");
}

TEST(CelProgram, ThreadsShareIt) {
  const auto program = Program::compile(
      "object.l.filter(x, x > 1).map(x, string(x) + '/' + "
      "'a,b'.split(',')[0]).join('-').find('[0-9]+/a') + "
      "string(timestamp(0).getHours('Europe/Berlin')) + string(object.zz)",
      environment_with_object());
  const auto fine =
      Program::compile("object.l.map(x, x * 2).filter(x, 'a2'.matches('[a-z]' + string(x)))",
                       environment_with_object());
  ASSERT_TRUE(program.has_value() && fine.has_value());
  const auto document = json::Document::parse(R"({"l":[1,2,3]})");
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int n = 0; n < 4; ++n) {
      threads.emplace_back([&] {
        for (int round = 0; round < 50; ++round) {
          const auto failed = program->evaluate({{"object", document->root()}});
          const auto result = fine->evaluate({{"object", document->root()}});
          if (!failed && result && json::canonical(*result->value) == "[2]") ++right;
        }
      });
    }
  }
  EXPECT_EQ(right, 200);
}

TEST(CelProgram, MissingBindingsAreErrorsOnlyWhenUsed) {
  const auto used = Program::compile("object.a", environment_with_object());
  const auto unused = Program::compile("1", environment_with_object());
  ASSERT_TRUE(used.has_value() && unused.has_value());
  EXPECT_FALSE(used->evaluate({}).has_value());
  EXPECT_TRUE(unused->evaluate({}).has_value());
  EXPECT_TRUE(used->uses("object"));
  EXPECT_FALSE(unused->uses("object"));
  EXPECT_FALSE(unused->uses("other"));
}

}  // namespace
}  // namespace kollect::cel
