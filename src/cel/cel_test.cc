// The public face of the room: compile, evaluate, errors, reach.
#include "cel/cel.h"

#include <gtest/gtest.h>

#include "base/json/write.h"

namespace kollect::cel {
namespace {

namespace json = base::json;

Environment object_environment() {
  Environment environment;
  environment.variables = {{"object", "dyn"}, {"name", "string"}};
  return environment;
}

/// Canonical JSON of the result, "absent", or "error: …".
std::string run(std::string_view expression, std::string_view object = "{}") {
  const auto program = Program::compile(expression, object_environment());
  if (!program) return "compile: " + program.error().message;
  const auto document = json::Document::parse(object);
  EXPECT_TRUE(document.has_value());
  const auto name = json::Document::parse("\"n\"");
  const auto outcome = program->evaluate({{"object", document->root()}, {"name", name->root()}});
  if (!outcome) return (outcome.error().limit ? "limit: " : "error: ") + outcome.error().message;
  return outcome->value ? json::canonical(*outcome->value) : "absent";
}

TEST(Cel, EvaluatesOnBorrowedJson) {
  const std::string object = R"({"spec":{"replicas":3,"cs":[{"image":"a:1"},{"image":"b:2"}]}})";
  EXPECT_EQ(run("object.spec.replicas", object), "3");
  EXPECT_EQ(run("size(object.spec.cs)", object), "2");
  EXPECT_EQ(run("object.spec.cs.map(c, c.image.split(':')[1])", object), R"(["1","2"])");
  EXPECT_EQ(run("has(object.status) ? object.status.readyReplicas : 0", object), "0");
  EXPECT_EQ(run("object.?status.readyReplicas.orValue(0)", object), "0");
  EXPECT_EQ(run("object.?status", object), "absent");
  EXPECT_EQ(run("{'a': 1u, 'b': duration('90s')}", object), R"({"a":1,"b":"90s"})");
}

TEST(Cel, ErrorsNameKeysAndPlaces) {
  EXPECT_EQ(run("object.status.readyReplicas"), "error: no such key: 'status' (line 1, column 8)");
  EXPECT_EQ(run("object.a + 1", R"({"a":"secret"})"),
            "error: no matching overload: '+' does not take (string, int) (line 1, column 10)");
  EXPECT_EQ(run("[1][object.a]", R"({"a":7})"), "error: index out of range (line 1, column 4)");
}

TEST(Cel, CompileErrorsShowTheCaret) {
  const auto program = Program::compile("objekt.spec", object_environment());
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().phase, CompileError::Phase::kCheck);
  EXPECT_EQ(program.error().message,
            "there is no variable 'objekt', did you mean 'object'? (line 1, column 1)\n"
            " | objekt.spec\n"
            " | ^");
  const auto syntax = Program::compile("object\n  .spec.", object_environment());
  ASSERT_FALSE(syntax.has_value());
  EXPECT_EQ(syntax.error().phase, CompileError::Phase::kParse);
  EXPECT_EQ(syntax.error().line, 2U);
  EXPECT_EQ(syntax.error().column, 9U);
}

TEST(Cel, ReachIsJudgedOnTheTree) {
  using Reach = Program::Reach;
  const auto reach = [](std::string_view expression) {
    const auto program = Program::compile(expression, object_environment());
    EXPECT_TRUE(program.has_value()) << expression;
    return program->reaches("object", "data");
  };
  EXPECT_EQ(reach("object.metadata.name"), Reach::kNo);
  EXPECT_EQ(reach("object.metadata.data"), Reach::kNo);
  EXPECT_EQ(reach("object.data.x"), Reach::kYes);
  EXPECT_EQ(reach("object['data']"), Reach::kYes);
  EXPECT_EQ(reach("object.?data"), Reach::kYes);
  EXPECT_EQ(reach("object[?'data']"), Reach::kYes);
  EXPECT_EQ(reach("has(object.data)"), Reach::kYes);
  EXPECT_EQ(reach("{'x': object.data}"), Reach::kYes);
  EXPECT_EQ(reach("object"), Reach::kYes);
  EXPECT_EQ(reach("object[name]"), Reach::kUnknown);
  EXPECT_EQ(reach("object.map(k, k)"), Reach::kYes);
  EXPECT_EQ(reach("cel.bind(o, object, o.data)"), Reach::kYes);
  EXPECT_EQ(reach("[1].map(object, object)"), Reach::kNo);
}

TEST(Cel, LimitsEndRunawayExpressions) {
  EXPECT_TRUE(run("lists.range(100000000).map(x, x)").starts_with("limit: "));
  EXPECT_TRUE(
      run("lists.range(2000).all(a, lists.range(2000).all(b, a + b >= 0))").starts_with("limit: "));
  EXPECT_TRUE(run("true || lists.range(100000000).all(x, true)").starts_with("true"));
}

}  // namespace
}  // namespace kollect::cel
