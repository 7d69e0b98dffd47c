#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/json/document.h"
#include "base/json/write.h"

namespace kollect::base::json {
namespace {

std::string round_trip(std::string_view text) {
  auto document = Document::parse(text);
  return document ? canonical(document->root()) : "error: " + document.error().message;
}

TEST(Document, KeepsEveryKindOfValue) {
  EXPECT_EQ(round_trip(R"( {"b":[1,true,false,null,"x"],"a":{"z":{},"y":[]}} )"),
            R"({"a":{"y":[],"z":{}},"b":[1,true,false,null,"x"]})");
  EXPECT_EQ(round_trip("3"), "3");
  EXPECT_EQ(round_trip("\"\""), "\"\"");
}

TEST(Document, RefusesWhatIsNotJson) {
  for (const char* text : {"",          " ",
                           "{",         "[1,]",
                           "{\"a\"}",   "{\"a\":}",
                           "{a:1}",     "[1 2]",
                           "01",        "1.",
                           "+1",        ".5",
                           "1e",        "tru",
                           "truex",     "nul",
                           "\"a",       "\"\\x\"",
                           "\"\\u12\"", "[1]]",
                           "{} {}",     "12abc",
                           "\"a\"b",    "{\"a\":1,}",
                           "'a'",       "[\"a\" \"b\"]",
                           "NaN",       "-"}) {
    EXPECT_FALSE(Document::parse(text)) << text;
  }
}

// field-integers-past-2-to-53 (check json)
TEST(Document, IntegersKeepEveryDigit) {
  const char* text =
      R"({"max":9223372036854775807,"min":-9223372036854775808,"odd":9007199254740993,"umax":18446744073709551615})";
  EXPECT_EQ(round_trip(text), text);
  auto document = Document::parse(text);
  EXPECT_EQ(document->root().find("odd")->number().i, 9007199254740993);
  EXPECT_EQ(document->root().find("umax")->number().kind, Number::Kind::kUint);
}

TEST(Document, OddNumbersHarmNobody) {
  auto document = Document::parse(
      R"({"huge":1e400,"big":123456789012345678901234567890,"tiny":1e-400,"one":1.0})");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root().find("huge")->number().kind, Number::Kind::kOutOfRange);
  EXPECT_EQ(document->root().find("big")->number().kind, Number::Kind::kDouble);
  EXPECT_EQ(document->root().find("tiny")->number().d, 0);
  EXPECT_EQ(canonical(*document->root().find("one")), "1");
}

TEST(Document, StringsAreUnescaped) {
  auto document =
      Document::parse(R"(["a\"\\\/\b\f\n\r\t","\u00e9\ud83d\ude00","\ud800x","\udc00","plain"])");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root().at(0).as_string(), "a\"\\/\b\f\n\r\t");
  EXPECT_EQ(document->root().at(1).as_string(), "é😀");
  EXPECT_EQ(document->root().at(2).as_string(), "\uFFFDx");
  EXPECT_EQ(document->root().at(3).as_string(), "\uFFFD");
  EXPECT_EQ(document->root().at(4).as_string(), "plain");
}

TEST(Document, InvalidUtf8BecomesReplacement) {
  EXPECT_EQ(round_trip("\"a\xFF z\""), "\"a\uFFFD z\"");
}

TEST(Document, DepthIsLimited) {
  const std::string deep =
      std::string(Document::kMaxDepth, '[') + std::string(Document::kMaxDepth, ']');
  EXPECT_TRUE(Document::parse(deep));
  EXPECT_FALSE(Document::parse("[" + deep + "]"));
}

TEST(Document, LastDuplicateWins) {
  auto document = Document::parse(R"({"a":1,"b":2,"a":3})");
  EXPECT_EQ(document->root().find("a")->number().i, 3);
  EXPECT_EQ(canonical(document->root()), R"({"a":3,"b":2})");
}

TEST(Document, ReparseReusesMemory) {
  Document document;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(document.reparse_borrowed(R"({"k":"a\nb","l":[1,2,3]})"));
    EXPECT_EQ(document.root().text("k"), "a\nb");
  }
  EXPECT_FALSE(document.reparse_borrowed("{"));
  EXPECT_TRUE(document.reparse_borrowed("{}"));
}

TEST(Document, FromValueAndBack) {
  Value value = Object();
  value.as_object().set("d", 0.1);
  value.as_object().set("u", std::numeric_limits<std::uint64_t>::max());
  value.as_object().set("a", Array{nullptr, true, "x", -5});
  const Document document = Document::from_value(value);
  EXPECT_EQ(to_value(document.root()), value);
  EXPECT_EQ(canonical(document.root()), canonical(value));
}

TEST(Document, EqualComparesNumbersByValue) {
  auto document = Document::parse(R"([{"a":1,"b":[2]},{"b":[2.0],"a":1.0},{"a":1,"b":[3]}])");
  EXPECT_TRUE(equal(document->root().at(0), document->root().at(1)));
  EXPECT_FALSE(equal(document->root().at(0), document->root().at(2)));
}

