#include "extract/program.h"

#include <gtest/gtest.h>

#include "base/json/write.h"
#include "extract/program_test_support.h"

namespace kollect::extract {
namespace {

using base::json::Document;
using test::Example;
using test::Fixture;
using test::parse;

// spec: extraction 11
class WorkedExamples : public Fixture {
 protected:
  Document object_ = parse(
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop",
      "labels":{"app.kubernetes.io/name":"web","tier":"front"}},"spec":{"replicas":3,"template":{"spec":{"containers":
      [{"name":"app","image":"r.test/web:1.4.2","env":[{"name":"DB_PASSWORD","value":"x"}]},
       {"name":"proxy","image":"r.test/envoy:1.30","args":["-v"]}]}}}})");

  void check(std::initializer_list<Example> examples) {
    for (const auto& example : examples) {
      std::string path = example.path;
      if (path.starts_with("C")) path = "$.spec.template.spec.containers" + path.substr(1);
      const auto actual = value(path.c_str(), object_);
      const std::string expected = example.value;
      if (expected.ends_with("…")) {
        EXPECT_TRUE(actual.starts_with(expected.substr(0, expected.size() - 3)))
            << path << ": " << actual;
      } else {
        EXPECT_EQ(actual, expected) << path;
      }
    }
  }
};

TEST_F(WorkedExamples, JsonPath) {
  check({
      {"$.spec.replicas", "3"},
      {"C[*].image", R"(["r.test/web:1.4.2","r.test/envoy:1.30"])"},
      {"C[*].args", R"(["-v"])"},
      {"C[?(@.name==\"proxy\")].image", R"("r.test/envoy:1.30")"},
      {"C[-1].name", R"("proxy")"},
      {"C[5].name", "absent"},
      {"C[0:9].name", R"(["app","proxy"])"},
      {"$.metadata.labels['app.kubernetes.io/name']", R"("web")"},
      {"$.metadata.labels.app\\.kubernetes\\.io/name", R"("web")"},
      {"$.metadata.labels.*", R"(["web","front"])"},
      {"$.status.readyReplicas", "absent"},
      {"$.metadata.name.x", "absent"},
      {"$[].metadata.name", R"(["web"])"},
      {"C.name", "absent"},
      {"C[?(@.args)].name", R"("proxy")"},
      {"C[?(@.args[0]!=\"-q\")].name", R"("proxy")"},
      {"C[0]['image','name']", R"(["r.test/web:1.4.2","app"])"},
      {"$.spec[0]",
       "index: attribute v of Deployment shop/web: an index needs an array, found an object "
       "(position 7)…"},
      {"{.spec.replicas}{.kind}", "refused: …"},
      {"metadata.name",
       "refused: a path begins with \"$.\", \"{.\", \"cel:\" or \"helm:release.\"; did you mean "
       "$.metadata.name?…"},
      {"C[0].env",
       R"([{"name":"DB_PASSWORD","value":{"reason":"sensitive-key","redacted":true}}])"},
  });
}

TEST_F(WorkedExamples, Cel) {
  check({
      {"cel:size(object.spec.template.spec.containers)", "2"},
      {"cel:object.spec.template.spec.containers.map(c, c.image.split(':')[1])",
       R"(["1.4.2","1.30"])"},
      {"cel:object.spec.template.spec.containers.filter(c, has(c.args)).map(c, {'n': c.name})",
       R"([{"n":"proxy"}])"},
      {"cel:has(object.status) ? object.status.readyReplicas : 0", "0"},
      {"cel:object.?status.readyReplicas.orValue(0)", "0"},
      {"cel:{'a': 1u, 'b': duration('90s')}", R"({"a":1,"b":"90s"})"},
      {"cel:object.status.readyReplicas", "cel: attribute v of Deployment shop/web: …"},
  });
  EXPECT_NE(value("cel:object.status.readyReplicas", object_).find("no such key"),
            std::string::npos);
  EXPECT_NE(value("cel:object.status.readyReplicas", object_).find("status"), std::string::npos);
}

// spec: collection 18
class Kiln : public Fixture {
 protected:
  Document object_ = parse(
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"kiln","namespace":"orchard","uid":"d-1",
      "resourceVersion":"55","generation":3,"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"kiln","a/b":"s"},
      "annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"},"managedFields":[{"manager":"m"}]},
      "spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"app","image":"r.test/app:1"},
      {"name":"side","image":"r.test/side:2","args":["-v"]}]}}},"status":{"ready":1}})");
  std::string spec_json_ =
      R"({"replicas":2,"template":{"spec":{"containers":[{"image":"r.test/app:1","name":"app"},)"
      R"({"args":["-v"],"image":"r.test/side:2","name":"side"}]}}})";
  std::string head_ = R"({"apiVersion":"apps/v1","kind":"Deployment",)";
};

