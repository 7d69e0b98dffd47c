#include "extract/jsonpath.h"

#include <gtest/gtest.h>

#include "base/json/write.h"

namespace kollect::extract {
namespace {

using base::json::Document;
using base::json::View;

/// The value as JSON, "absent", or "error".
std::string evaluate(std::string_view path, View root) {
  auto compiled = JsonPath::compile(path);
  if (!compiled) return "refused: " + compiled.error().message;
  std::vector<View> values;
  if (auto done = compiled->evaluate(root, values); !done) {
    return done.error().limit ? "limit" : "error";
  }
  if (values.empty() && !compiled->always_array()) return "absent";
  if (values.size() == 1 && !compiled->always_array()) return base::json::canonical(values.front());
  std::string out = "[";
  for (const auto value : values) {
    if (out.size() > 1) out += ',';
    base::json::append_canonical(out, value);
  }
  return out + "]";
}

struct Case {
  const char* path;
  const char* value;
};

// spec: collection 7.4, results of ours.
TEST(JsonPath, TableOfResults) {
  auto document =
      Document::parse(R"({"kind":"Sample","metadata":{"labels":{"app.kubernetes.io/name":"pear"}},
    "spec":{"n":7,"nul":null,"l":[1,2,3,4,5],"el":[],"nest":[[1,2],[3]],"s":"text",
    "full":[{"k":"a","v":1},{"k":"b","v":2}],"ml":[{"k":"a","v":1},{"v":3}],"m":{"x.y":"dot"}}})");
  ASSERT_TRUE(document);
  const Case cases[] = {
      {"$.spec.n", "7"},
      {"{.spec.n}", "7"},
      {"{ $.spec .n }", "7"},
      {"$.spec.l[-1]", "5"},
      {"$.spec.l[-5]", "1"},
      {"$.spec.l[5]", "absent"},
      {"$.spec.l[-6]", "absent"},
      {"$.spec.l[0:2]", "[1,2]"},
      {"$.spec.l[2:]", "[3,4,5]"},
      {"$.spec.l[:-1]", "[1,2,3,4]"},
      {"$.spec.l[::2]", "[1,3,5]"},
      {"$.spec.l[1:1]", "absent"},
      {"$.spec.l[3:1]", "absent"},
      {"$.spec.l[0:9]", "[1,2,3,4,5]"},
      {"$.spec.l[0,2]", "[1,3]"},
      {"$.spec.l[-1,0]", "[5,1]"},
      {"$.spec.l[0:2,4]", "[1,2,5]"},
      {"$.spec.l[ 0 ]", "1"},
      {"$.spec.el[*]", "absent"},
      {"$.spec.el[0]", "absent"},
      {"$.spec.nest[*][0]", "[1,3]"},
      {"$.spec.nest[*][*]", "[1,2,3]"},
      {"$.spec.nest[*][1]", "2"},
      {"$.spec.nul", "null"},
      {"$.spec.nul.x", "absent"},
      {"$.spec.nul[0]", "absent"},
      {"$.spec.s.x", "absent"},
      {"$.spec.s[0]", "error"},
      {"$.spec.s[*]", "error"},
      {"$.spec.s.*", "absent"},
      {"$.spec.m[*]", "\"dot\""},
      {"$.spec.m.*", "\"dot\""},
      {"$.spec.m[0]", "error"},
      {"$.spec.full[?(@.k==\"b\")].v", "2"},
      {"$.spec.full[?(@.v>1)].k", "\"b\""},
      {"$.spec.ml[?(@.k==\"a\")].v", "1"},
      {"$.spec.l[?(@>2)]", "[3,4,5]"},
      {"$.spec.l[?(@>2.0)]", "[3,4,5]"},
      {"$..v", "[1,2,1,3]"},
      {"$.spec.m['x.y']", "\"dot\""},
      {"$.spec.m['x\\.y']", "\"dot\""},
      {"$.spec.m.x\\.y", "\"dot\""},
      {"$.metadata.labels['app.kubernetes.io/name']", "\"pear\""},
      {"$['spec'].n", "7"},
      {"$[].spec.n", "[7]"},
      {"$[].spec.zz", "[]"},
      {"$.", "absent"},
      {"{.}", "absent"},
      {"$.spec.l[?(@ > 1 && (@ < 3 || @ == 5))]", "[2,5]"},
      {"$.spec.full[?(!(@.k == 'a'))].v", "2"},
      {"$.spec.l[?(@ == $.spec.full[1].v)]", "2"},
      {"$.spec.full[?(@.k =~ '^[b-z]')].v", "2"},
      {"$.spec.full[?(@.k == null)].v", "absent"},
      {"$.spec.full[?(@.*==1)].v", "error"},
      {"$.spec.m[?(@)]", "error"},
      {"$.spec.nul[?(@.x)]", "absent"},
      {"$.spec.full[?(.k=='a')].v", "1"},
      {"$.spec.full[?(['k']=='a')].v", "1"},
      {"$.spec.full[?(@.k==')]')].v", "absent"},
  };
  for (const auto& c : cases) EXPECT_EQ(evaluate(c.path, document->root()), c.value) << c.path;
  for (const auto* whole : {"$", "{}", "{$}", "{@}", "{ }"}) {
    EXPECT_EQ(evaluate(whole, document->root()), base::json::canonical(document->root())) << whole;
  }
}

// E-7, E-22: refused when compiled, with the right spelling on offer.
TEST(JsonPath, RefusedWithTheRightSpelling) {
  const Case cases[] = {
      {"metadata.name", "did you mean $.metadata.name?"},
      {".spec", "did you mean $.spec?"},
      {"['spec']", "did you mean $['spec']?"},
      {"jq:.spec.i", "did you mean $.spec.i?"},
      {"CEL:object.x", "did you mean cel:object.x?"},
      {"helm:x", "did you mean helm:release.x?"},
      {"helm:release", "did you mean helm:release.releaseName?"},
      {"object", "did you mean cel:object?"},
      {"object.spec.x", "did you mean cel:object.spec.x?"},
      {"a{.spec.i}b", "did you mean {.spec.i}?"},
      {"{.spec.replicas}{.kind}",
       "text after the braces; a path is one expression, such as {.spec.replicas}"},
      {"{range .items[*]}{.n}{end}", "[*] visits all elements"},
      {"{end}", "[*] visits all elements"},
      {"{spec}", "did you mean {.spec}?"},
      {"{\"x\"}", "a path in braces begins with"},
      {"{1}", "a path in braces begins with"},
      {"$spec.n", "did you mean $.spec.n?"},
      {"$.a[]", "[0] is the first element, [*] all (position 4)"},
      {"$.l[::0]", "above zero"},
      {"$.l[::-1]", "above zero"},
      {"$.a.", "a name must follow \".\" (position 4)"},
      {"$.a..", "must follow \"..\" (position 4)"},
      {"$..", "must follow \"..\""},
      {"$.a....b", "two descents"},
      {"$.a}", "after the path"},
      {"$.a$", "after the path"},
      {"$.a b", "after the path"},
      {"$.a$.b", "after the path"},
      {"$.a[99999999999999999999]", "does not fit 64 bits"},
      {"$.a[?(@.n=1)]", "did you mean ==?"},
      {"$.a[?(@.n===1)]", "no operator ==="},
      {"$.a[?(@.n==b)]", "did you mean \"b\" or @.b?"},
      {"$.a[?(@.n=~'(')]", "bad pattern"},
      {"$.a[?(@.n=~@.m)]", "quoted pattern"},
      {"$.a[?(@.n)", "\"]\" expected"},
      {"$.a[?(@.n]", "\")\" expected"},
      {"$.a[b]", "did you mean ['b']?"},
      {"$.a[1", "\"]\" expected (position 6)"},
      {"$.a['b", "not closed"},
      {"$.a['b',*]", "indices, slices and quoted keys only"},
      {"$.['a']", "without a dot"},
      {"{.a", "not closed"},
      {"{$[].a}", "[] stands right after"},
      {"$.größe[x]", "(position 9)"},
      {"", "empty"},
  };
  for (const auto& c : cases) {
    auto compiled = JsonPath::compile(c.path);
    ASSERT_FALSE(compiled) << c.path;
    EXPECT_NE(compiled.error().message.find(c.value), std::string::npos)
        << c.path << ": " << compiled.error().message;
  }
}

TEST(JsonPath, PruneDialectMakesTheDollarOptional) {
  for (const auto* path : {"spec.strategy", ".spec.selector", "$.spec", "['a.b']", "{.spec}"}) {
    EXPECT_TRUE(JsonPath::compile(path, JsonPath::Dialect::kPrune)) << path;
  }
  auto bad = JsonPath::compile("spec.a[", JsonPath::Dialect::kPrune);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().position, 8U);
}

