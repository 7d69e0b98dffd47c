// Batches: values in and out, phases, names and containers.
#include "cel/batch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kollect::cel {
namespace {

using testing::HasSubstr;

std::string answer(std::string_view members) {
  return run_batch_line("{\"id\":\"t\"," + std::string(members) + "}");
}

TEST(CelBatch, WritesEveryKindOfValue) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"null", R"({"nullValue":null})"},
      {"true", R"({"boolValue":true})"},
      {"-1", R"({"int64Value":"-1"})"},
      {"1u", R"({"uint64Value":"1"})"},
      {"1.0", R"({"doubleValue":1.0})"},
      {"-0.0", R"({"doubleValue":-0.0})"},
      {"1e100", R"({"doubleValue":1e+100})"},
      {"0.0/0.0", R"({"doubleValue":"NaN"})"},
      {"-1.0/0.0", R"({"doubleValue":"-Infinity"})"},
      {"'a'", R"({"stringValue":"a"})"},
      {"b'a'", R"({"bytesValue":"YQ=="})"},
      {"[1]", R"({"listValue":{"values":[{"int64Value":"1"}]}})"},
      {"{'a': null}",
       R"({"mapValue":{"entries":[{"key":{"stringValue":"a"},"value":{"nullValue":null}}]}})"},
      {"int", R"({"typeValue":"int"})"},
      {"timestamp(0)",
       R"({"objectValue":{"@type":"type.googleapis.com/google.protobuf.Timestamp","value":"1970-01-01T00:00:00Z"}})"},
      {"duration('1.5s')",
       R"({"objectValue":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1.5s"}})"},
      {"optional.of(1)", R"({"int64Value":"1"})"},
      {"optional.none()", R"({"nullValue":null})"},
      {"quantity('1k')", R"({"stringValue":"1k"})"},
  };
  for (const auto& [expression, value] : cases) {
    EXPECT_EQ(answer("\"expr\":\"" + std::string(expression) + "\""),
              "{\"id\":\"t\",\"value\":" + std::string(value) + "}");
  }
}

TEST(CelBatch, ReadsEveryKindOfValue) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"({"nullValue":null})", "x == null"},
      {R"({"boolValue":true})", "x"},
      {R"({"int64Value":"-9223372036854775808"})", "x == -9223372036854775808"},
      {R"({"int64Value":5})", "x == 5"},
      {R"({"uint64Value":"18446744073709551615"})", "x == 18446744073709551615u"},
      {R"({"doubleValue":1})", "type(x) == double && x == 1.0"},
      {R"({"doubleValue":"NaN"})", "x != x"},
      {R"({"doubleValue":"-Infinity"})", "x < 0.0"},
      {R"({"stringValue":"é"})", "x == 'é'"},
      {R"({"bytesValue":"YQ=="})", "x == b'a'"},
      {R"({"listValue":{"values":[{"int64Value":"1"}]}})", "x == [1]"},
      {R"({"listValue":{}})", "x == []"},
      {R"({"mapValue":{"entries":[{"key":{"int64Value":"1"},"value":{"boolValue":true}}]}})",
       "x[1]"},
      {R"({"mapValue":{}})", "x == {}"},
      {R"({"typeValue":"int"})", "x == int"},
      {R"({"objectValue":{"@type":"type.googleapis.com/google.protobuf.Timestamp","value":"1970-01-01T00:00:01Z"}})",
       "x == timestamp(1)"},
      {R"({"objectValue":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"-1.5s"}})",
       "x == duration('-1500ms')"},
  };
  for (const auto& [value, expression] : cases) {
    EXPECT_EQ(answer("\"bindings\":{\"x\":" + std::string(value) + "},\"expr\":\"" +
                     std::string(expression) + "\""),
              R"({"id":"t","value":{"boolValue":true}})")
        << value;
  }
}

