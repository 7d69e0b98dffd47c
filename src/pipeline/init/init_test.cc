// The parts of `kollect init` that need no cluster (spec: pipeline 14).
#include <gtest/gtest.h>

#include "base/json/document.h"
#include "pipeline/init/dialogue.h"
#include "pipeline/init/plan.h"
#include "pipeline/init/suggest.h"

namespace kollect::pipeline::init {
namespace {

using base::json::Document;

Plan deployment_plan() {
  Plan plan;
  plan.kind = {"apps", "v1", "Deployment"};
  plan.name = "deployment";
  plan.attributes = safe_attributes(true);
  return plan;
}

TEST(InitPlan, ManifestsAreSortedAndStable) {
  Plan plan = deployment_plan();
  plan.included_namespaces = {"shop"};
  EXPECT_EQ(target_yaml(plan), R"(apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata:
  name: deployment
  namespace: kollect-system
spec:
  includedNamespaces:
  - shop
  profileRef: deployment
)");
  EXPECT_EQ(profile_yaml(plan), profile_yaml(plan));
  EXPECT_NE(profile_yaml(plan).find("path: $.metadata.namespace"), std::string::npos);
}

TEST(InitPlan, PoliciesTakeTheObjectFilterAlong) {
  Plan plan = deployment_plan();
  plan.match_policy = "true";
  plan.object_selector = parse_selector("app=web").value();
  const std::string yaml = target_yaml(plan);
  EXPECT_NE(yaml.find("matchPolicy: \"true\""), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("app: web"), std::string::npos) << yaml;
  EXPECT_EQ(yaml.find("labelSelector"), std::string::npos) << yaml;
}

TEST(InitPlan, AcceptedByAdmission) {
  for (const auto& kind : {api::GroupVersionKind{"apps", "v1", "Deployment"},
                           {"", "v1", "Pod"},
                           {"", "v1", "Secret"},
                           {"networking.k8s.io", "v1", "Ingress"},
                           {"cert-manager.io", "v1", "Certificate"},
                           {"helm.toolkit.fluxcd.io", "v2", "HelmRelease"},
                           {"", "v1", "Node"}}) {
    Plan plan;
    plan.kind = kind;
    plan.name = default_name(kind);
    plan.attributes = preset_attributes(kind, true);
    plan.match_policy = noise_policy(kind);
    auto checked = check(plan);
    EXPECT_TRUE(checked) << kind.kind << ": " << (checked ? "" : checked.error().message);
  }
}

TEST(InitPlan, SecretDataNeedsTheOptIn) {
  Plan plan;
  plan.kind = {"", "v1", "Secret"};
  plan.name = "secret";
  plan.attributes = {{"pw", "$.data.pw", "string", true}};
  EXPECT_FALSE(check(plan));
  plan.allow_secret_extraction = true;
  EXPECT_TRUE(check(plan));
}

TEST(InitSelector, ReadsEveryForm) {
  auto selector = parse_selector("app=web, tier!=test env in (a, b) region notin (x),zone !gone");
  ASSERT_TRUE(selector) << selector.error().message;
  EXPECT_EQ(selector->match_labels.at("app"), "web");
  ASSERT_EQ(selector->match_expressions.size(), 5U);
  EXPECT_EQ(selector->match_expressions[0].op, "NotIn");
  EXPECT_EQ(selector->match_expressions[1].values, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(selector->match_expressions[2].op, "NotIn");
  EXPECT_EQ(selector->match_expressions[3].op, "Exists");
  EXPECT_EQ(selector->match_expressions[4].op, "DoesNotExist");
  EXPECT_FALSE(parse_selector(" "));
  EXPECT_FALSE(parse_selector("=x"));
}

TEST(InitSuggest, LeavesServerMadeAndSecretThingsOut) {
  auto object =
      Document::parse(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","uid":"u",
    "annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"secret\":1}","a.b/c":"x"},
    "managedFields":[{"manager":"k"}],"finalizers":["f"]},
    "data":{"key":"value-of-data"},
    "spec":{"template":{"finalizers":["kept"],"n":3},"list":[{"deep":true},{"deep":false}],"n":4}})");
  const auto suggestions = suggest(object->root(), false);
  std::map<std::string, Suggestion> by_path;
  for (const auto& s : suggestions) by_path[s.attribute.path] = s;
  EXPECT_FALSE(by_path.contains("$.metadata.uid"));
  EXPECT_FALSE(by_path.contains("$.metadata.finalizers[0]"));
  EXPECT_TRUE(by_path.contains("$.spec.template.finalizers[0]"));
  EXPECT_TRUE(by_path.contains("$.metadata.annotations['a.b/c']"));
  for (const auto& [path, s] : by_path) EXPECT_EQ(path.find("last-applied"), std::string::npos);
  EXPECT_EQ(by_path.at("$.data.key").preview, "");
  EXPECT_EQ(by_path.at("$.data.key").attribute.name, "data.key");
  EXPECT_EQ(by_path.at("$.spec.list[0].deep").attribute.type, "boolean");
  EXPECT_EQ(by_path.at("$.spec.n").attribute.name, "n");
  EXPECT_EQ(by_path.at("$.spec.template.n").attribute.name, "template.n");
}

TEST(InitSuggest, SensitiveKindsShowNoValue) {
  auto object = Document::parse(R"({"type":"Opaque","data":{"k":"dg=="}})");
  for (const auto& s : suggest(object->root(), true)) EXPECT_EQ(s.preview, "") << s.attribute.path;
}

TEST(InitSuggest, LongTextsAreCut) {
  auto object = Document::parse(R"({"spec":{"t":")" + std::string(60, 'x') + R"("}})");
  EXPECT_EQ(suggest(object->root(), false).at(0).preview, "\"" + std::string(45, 'x') + "...\"");
}

/// A dialogue over given answers.
class Answers {
 public:
  explicit Answers(std::string text)
      : text_(std::move(text)), in_(fmemopen(text_.data(), text_.size(), "r")) {}
  ~Answers() {
    std::fclose(in_);
    std::fclose(out_);
  }
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;
  Dialogue dialogue() { return {base::Context::background(), in_, out_, false}; }

 private:
  std::string text_;
  std::FILE* in_;
  std::FILE* out_ = std::fopen("/dev/null", "w");
};

TEST(InitDialogue, ChoosesByNumberNameAndPart) {
  const std::vector<std::string> kinds = {"ConfigMap (v1)", "Deployment (apps/v1)", "Secret (v1)"};
  Answers answers("2\nConfigMap\nsecr\n9\n3\n");
  auto dialogue = answers.dialogue();
  EXPECT_EQ(dialogue.choose("?", kinds).value(), 1U);
  EXPECT_EQ(dialogue.choose("?", kinds).value(), 0U);
  EXPECT_EQ(dialogue.choose("?", kinds).value(), 2U);
  EXPECT_EQ(dialogue.choose("?", kinds).value(), 2U);
  EXPECT_FALSE(dialogue.choose("?", kinds));
}

TEST(InitDialogue, NothingChosenIsAskedAgain) {
  Answers answers("\nnope\na,3\n");
  auto dialogue = answers.dialogue();
  EXPECT_EQ(dialogue.choose_several("?", {"a", "b", "c"}, {}).value(),
            (std::vector<std::size_t>{0, 2}));
}

TEST(InitDialogue, EndOfInputCancels) {
  Answers answers("maybe\n");
  auto dialogue = answers.dialogue();
  auto answer = dialogue.confirm("?", true);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, base::ErrorKind::kCancelled);
}

}  // namespace
}  // namespace kollect::pipeline::init