TEST(JsonPath, LastKeysForScrubbing) {
  const auto keys = [](std::string_view path) { return JsonPath::compile(path)->last_keys(); };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(keys("$.a.password[*]"), Keys{"password"});
  EXPECT_EQ(keys("$.a.password.*"), Keys{"password"});
  EXPECT_EQ(keys("$.a[0]['x','token']"), (Keys{"x", "token"}));
  EXPECT_EQ(keys("$..secret"), Keys{"secret"});
  EXPECT_EQ(keys("$"), Keys{});
  EXPECT_EQ(JsonPath::compile("$.spec.tls[0].key")->parent_key(), "tls");
}

TEST(JsonPath, ReachOfTheRoot) {
  const auto reaches = [](std::string_view path) {
    return JsonPath::compile(path)->reaches("data");
  };
  for (const auto* path :
       {"$", "{@}", "$.data.x", "$['data']", "$.DATA", "$.*", "$[*]", "$..x", "$[?(@.x)]",
        "$['kind','data']", "$.metadata.x[?(@.a==$.data.b)]", "$[0,'data']", "$.d\\ata"}) {
    EXPECT_TRUE(reaches(path)) << path;
  }
  for (const auto* path : {"$.metadata.name", "$.metadata..x", "$.metadata.labels.*", "$.type"}) {
    EXPECT_FALSE(reaches(path)) << path;
  }
}