TEST_F(Kiln, Attributes1To7) {
  attributes({{"replicas", "$.spec.replicas"},
              {"images", "$.spec.template.spec.containers[*].image"},
              {"args", "$.spec.template.spec.containers[*].args"}});
  EXPECT_EQ(run(object_),
            R"({"args":["-v"],"images":["r.test/app:1","r.test/side:2"],"replicas":2})");
  attributes({{"u", "$.status.updated"}, {"v", "$.status.updated", true}});
  EXPECT_EQ(run(object_), R"({"u":null})");
  attributes({{"third", "$.spec.template.spec.containers[2].name"}});
  EXPECT_EQ(run(object_), R"({"third":null})");
  attributes({{"third", "$.spec.template.spec.containers[2].name", true},
              {"app", "$.metadata.labels.app"}});
  EXPECT_EQ(run(object_), R"({"app":"kiln"})");
  attributes({{"ok", "cel:object.status.ready == object.spec.replicas"},
              {"names", "cel:object.spec.template.spec.containers.map(c, c.name)"}});
  EXPECT_EQ(run(object_), R"({"names":["app","side"],"ok":false})");
  attributes({{"d", "cel:object.spec.template.spec.containers.filter(c, has(c.args))"}});
  EXPECT_EQ(run(object_), R"({"d":[{"args":["-v"],"image":"r.test/side:2","name":"side"}]})");
  attributes({{"x", "cel:object.spec.paused"}});
  EXPECT_TRUE(run(object_).starts_with("cel: attribute x of Deployment orchard/kiln: "));
  attributes({});
  EXPECT_EQ(run(object_), "{}");
}

TEST_F(Kiln, Resource8To12) {
  export_block(R"({"mode":"Resource"})");
  EXPECT_EQ(run(object_),
            R"({"resource":)" + head_ + R"("spec":)" + spec_json_ + R"(,"status":{"ready":1}}})");
  export_block(R"({"mode":"Resource","as":"obj","include":"MetadataOnly"})");
  EXPECT_EQ(
      run(object_),
      R"({"obj":)" + head_ +
          R"("metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"a/b":"s","app":"kiln"}}}})");
  export_block(R"({"mode":"Resource","as":"obj","include":"MetadataOnly","dedupeIdentity":false,
      "prune":{"jsonPointers":["/metadata/labels/a~1b","/metadata/annotations"]}})");
  EXPECT_EQ(run(object_),
            R"({"obj":)" + head_ + R"("metadata":{"creationTimestamp":"2026-01-01T00:00:00Z",)" +
                R"("labels":{"app":"kiln"},"name":"kiln","namespace":"orchard","uid":"d-1"}}})");
  export_block(
      R"({"mode":"Resource","include":"SpecOnly","prune":{"jsonPaths":["$.spec.template.spec.containers[*].args"]}})");
  EXPECT_EQ(
      run(object_),
      R"({"resource":)" + head_ + R"("spec":{"replicas":2,"template":{"spec":{"containers":)" +
          R"([{"image":"r.test/app:1","name":"app"},{"image":"r.test/side:2","name":"side"}]}}}}})");
  export_block(R"({"mode":"Resource","include":"StatusOnly"})");
  attributes({{"r", "$.spec.replicas"}});
  EXPECT_EQ(run(object_), R"({"r":2,"resource":)" + head_ + R"("status":{"ready":1}}})");
  const auto unchanged = base::json::canonical(object_.root());
  EXPECT_NE(unchanged.find("managedFields"), std::string::npos)
      << "the shared object is never altered";
}

TEST_F(Kiln, Scrubbed13And14) {
  const auto object = parse(R"({"kind":"X","spec":{"user":"u","password":"p"}})");
  const std::string redacted = R"({"reason":"sensitive-key","redacted":true})";
  attributes({{"e", "$.spec"}});
  EXPECT_EQ(run(object), R"({"e":{"password":)" + redacted + R"(,"user":"u"}})");
  attributes({{"pw", "$.spec.password"}});
  EXPECT_EQ(run(object), R"({"pw":)" + redacted + "}");
}

using Scrubbing = Fixture;