TEST(CelBatch, LiteralsOfWellKnownMessagesAreValues) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"google.protobuf.Timestamp{seconds: 1, nanos: 500000000} == "
       "timestamp('1970-01-01T00:00:01.5Z')",
       "true"},
      {"google.protobuf.Timestamp{} == timestamp(0)", "true"},
      {"google.protobuf.Duration{seconds: -1, nanos: -500000000} == duration('-1.5s')", "true"},
      {"google.protobuf.Int32Value{value: 5} + 1 == 6", "true"},
      {"google.protobuf.UInt64Value{} == 0u", "true"},
      {"google.protobuf.BytesValue{value: b'a'} == b'a'", "true"},
      {"google.protobuf.FloatValue{value: 0.1} == 0.1", "false"},
      {"google.protobuf.StringValue{} != null", "true"},
      {"google.protobuf.Value{} == null", "true"},
      {"google.protobuf.Value{null_value: google.protobuf.NullValue.NULL_VALUE} == null", "true"},
      {"google.protobuf.Value{number_value: 1.5} == 1.5", "true"},
      {"google.protobuf.Struct{fields: {'a': 1.0}}.a == 1.0", "true"},
      {"google.protobuf.ListValue{values: [1.0, 'a']}[1] == 'a'", "true"},
      {".google.protobuf.BoolValue{?value: optional.none()} == false", "true"},
  };
  for (const auto& [expression, value] : cases) {
    EXPECT_EQ(answer("\"expr\":\"" + std::string(expression) + "\""),
              R"({"id":"t","value":{"boolValue":)" + std::string(value) + "}}")
        << expression;
  }
  EXPECT_THAT(answer(R"("expr":"google.protobuf.Any{}")"), HasSubstr(R"("phase":"eval")"));
  EXPECT_THAT(answer(R"("expr":"Int64Value{value: 7}","container":"google.protobuf")"),
              HasSubstr(R"("int64Value":"7")"));
  for (const std::string_view wrong :
       {"google.protobuf.Timestamp{nanos: -1}", "google.protobuf.Timestamp{nanos: 1000000000}",
        "google.protobuf.Timestamp{seconds: 253402300800}",
        "google.protobuf.Duration{seconds: 1, nanos: -1}",
        "google.protobuf.Duration{seconds: 315576000001}",
        "google.protobuf.Duration{nanos: 1000000000}", "google.protobuf.Duration{second: 1}",
        "google.protobuf.Duration{seconds: 1u}", "google.protobuf.Int32Value{value: 2147483648}",
        "google.protobuf.UInt32Value{value: 4294967296u}", "google.protobuf.StringValue{value: 1}",
        "google.protobuf.Value{number_value: 1.0, bool_value: true}", "google.protobuf.Any{}",
        "google.protobuf.Value{x: 1}", "a.B{}"}) {
    EXPECT_THAT(answer("\"expr\":\"" + std::string(wrong) + "\""), HasSubstr("\"error\":"))
        << wrong;
  }
}

TEST(CelBatch, WellKnownMessagesAreReadAsValues) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"("Int32Value","value":5)", "x == 5"},
      {R"("UInt64Value","value":"18446744073709551615")", "x == 18446744073709551615u"},
      {R"("FloatValue","value":"NaN")", "x != x"},
      {R"("BoolValue","value":true)", "x"},
      {R"("StringValue","value":"a")", "x == 'a'"},
      {R"("BytesValue","value":"YQ==")", "x == b'a'"},
      {R"("Struct","value":{"a":[1,null]})", "x.a == [1.0, null] && type(x.a[0]) == double"},
      {R"("ListValue","value":["a",true])", "x == ['a', true]"},
      {R"("Value","value":null)", "x == null"},
  };
  for (const auto& [value, expression] : cases) {
    EXPECT_EQ(
        answer(R"("bindings":{"x":{"objectValue":{"@type":"type.googleapis.com/google.protobuf.)" +
               std::string(value.substr(1)) + "}}},\"expr\":\"" + std::string(expression) + "\""),
        R"({"id":"t","value":{"boolValue":true}})")
        << value;
  }
}

