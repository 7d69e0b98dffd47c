// Rules and text checks of sinks against the recorded examples (spec: examples/sinks).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "admission/checks.h"
#include "admission/rules.h"
#include "api/codec.h"
#include "base/json/document.h"

namespace kollect::admission {
namespace {

using base::json::Value;

Value read_cases(const std::string& name) {
  std::ifstream in(KOLLECT_SOURCE_DIR "/tests/cases/admission/" + name);
  std::stringstream text;
  text << in.rdbuf();
  auto document = base::json::Document::parse(text.str());
  EXPECT_TRUE(document.has_value()) << name;
  return base::json::to_value(document->root());
}

template <class T>
void apply(Findings& findings, const Value& object, const std::vector<Value>& existing,
           void (*rules)(Findings&, const T&, const RuleContext&)) {
  auto decoded = api::decode<T>(object);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  const ManifestLookup lookup(existing);
  const Settings settings;
  rules(findings, *decoded, {lookup, settings});
}

/// Scopes of the sink's namespace: the one of the example, if it has one.
std::vector<Value> scopes_of(const Value& example) {
  const Value* spec = example.find("scope");
  if (spec == nullptr) return {};
  base::json::Object metadata;
  metadata.set("name", "boundary");
  metadata.set("namespace", "default");
  base::json::Object scope;
  scope.set("apiVersion", api::kApiVersion);
  scope.set("kind", "KollectScope");
  scope.set("metadata", std::move(metadata));
  scope.set("spec", *spec);
  return {Value(std::move(scope))};
}

/// The rules alone, without the schema in front: the recorded cases hold values that the schema
/// stops.
Findings rules_of(const Value& example) {
  base::json::Object object;
  object.set("apiVersion", api::kApiVersion);
  object.set("kind", *example.find("kind"));
  object.set("spec", *example.find("spec"));
  Findings findings;
  const std::string_view kind = example.text("kind");
  const std::vector<Value> existing = scopes_of(example);
  if (kind == "KollectSnapshotSink") {
    apply<api::SnapshotSink>(findings, object, existing, check_snapshot_sink);
  } else if (kind == "KollectDatabaseSink") {
    apply<api::DatabaseSink>(findings, object, existing, check_database_sink);
  } else {
    apply<api::EventSink>(findings, object, existing, check_event_sink);
  }
  return findings;
}

/// "path kind" of each.
std::vector<std::string> errors_of(Findings& findings) {
  std::vector<std::string> out;
  for (const FieldError& error : findings.errors()) out.push_back(error.path + " " + error.kind);
  return out;
}

TEST(SinkRules, RecordedSpecs) {
  const std::map<std::string_view, std::string> kinds = {{"FieldValueRequired", "Required"},
                                                         {"FieldValueInvalid", "Invalid"},
                                                         {"FieldValueNotSupported", "NotSupported"},
                                                         {"FieldValueForbidden", "Forbidden"}};
  const Value all = read_cases("specs.json");
  ASSERT_FALSE(all.as_array().empty());
  for (const Value& example : all.as_array()) {
    SCOPED_TRACE(example.text("why"));
    Findings findings = rules_of(example);
    std::vector<std::string> expected;
    for (const Value& error : example.find("errors")->as_array()) {
      expected.push_back(std::string(error.text("field")) + " " + kinds.at(error.text("type")));
    }
    EXPECT_EQ(errors_of(findings), expected);
    if (expected.empty()) {
      // sinks K-12 adds a warning for a compression that git ignores.
      const std::int64_t more = example.text("why") == "git ndjson gzip" ? 1 : 0;
      EXPECT_EQ(static_cast<std::int64_t>(findings.warnings().size()),
                example.find("warningsIfAccepted")->as_int() + more);
    }
  }
}

// Ours, in the order of the rules: `errors` as "path kind", `warnings` by what they begin with.
TEST(SinkRules, EveryTypeByItsRules) {
  const Value all = read_cases("sinks.json");
  ASSERT_GT(all.as_array().size(), 90U);
  for (const Value& example : all.as_array()) {
    SCOPED_TRACE(example.text("why"));
    Findings findings = rules_of(example);
    std::vector<std::string> errors;
    for (const Value& error : example.find("errors")->as_array()) {
      errors.push_back(error.as_string());
    }
    EXPECT_EQ(errors_of(findings), errors);
    if (!errors.empty()) continue;
    const auto& warnings = example.find("warnings")->as_array();
    ASSERT_EQ(findings.warnings().size(), warnings.size());
    for (std::size_t i = 0; i < warnings.size(); ++i) {
      EXPECT_THAT(findings.warnings()[i], ::testing::StartsWith(warnings[i].as_string() + ":"));
    }
  }
}

TEST(SinkRules, RecordedEndpoints) {
  const Value all = read_cases("endpoints.json");
  Settings strict;
  Settings open;
  open.allow_private_sinks = true;
  std::size_t judged = 0;
  for (const Value& example : all.as_array()) {
    const bool admitted = example.find("admittedByDefault")->as_bool();
    if (const Value* endpoint = example.find("endpoint")) {
      EXPECT_EQ(!git_endpoint_problem(endpoint->as_string(), strict), admitted)
          << endpoint->as_string();
      EXPECT_EQ(!git_endpoint_problem(endpoint->as_string(), open),
                example.find("admittedWithAllowPrivateSinks")->as_bool())
          << endpoint->as_string();
    } else if (const Value* broker = example.find("broker")) {
      EXPECT_EQ(!broker_problem(broker->as_string(), strict), admitted) << broker->as_string();
    } else {
      const std::string& store = example.find("objectStoreEndpoint")->as_string();
      EXPECT_EQ(!object_store_endpoint_problem(store, strict), admitted) << store;
    }
    ++judged;
  }
  EXPECT_GT(judged, 30U);
}

// Digest in spec crds 10.3, and the addresses that 4.9 wants unwrapped.
TEST(SinkRules, MoreEndpoints) {
  const Settings settings;
  for (const char* endpoint :
       {"https://[::ffff:100.64.0.1]/x", "https://[64:ff9b::7f00:1]/x", "https://x.localhost/a",
        "FILE:///x", "file:/x", "https://user:geheim@127.0.0.1/x"}) {
    const auto problem = git_endpoint_problem(endpoint, settings);
    ASSERT_TRUE(problem.has_value()) << endpoint;
    EXPECT_EQ(problem->find("geheim"), std::string::npos);
  }
  for (const char* endpoint :
       {"/x", "https://8.8.8.8/", "https://239.1.1.1/", "https://255.255.255.255/",
        "https://[fec0::1]/", "https://127.1/", "https://0x7f.0.0.1/", "git@[::1]:a/b"}) {
    EXPECT_FALSE(git_endpoint_problem(endpoint, settings).has_value()) << endpoint;
  }
  EXPECT_TRUE(broker_problem("::1", settings).has_value());
  EXPECT_FALSE(broker_problem("", settings).has_value());
  EXPECT_FALSE(url_problem("127.0.0.1:4222", settings).has_value());
  EXPECT_FALSE(object_store_endpoint_problem("10.0.0.1:9000/b", settings).has_value());
}

// Spec pipeline L-62.
TEST(SinkRules, LocalSinksWhenAllowed) {
  Settings settings;
  settings.allow_local_sinks = true;
  EXPECT_FALSE(git_endpoint_problem("file:///srv/x.git", settings).has_value());
  EXPECT_TRUE(git_endpoint_problem("https://127.0.0.1/x.git", settings).has_value());
}

TEST(SinkRules, RecordedTemplates) {
  const Value all = read_cases("template-validation.json");
  for (const Value& example : all.as_array()) {
    const std::string& text = example.find("template")->as_string();
    const auto problem = example.text("field") == "pathTemplate" ? document_template_problem(text)
                                                                 : row_template_problem(text);
    EXPECT_EQ(!problem.has_value(), example.find("ok")->as_bool()) << text;
  }
}

TEST(SinkRules, RecordedBranches) {
  const Value all = read_cases("branch-names.json");
  for (const Value& example : all.as_array()) {
    const std::string& name = example.find("ref")->as_string();
    if (!name.empty()) {  // admission takes an empty name for "not given"
      EXPECT_EQ(!branch_problem(name).has_value(), example.find("ok")->as_bool()) << name;
    }
  }
  for (const char* name : {"_x", "/a", "\xC3\xBC"}) {
    EXPECT_TRUE(branch_problem(name).has_value()) << name;
  }
}

TEST(SinkRules, CredentialKeys) {
  for (const char* key :
       {"Password", "my_token_ttl", "AccessKeyId", "PRIVATE_KEY", "credentials"}) {
    EXPECT_TRUE(looks_like_credential(key)) << key;
  }
  EXPECT_FALSE(looks_like_credential("statement_timeout"));
}

}  // namespace
}  // namespace kollect::admission