// E-14: the place of a value counts as its key.
TEST_F(Scrubbing, PlaceOfAValue) {
  const auto object = parse(
      R"({"kind":"X","spec":{"token":["a","b"],"auth":{"x":"y"},"tls":{"key":"k","crt":"c"},"l":[{"secret":"s"},{"secret":null}],
      "serviceAccountToken":true,"env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"n"}}},
      {"name":"B","valueFrom":{"fieldRef":{}}},{"name":"MY_TOKEN","value":"v"}],"secretRef":"text"}})");
  const std::string redacted = R"({"reason":"sensitive-key","redacted":true})";
  EXPECT_EQ(value("$.spec.token[0]", object), redacted);
  EXPECT_EQ(value("$.spec.token[*]", object), redacted);
  EXPECT_EQ(value("$.spec.auth.*", object), redacted);
  EXPECT_EQ(value("$.spec.tls.key", object), redacted);
  EXPECT_EQ(value("$.spec.tls", object), redacted);
  EXPECT_EQ(value("$.spec.tls['crt','key']", object), redacted);
  EXPECT_EQ(value("$.spec.tls.crt", object), R"("c")");
  EXPECT_EQ(value("$.spec.l[*].secret", object), redacted);
  EXPECT_EQ(value("$.spec.serviceAccountToken", object), "true");
  EXPECT_EQ(value("$.spec.l[1].secret", object), "null");
  EXPECT_EQ(value("$.spec.secretRef", object), R"("text")");
  EXPECT_EQ(value("$.spec.env[*].valueFrom", object), "[" + redacted + R"(,{"fieldRef":{}}])");
  EXPECT_EQ(value("$.spec.env[2]", object), R"({"name":"MY_TOKEN","value":)" + redacted + "}");
  attributes({{"apiKey", "$.kind"}});
  EXPECT_EQ(run(object), R"({"apiKey":)" + redacted + "}");
}

using Numbers = Fixture;

// field-integers-past-2-to-53 (json, cel)
TEST_F(Numbers, IntegersPast2To53) {
  const auto object = parse(
      R"({"apiVersion":"harbour.example/v1","kind":"Boat","metadata":{"name":"b","namespace":"n","generation":9007199254740993},
      "spec":{"million":1000000,"odd":9007199254740993,"max":9223372036854775807,"min":-9223372036854775808,
      "umax":18446744073709551615,"one":1,"oneFloat":1.0,"tenth":0.1,"small":1e-7,"negZero":-0.0,"text":"1e3",
      "digits":"00420","hexText":"0x1F"}})");
  EXPECT_EQ(
      value("$.spec", object),
      R"({"digits":"00420","hexText":"0x1F","max":9223372036854775807,"million":1000000,)"
      R"("min":-9223372036854775808,"negZero":-0,"odd":9007199254740993,"one":1,"oneFloat":1,"small":1e-7,)"
      R"("tenth":0.1,"text":"1e3","umax":18446744073709551615})");
  EXPECT_EQ(value("$.metadata.generation", object), "9007199254740993");
  EXPECT_EQ(value("cel: object.spec.odd == 9007199254740993", object), "true");
  EXPECT_EQ(value("cel: object.spec.odd == 9007199254740992", object), "false");
  EXPECT_EQ(value("cel: object.spec.umax", object), "18446744073709551615");
}

// E-35
TEST_F(Numbers, BeyondDoublesFailsTheReaderOnly) {
  const auto object =
      parse(R"({"kind":"X","metadata":{"name":"x"},"spec":{"big":-1e400,"fine":1,"tiny":1e-400}})");
  EXPECT_EQ(value("$.spec.fine", object), "1");
  EXPECT_EQ(value("$.spec.tiny", object), "0");
  EXPECT_TRUE(value("$.spec.big", object).starts_with("limit: "));
  EXPECT_TRUE(value("$.spec", object).starts_with("limit: "));
  attributes({{"a", "$.spec", true}, {"b", "$.spec.fine"}});
  EXPECT_EQ(run(object), R"({"b":1})");
  export_block(R"({"mode":"Resource"})");
  EXPECT_TRUE(run(object).starts_with("limit: attribute resource of X x: "));
  export_block(R"({"mode":"Resource","prune":{"jsonPointers":["/spec/big"]}})");
  EXPECT_EQ(run(object), R"({"b":1,"resource":{"kind":"X","spec":{"fine":1,"tiny":0}}})");
}

using FieldCases = Fixture;

