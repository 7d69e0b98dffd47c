// The tables N, O, R, W and C of spec selection over its fixture (tests/cases/select).
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "api/codec.h"
#include "base/files.h"
#include "base/json/document.h"
#include "base/strings.h"
#include "base/yaml/read.h"
#include "select/selection.h"

namespace kollect::select {
namespace {

using base::json::Value;

struct Object {
  std::string group;
  std::string kind;
  std::string ns;
  std::string name;
  base::json::Document document;
};

struct Fixture {
  Namespaces namespaces;
  std::vector<Object> objects;
};

Labels text_map(const Value* map) {
  Labels labels;
  if (map == nullptr) return labels;
  for (const auto& [key, value] : map->as_object()) labels[key] = value.as_string();
  return labels;
}

std::string read_case(const std::string& name) {
  auto text = base::read_file(KOLLECT_SOURCE_DIR "/tests/cases/select/" + name);
  EXPECT_TRUE(text.has_value()) << name;
  return text.value_or("");
}

Fixture load_fixture() {
  Fixture fixture;
  const auto documents = base::yaml::read_all(read_case("fixture.yaml"));
  EXPECT_TRUE(documents.has_value());
  for (const base::yaml::Document& document : *documents) {
    const Value& value = document.value;
    const Value& metadata = *value.find("metadata");
    if (value.text("kind") == "Namespace") {
      Namespace ns{.name = std::string(metadata.text("name")),
                   .labels = text_map(metadata.find("labels")),
                   .annotations = text_map(metadata.find("annotations"))};
      fixture.namespaces[ns.name] = ns;
      continue;
    }
    const std::string api_version(value.text("apiVersion"));
    const std::size_t slash = api_version.find('/');
    fixture.objects.push_back(
        {.group = slash == std::string::npos ? "" : api_version.substr(0, slash),
         .kind = std::string(value.text("kind")),
         .ns = std::string(metadata.text("namespace")),
         .name = std::string(metadata.text("name")),
         .document = base::json::Document::from_value(value)});
  }
  return fixture;
}

Value load_cases(const char* table) {
  auto cases = base::yaml::read_one(read_case("cases.json"));
  EXPECT_TRUE(cases.has_value()) << cases.error().message;
  return *cases->find(table);
}

api::TargetSpec target_spec(const Value& spec) {
  Value manifest(base::json::Object{});
  manifest.as_object()["apiVersion"] = Value(api::kApiVersion);
  manifest.as_object()["kind"] = Value("KollectTarget");
  Value metadata(base::json::Object{});
  metadata.as_object()["name"] = Value("t");
  manifest.as_object()["metadata"] = metadata;
  manifest.as_object()["spec"] = spec;
  auto target = api::decode<api::Target>(manifest);
  EXPECT_TRUE(target.has_value()) << target.error().message;
  return target ? target->spec : api::TargetSpec{};
}

base::Result<Selection> compile(const api::TargetSpec& spec, const api::GroupVersionKind& kind) {
  return Selection::compile(
      {.common = &spec,
       .namespace_selector = spec.namespace_selector ? &*spec.namespace_selector : nullptr,
       .label_selector = spec.label_selector ? &*spec.label_selector : nullptr,
       .names = &spec.names,
       .opt_in = spec.watch_mode == "OptIn"},
      kind);
}

std::vector<std::string> list_of(const Value& limits, std::string_view key) {
  std::vector<std::string> list;
  if (const Value* values = limits.find(key)) {
    for (const Value& value : values->as_array()) list.push_back(value.as_string());
  }
  return list;
}

const api::GroupVersionKind kDeployment{"apps", "v1", "Deployment"};
const api::GroupVersionKind kNode{"", "v1", "Node"};

/// "ns/name ns/name" of everything taken, in fixture order.
std::string rows_of(const Selection& selection, const Fixture& fixture, PolicyErrors& errors) {
  const auto effective = selection.namespaces(fixture.namespaces, {}).effective;
  std::vector<std::string> rows;
  for (const Object& object : fixture.objects) {
    const bool namespaced = !object.ns.empty();
    const Namespace* ns = namespaced ? &fixture.namespaces.at(object.ns) : nullptr;
    if (selection.judge(object.document.root(), object.group, object.kind, ns, namespaced,
                        effective, errors) == Verdict::kTaken) {
      rows.push_back(namespaced ? object.ns + "/" + object.name : object.name);
    }
  }
  return base::join(rows, " ");
}

TEST(Selection, TableN) {
  const Fixture fixture = load_fixture();
  const Value cases = load_cases("namespaces");
  for (const Value& c : cases.as_array()) {
    SCOPED_TRACE(c.text("case"));
    const auto spec = target_spec(*c.find("spec"));
    const auto selection = compile(spec, kDeployment);
    if (const Value* refused = c.find("refused")) {
      ASSERT_FALSE(selection.has_value());
      EXPECT_EQ(selection.error().kind, base::ErrorKind::kConfiguration);
      EXPECT_NE(selection.error().message.find(refused->as_string()), std::string::npos);
      continue;
    }
    ASSERT_TRUE(selection.has_value()) << selection.error().message;
    const Value& limits = *c.find("limits");
    const NamespaceResult result = selection->namespaces(
        fixture.namespaces, {.default_included = list_of(limits, "defaultIncluded"),
                             .default_excluded = list_of(limits, "defaultExcluded"),
                             .watch_namespaces = list_of(limits, "watch"),
                             .allowed = list_of(limits, "allowed"),
                             .denied = list_of(limits, "denied")});
    EXPECT_EQ(base::join(result.matched, " "), c.text("matched"));
    EXPECT_EQ(base::join(result.effective, " "), c.text("effective"));
  }
}

void run_rows_table(const char* table, const api::GroupVersionKind& kind) {
  const Fixture fixture = load_fixture();
  const Value cases = load_cases(table);
  for (const Value& c : cases.as_array()) {
    SCOPED_TRACE(c.text("case"));
    const auto spec = target_spec(*c.find("spec"));
    const auto selection = compile(spec, kind);
    ASSERT_TRUE(selection.has_value()) << selection.error().message;
    PolicyErrors errors;
    EXPECT_EQ(rows_of(*selection, fixture, errors), c.text("rows"));
    const Value* want_errors = c.find("policyErrors");
    EXPECT_EQ(static_cast<std::int64_t>(errors.count), want_errors ? want_errors->as_int() : 0);
  }
}

TEST(Selection, TableO) {
  run_rows_table("objects", kDeployment);
}
TEST(Selection, TableR) {
  run_rows_table("rules", kDeployment);
}
TEST(Selection, TableC) {
  run_rows_table("cluster", kNode);
}

TEST(Selection, TableW) {
  const Value cases = load_cases("watchLabels");
  for (const Value& c : cases.as_array()) {
    SCOPED_TRACE(c.text("case"));
    api::TargetSpec spec;
    if (c.find("optIn")->as_bool()) spec.watch_mode = "OptIn";
    const auto selection = compile(spec, kDeployment);
    ASSERT_TRUE(selection.has_value());
    Namespace ns{.name = "shop", .labels = {}, .annotations = {}};
    if (const Value* v = c.find("label"); v->is_string())
      ns.labels["kollect.dev/watch"] = v->as_string();
    if (const Value* v = c.find("annotation"); v->is_string()) {
      ns.annotations["kollect.dev/namespace-watch"] = v->as_string();
    }
    std::string labels = "{}";
    if (const Value* v = c.find("object"); v->is_string()) {
      labels = fmt::format(R"({{"kollect.dev/watch":"{}"}})", v->as_string());
    }
    const auto object = base::json::Document::parse(
        fmt::format(R"({{"metadata":{{"name":"a","labels":{}}}}})", labels));
    PolicyErrors errors;
    const Verdict verdict =
        selection->judge(object->root(), "apps", "Deployment", &ns, true, {"shop"}, errors);
    EXPECT_EQ(verdict, c.find("taken")->as_bool() ? Verdict::kTaken : Verdict::kWatchLabel);
  }
}

TEST(Selection, WatchKeysAreNotInterchangeable) {
  const auto selection = compile({}, kDeployment);
  const Namespace ns{.name = "shop",
                     .labels = {{"kollect.dev/namespace-watch", "disabled"}},
                     .annotations = {{"kollect.dev/watch", "disabled"}}};
  const auto object = base::json::Document::parse(R"({"metadata":{"name":"a"}})");
  PolicyErrors errors;
  EXPECT_EQ(selection->judge(object->root(), "apps", "Deployment", &ns, true, {"shop"}, errors),
            Verdict::kTaken);
}

// field-same-kind-in-two-groups: one kind in two groups are two kinds.
TEST(Selection, KindsAreKeyedByGroup) {
  const auto selection = compile({}, {"", "v1", "Service"});
  const Namespace ns{.name = "shop", .labels = {}, .annotations = {}};
  const auto object = base::json::Document::parse(R"({"metadata":{"name":"a"}})");
  PolicyErrors errors;
  EXPECT_EQ(
      selection->judge(object->root(), "serving.example", "Service", &ns, true, {"shop"}, errors),
      Verdict::kWrongKind);
  EXPECT_EQ(selection->judge(object->root(), "", "Service", &ns, true, {"shop"}, errors),
            Verdict::kTaken);
}

TEST(Selection, PolicyErrorsNameTheObject) {
  api::TargetSpec spec;
  spec.resource_rules.push_back({.gvk = kDeployment,
                                 .match_expressions = {},
                                 .match_labels = {},
                                 .match_policy = "object.spec.gone",
                                 .namespace_selector = {}});
  const auto selection = compile(spec, kDeployment);
  ASSERT_TRUE(selection.has_value()) << selection.error().message;
  const Namespace ns{.name = "shop", .labels = {}, .annotations = {}};
  const auto object = base::json::Document::parse(R"({"metadata":{"name":"a"},"spec":{}})");
  PolicyErrors errors;
  (void)selection->judge(object->root(), "apps", "Deployment", &ns, true, {"shop"}, errors);
  EXPECT_EQ(errors.count, 1U);
  EXPECT_EQ(errors.last.find("shop/a: "), 0U);
}

TEST(Selection, BadRulesFailTheTargetWithTheirField) {
  api::TargetSpec spec;
  spec.resource_rules.push_back({.gvk = kDeployment,
                                 .match_expressions = {},
                                 .match_labels = {},
                                 .match_policy = "object.spec.(",
                                 .namespace_selector = {}});
  const auto selection = compile(spec, kDeployment);
  ASSERT_FALSE(selection.has_value());
  EXPECT_NE(selection.error().message.find("spec.resourceRules[0].matchPolicy"), std::string::npos);
}

TEST(Selection, KindsOfRulesReplaceTheProfilesKind) {
  api::TargetSpec spec;
  spec.resource_rules.push_back({.gvk = {"apps", "v1", "StatefulSet"},
                                 .match_expressions = {},
                                 .match_labels = {},
                                 .match_policy = "",
                                 .namespace_selector = {}});
  spec.resource_rules.push_back({.gvk = {"apps", "v1beta1", "StatefulSet"},
                                 .match_expressions = {},
                                 .match_labels = {},
                                 .match_policy = " ",
                                 .namespace_selector = {}});
  spec.names = {"zzz"};
  const auto selection = compile(spec, kDeployment);
  ASSERT_TRUE(selection.has_value());
  ASSERT_EQ(selection->kinds().size(), 1U);
  EXPECT_EQ(selection->kinds()[0].kind, "StatefulSet");
  EXPECT_TRUE(selection->names().empty());
}

TEST(Selection, WhenNamespacesMustBeListed) {
  api::TargetSpec spec;
  EXPECT_TRUE(compile(spec, kDeployment)->needs_namespace_list());
  spec.included_namespaces = {"shop"};
  EXPECT_FALSE(compile(spec, kDeployment)->needs_namespace_list());
  spec.namespace_exclude_selector = api::LabelSelector{};
  EXPECT_TRUE(compile(spec, kDeployment)->needs_namespace_list());
}

TEST(LabelSelector, InvalidOnesAreRefused) {
  const auto refused = [](const char* key, const char* op, std::vector<std::string> values) {
    api::LabelSelector selector;
    selector.match_expressions.push_back({key, op, std::move(values)});
    return !LabelSelector::compile(selector).has_value();
  };
  EXPECT_TRUE(refused("a", "In", {}));
  EXPECT_TRUE(refused("a", "NotIn", {}));
  EXPECT_TRUE(refused("a", "Exists", {"x"}));
  EXPECT_TRUE(refused("a", "in", {"x"}));
  EXPECT_TRUE(refused("", "Exists", {}));
  EXPECT_TRUE(refused("a/b/c", "Exists", {}));
  EXPECT_TRUE(refused("-a", "Exists", {}));
  EXPECT_TRUE(refused("Example.com/a", "Exists", {}));
  EXPECT_TRUE(refused(std::string(64, 'a').c_str(), "Exists", {}));
  EXPECT_TRUE(refused("a", "In", {"not valid"}));
  EXPECT_FALSE(refused("example.com/a_b.c", "In", {"", "x.y_z-1"}));
}

TEST(LabelSelector, Query) {
  api::LabelSelector selector;
  selector.match_labels = {{"app", "api"}};
  selector.match_expressions = {{"a", "In", {"x", "y"}},
                                {"b", "NotIn", {"z"}},
                                {"c", "Exists", {}},
                                {"d", "DoesNotExist", {}}};
  EXPECT_EQ(LabelSelector::compile(selector)->to_query(), "app=api,a in (x,y),b notin (z),c,!d");
  EXPECT_EQ(LabelSelector().to_query(), "");
}

}  // namespace
}  // namespace kollect::select