TEST(JsonPath, WorkIsBounded) {
  std::string deep;
  for (int i = 0; i < 400; ++i) deep += "[";
  deep += "1";
  for (int i = 0; i < 400; ++i) deep += "]";
  auto document = Document::parse(deep);
  ASSERT_TRUE(document);
  EXPECT_EQ(evaluate("$..*..*..*..*", document->root()), "limit");
}

TEST(JsonPath, BigNumbersCompareExactly) {
  auto document =
      Document::parse(R"({"l":[9007199254740992,9007199254740993,18446744073709551615,1e400]})");
  ASSERT_TRUE(document);
  EXPECT_EQ(evaluate("$.l[0:3][?(@)]", document->root()), "error");
  EXPECT_EQ(evaluate("$.l[?(@ == 9007199254740993)]", document->root()),
            "limit");  // E-35: 1e400 is read
  auto fine = Document::parse(R"({"l":[9007199254740992,9007199254740993,18446744073709551615]})");
  EXPECT_EQ(evaluate("$.l[?(@ == 9007199254740993)]", fine->root()), "9007199254740993");
  EXPECT_EQ(evaluate("$.l[?(@ == 9007199254740992.0)]", fine->root()), "9007199254740992");
  EXPECT_EQ(evaluate("$.l[?(@ > 9223372036854775807)]", fine->root()), "18446744073709551615");
}

}  // namespace
}  // namespace kollect::extract