// spec: sinks 3
TEST(Write, Doubles) {
  auto text = [](double d) {
    std::string out;
    append_double(out, d);
    return out;
  };
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(1.0), "1");
  EXPECT_EQ(text(100000000000000000000.0), "100000000000000000000");
  EXPECT_EQ(text(1e21), "1e+21");
  EXPECT_EQ(text(1e-6), "0.000001");
  EXPECT_EQ(text(1e-7), "1e-7");
  EXPECT_EQ(text(1.5e-7), "1.5e-7");
  EXPECT_EQ(text(-0.0), "-0");
  EXPECT_EQ(text(-12.25), "-12.25");
  EXPECT_EQ(text(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(text(5e-324), "5e-324");
}

TEST(Write, CanonicalTextIsAFixedPoint) {
  const char* text = R"([-0.0,-0,1e400,-1e400,18446744073709551616])";
  const std::string once = round_trip(text);
  EXPECT_EQ(once, "[-0,-0,1e999,-1e999,18446744073709552000]");
  EXPECT_EQ(round_trip(once), once);
  EXPECT_EQ(canonical(to_value(Document::parse(text)->root())), once);
}

TEST(Write, Strings) {
  auto text = [](std::string_view s) {
    std::string out;
    append_string(out, s);
    return out;
  };
  EXPECT_EQ(text("<a>&\u2028\u2029/\x7f"), "\"\\u003ca\\u003e\\u0026\\u2028\\u2029/\x7f\"");
  EXPECT_EQ(text(std::string_view("\0\x1f\b\n", 4)), "\"\\u0000\\u001f\\b\\n\"");
  EXPECT_EQ(text("\xC0\x80é"), "\"\\ufffd\\ufffdé\"");
}

TEST(Write, PrettyIndentsByTwo) {
  auto document = Document::parse(R"({"b":[1,{"c":[]}],"a":{}})");
  EXPECT_EQ(pretty(document->root()),
            "{\n  \"b\": [\n    1,\n    {\n      \"c\": []\n    }\n  ],\n  \"a\": {}\n}\n");
}

TEST(WalkList, HandsOutItemsAndHead) {
  std::string seen;
  auto head = walk_list(
      R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"c","remainingItemCount":4},
          "items":[{"n":"\u0061"},{"n":"b"}]})",
      {[&](View item) -> Result<> {
         seen += item.text("n");
         return {};
       },
       {}});
  ASSERT_TRUE(head);
  EXPECT_EQ(seen, "ab");
  EXPECT_EQ(head->kind, "PodList");
  EXPECT_EQ(head->resource_version, "7");
  EXPECT_EQ(head->continue_token, "c");
  EXPECT_EQ(head->remaining, 4);
  EXPECT_EQ(head->items, 2U);
}

TEST(WalkList, ItemsMayBeNullOrEmpty) {
  ListHandler none{[](View) -> Result<> { return terminal("unexpected item"); }, {}};
  EXPECT_TRUE(walk_list(R"({"items":null,"metadata":{}})", none));
  EXPECT_TRUE(walk_list(R"({"items":[]})", none));
  EXPECT_FALSE(walk_list(R"({"items":[)", none));
  EXPECT_FALSE(walk_list(R"({"items":[{}]})", none));
  EXPECT_FALSE(walk_list(R"({"items":[]} x)", none));
}

TEST(WalkList, BadItemIsPassedOver) {
  const std::string deep = std::string(600, '[') + std::string(600, ']');
  std::size_t good = 0;
  std::size_t bad = 0;
  auto head = walk_list(R"({"items":[{"a":1},)" + deep + R"(,{"a":2}],"metadata":{"continue":""}})",
                        {[&](View) -> Result<> {
                           ++good;
                           return {};
                         },
                         [&](const Error&) { ++bad; }});
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(good, 2U);
  EXPECT_EQ(bad, 1U);
}

TEST(WalkList, ReadsAStatus) {
  auto head = walk_list(
      R"({"kind":"Status","status":"Failure","reason":"Expired","code":410,"message":"old"})", {});
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status_reason, "Expired");
  EXPECT_EQ(head->status_code, 410);
}

TEST(Value, OneRepresentationPerNumber) {
  EXPECT_TRUE(Value(std::uint64_t{5}).is_int());
  EXPECT_EQ(Value(std::uint64_t{5}), Value(5));
  EXPECT_EQ(Value(1.0), Value(1));
  EXPECT_FALSE(Value("1") == Value(1));
}

TEST(WalkList, ElementsWithoutATypeAreGivenOne) {
  std::vector<std::string> items;
  ListHandler handler;
  handler.item_api_version = "apps/v1";
  handler.item_kind = "Deployment";
  handler.on_item = [&](View item) -> Result<> {
    items.push_back(canonical(item));
    return {};
  };
  ASSERT_TRUE(walk_list(R"({"items":[{"a":{"b":1}},{"kind":"Other"},7]})", handler).has_value());
  EXPECT_EQ(items,
            (std::vector<std::string>{R"({"a":{"b":1},"apiVersion":"apps/v1","kind":"Deployment"})",
                                      R"({"apiVersion":"apps/v1","kind":"Other"})", "7"}));
}

}  // namespace
}  // namespace kollect::base::json