TEST(CelBatch, BadBindingsAreErrors) {
  for (const std::string_view value :
       {"1", "{}", R"({"int64Value":"x"})", R"({"fooValue":1})", R"({"boolValue":"x"})",
        R"({"bytesValue":"!"})", R"({"objectValue":{"@type":"x"}})", R"({"doubleValue":"x"})",
        R"({"mapValue":{"entries":[{}]}})", R"({"listValue":{"values":[1]}})"}) {
    const std::string out =
        answer("\"bindings\":{\"x\":" + std::string(value) + "},\"expr\":\"x\"");
    EXPECT_NE(out.find("\"phase\":\"eval\""), std::string::npos) << out;
  }
}

TEST(CelBatch, PhasesOfErrors) {
  const auto has_phase = [](const std::string& out, std::string_view phase) {
    return out.find("\"phase\":\"" + std::string(phase) + "\"") != std::string::npos;
  };
  EXPECT_TRUE(has_phase(answer(R"("expr":"1 +")"), "parse"));
  EXPECT_TRUE(has_phase(answer(R"("expr":"1 + 'a'")"), "check"));
  EXPECT_TRUE(has_phase(answer(R"("expr":"1 + 'a'","check":false)"), "eval"));
  EXPECT_TRUE(has_phase(answer(R"("expr":"x")"), "check"));
  EXPECT_TRUE(has_phase(answer(R"("expr":"x","check":false)"), "eval"));
  EXPECT_TRUE(has_phase(answer(R"("expr":"x","types":{"x":"int"})"), "eval"));
  EXPECT_TRUE(has_phase(answer(R"("expr":"x","types":{"x":"foo"})"), "check"));
  EXPECT_TRUE(has_phase(answer(R"("expr":"x","types":{"x":1})"), "parse"));
  EXPECT_TRUE(has_phase(answer(R"("expr":1)"), "parse"));
  EXPECT_EQ(run_batch_line(R"({"id":7,"expr":"1"})"), R"({"id":7,"value":{"int64Value":"1"}})");
}

TEST(CelBatch, MembersOfAnotherFormAreErrors) {
  for (const std::string_view member :
       {R"("container":5)", R"("bindings":[])", R"("bindings":"x")", R"("types":[1])",
        R"("types":{"x":1})", R"("functions":[])", R"("check":"no")", R"("check":0)", R"("type":1)",
        R"("evaluate":"true")"}) {
    const std::string out = answer(R"("expr":"1",)" + std::string(member));
    EXPECT_THAT(out, HasSubstr(R"("phase":"parse")")) << member;
    EXPECT_THAT(out, HasSubstr("of the line has another form")) << member;
  }
  EXPECT_EQ(
      answer(
          R"("expr":"1","container":null,"bindings":null,"types":null,"functions":null,"check":null)"),
      R"({"id":"t","value":{"int64Value":"1"}})");
  for (const std::string_view value :
       {R"({"listValue":5})", R"({"listValue":{"values":5}})", R"({"listValue":{"values":{}}})",
        R"({"mapValue":[]})", R"({"mapValue":{"entries":{}}})", R"({"mapValue":{"entries":[5]}})",
        R"({"objectValue":5})", R"({"typeValue":5})"}) {
    EXPECT_THAT(answer(R"("expr":"x","bindings":{"x":)" + std::string(value) + "}"),
                HasSubstr("a binding is no cel.expr.Value"))
        << value;
  }
}