// field-label-keys-with-dots
TEST_F(FieldCases, LabelKeysWithDots) {
  const auto object = parse(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"n",
      "labels":{"app.kubernetes.io/name":"shop","plain":"p","app":{"kubernetes":"never a map in real life"}},
      "annotations":{"a.b/c-d_e":"1","quote'd":"2","back\\slash":"3","":"4","with space":"5","ключ":"6"}},
      "data":{"application-config.yaml":"x: 1\n","db.conf":"y"}})");
  const Example table[] = {
      {"$.metadata.labels.app\\.kubernetes\\.io/name", R"("shop")"},
      {"$.metadata.labels['app.kubernetes.io/name']", R"("shop")"},
      {"$.metadata.labels[\"app.kubernetes.io/name\"]", R"("shop")"},
      {"{.metadata.labels.app\\.kubernetes\\.io/name}", R"("shop")"},
      {"$.metadata.annotations['a.b/c-d_e']", R"("1")"},
      {"$.metadata.annotations['quote\\'d']", R"("2")"},
      {"$.metadata.annotations['back\\\\slash']", R"("3")"},
      {"$.metadata.annotations['']", R"("4")"},
      {"$.data['application-config.yaml']", R"("x: 1\n")"},
      {"$.data.db\\.conf", R"("y")"},
      {"$.metadata.annotations['with space']", R"("5")"},
      {"$.metadata.annotations['ключ']", R"("6")"},
      {"$.metadata.labels.app.kubernetes.io/name", "absent"},
      {"cel:object.metadata.labels['app.kubernetes.io/name']", R"("shop")"},
  };
  for (const auto& line : table) EXPECT_EQ(value(line.path, object), line.value) << line.path;

  const auto hint = [&](const char* path) {
    attributes({{"v", path}});
    return compile()->explain(object.root(), {}).front().hint.value_or("");
  };
  EXPECT_EQ(hint("$.metadata.labels.app.kubernetes.io/name"),
            "a key with dots is there: $.metadata.labels['app.kubernetes.io/name']");
  EXPECT_EQ(hint("$.data.db.conf"), "a key with dots is there: $.data['db.conf']");
  EXPECT_EQ(hint("$.data.nope"), "");
  EXPECT_EQ(hint("$.metadata.labels.plain"), "");
}

using Errors = Fixture;

// E-33
TEST_F(Errors, NameEverythingButTheContent) {
  const auto object = parse(
      R"({"kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{"password":"hunter2","t":"hunter3"}})");
  attributes({{"v", "$.spec[?(@.k)]"}});
  const auto text = run(object);
  for (const auto* part :
       {"v", "$.spec[?(@.k)]", "Deployment", "shop/web", "needs an array", "position 7"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(text.find("hunter"), std::string::npos);
  const std::string long_path = "$." + std::string(400, 'x') + "[0].y";
  const auto deep = parse(R"({"kind":"Deployment","metadata":{"name":")" + std::string(250, 'n') +
                          R"(","namespace":"s"},")" + std::string(400, 'x') + R"(":{}})");
  attributes({{"v", long_path.c_str()}});
  auto extracted = compile()->extract(deep.root(), {});
  ASSERT_FALSE(extracted);
  EXPECT_LE(extracted.error().message.size(), 256U);
  EXPECT_NE(extracted.error().message.find("needs an array"), std::string::npos);
}

TEST_F(Errors, FirstRequiredInProfileOrderCounts) {
  const auto object = parse(R"({"kind":"X","spec":{}})");
  attributes({{"z", "$.spec[0]", true}, {"b", "$.spec[1]"}, {"a", "$.spec[2]"}});
  auto extracted = compile()->extract(object.root(), {});
  ASSERT_FALSE(extracted);
  EXPECT_EQ(extracted.error().attribute, "b");
  EXPECT_EQ(extracted.error().error_class, ErrorClass::kIndex);
}

TEST_F(Errors, ExplainJudgesEachOnItsOwn) {
  const auto object = parse(R"({"kind":"X","spec":{"n":null,"i":"7"}})");
  attributes({{"e", "$.spec[0]"}, {"n", "$.spec.n"}, {"a", "$.spec.zz"}, {"v", "$.spec.i"}});
  spec_.attributes[3].type = "int";
  const auto traces = compile()->explain(object.root(), {});
  ASSERT_EQ(traces.size(), 4U);
  EXPECT_EQ(traces[0].yield, AttributeTrace::Yield::kError);
  EXPECT_EQ(traces[1].yield, AttributeTrace::Yield::kNull);
  EXPECT_EQ(traces[2].yield, AttributeTrace::Yield::kAbsent);
  EXPECT_EQ(traces[3].yield, AttributeTrace::Yield::kValue);
  EXPECT_TRUE(traces[3].type_mismatch);
  EXPECT_EQ(traces[3].value_json, "\"7\"");
}

using Types = Fixture;

TEST_F(Types, MismatchesAreCountedNotChanged) {
  const auto object = parse(R"({"kind":"X","spec":{"s":"1","l":[1,2],"q":"1Gi","n":null}})");
  attributes({{"a", "$.spec.s"},
              {"b", "$.spec.l[*]"},
              {"c", "$.spec.l[*]"},
              {"d", "$.spec.q"},
              {"e", "$.spec.n"}});
  const char* types[] = {"int", "int", "list", "quantity", "int"};
  for (int i = 0; i < 5; ++i) spec_.attributes[static_cast<std::size_t>(i)].type = types[i];
  auto extracted = compile()->extract(object.root(), {});
  ASSERT_TRUE(extracted);
  EXPECT_EQ(extracted->type_mismatches, 2U);
  EXPECT_EQ(extracted->attributes_json, R"({"a":"1","b":[1,2],"c":[1,2],"d":"1Gi","e":null})");
}

}  // namespace
}  // namespace kollect::extract