TEST(CelBatch, LinesThatAreNotRead) {
  for (const std::string_view line :
       {"", "   ", "null", "[]", "\"x\"", "{", R"({"id":1,"expr":"1"} x)", "\x01", "{\"id\":1"}) {
    EXPECT_THAT(run_batch_line(line), testing::StartsWith(R"({"id":null,"error":")")) << line;
    EXPECT_THAT(run_batch_line(line), testing::EndsWith(R"(,"phase":"parse"})")) << line;
  }
  EXPECT_EQ(run_batch_line(R"({"expr":"1"})"), R"({"id":null,"value":{"int64Value":"1"}})");
  EXPECT_EQ(run_batch_line("{\"id\":1,\"expr\":\"1\"}\r"),
            R"({"id":1,"value":{"int64Value":"1"}})");
  EXPECT_THAT(run_batch_line("{\"id\":1,\"expr\":\"\xff\"}"), HasSubstr(R"("phase":"parse")"));
}

TEST(CelBatch, ValuesHaveASize) {
  std::string expression = "cel.block([1";
  for (int n = 0; n < 40; ++n) {
    expression += fmt::format(", [cel.index({0}), cel.index({0})]", n);
  }
  EXPECT_EQ(answer("\"expr\":\"" + expression + "], cel.index(40))\""),
            R"({"id":"t","error":"the value is too large","phase":"eval"})");
}

TEST(CelBatch, StaticTypesOnRequest) {
  EXPECT_EQ(answer(R"("expr":"[1]","type":true,"evaluate":false)"),
            R"x({"id":"t","type":"list(int)"})x");
  EXPECT_EQ(answer(R"("expr":"[1]","evaluate":false)"), R"x({"id":"t","type":"list(int)"})x");
  EXPECT_EQ(answer(R"("expr":"1","type":true)"),
            R"({"id":"t","type":"int","value":{"int64Value":"1"}})");
  EXPECT_EQ(
      answer(R"("expr":"1 / 0","type":true)"),
      R"x({"id":"t","type":"int","error":"division by zero (line 1, column 3)","phase":"eval"})x");
  EXPECT_EQ(answer(R"x("expr":"f(1)","functions":{"f":"int -> list(A)"},"evaluate":false)x"),
            R"x({"id":"t","type":"list(dyn)"})x");
  EXPECT_THAT(answer(R"x("expr":"f(1)","functions":{"f":1})x"), HasSubstr(R"("phase":"parse")"));
  EXPECT_THAT(answer(R"x("expr":"f(1)","functions":{"f":"int"})x"),
              HasSubstr(R"("phase":"check")"));
}

TEST(CelBatch, NamesAreResolvedInTheContainer) {
  const std::string bindings =
      R"("bindings":{"a.b.c":{"int64Value":"1"},"a.b":{"mapValue":{"entries":[{"key":{"stringValue":"c"},"value":{"int64Value":"2"}}]}},)"
      R"("x":{"int64Value":"3"},"n.x":{"int64Value":"4"},"n.m.x":{"int64Value":"5"}},)";
  const auto number = [&](std::string_view expression, std::string_view container, bool check) {
    const std::string out =
        answer(bindings + "\"expr\":\"" + std::string(expression) + "\",\"container\":\"" +
               std::string(container) + "\",\"check\":" + (check ? "true" : "false"));
    const auto at = out.find("int64Value\":\"");
    return at == std::string::npos ? out : out.substr(at + 13, 1);
  };
  for (const bool check : {true, false}) {
    EXPECT_EQ(number("a.b.c", "", check), "1");
    EXPECT_EQ(number("b.c", "a", check), "1");
    EXPECT_EQ(number("(a.b).c", "", check), "1");  // parentheses leave no trace in the tree
    EXPECT_EQ(number("a.b['c']", "", check), "2");
    EXPECT_EQ(number("x", "", check), "3");
    EXPECT_EQ(number("x", "n", check), "4");
    EXPECT_EQ(number("x", "n.m", check), "5");
    EXPECT_EQ(number("x", "n.o", check), "4");
    EXPECT_EQ(number(".x", "n.m", check), "3");
    EXPECT_EQ(number("[7].map(x, x)[0]", "n", check), "7");
    EXPECT_EQ(number("[7].map(x, .x)[0]", "n", check), "3");
    EXPECT_EQ(number("[{'b': {'c': 8}}].map(a, a.b.c)[0]", "", check), "8");
    EXPECT_EQ(number("range(3).size()", "lists", check), "3");
  }
}

}  // namespace
}  // namespace kollect::cel
