// Previews against the recorded ones (spec: sinks 16.2).
#include "sinks/preview.h"

#include <gmock/gmock.h>

#include "sinks/testing.h"

namespace kollect::sinks {
namespace {

using base::json::Object;
using base::json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

template <class T>
Object preview_as(const char* kind, Value spec) {
  if (Value* postgres = spec.find("postgres")) postgres->as_object().erase("databaseRef");
  if (Value* mongodb = spec.find("mongodb")) mongodb->as_object().erase("databaseRef");
  Object metadata;
  metadata.set("name", "preview-sink");
  Object object;
  object.set("apiVersion", api::kApiVersion);
  object.set("kind", kind);
  object.set("metadata", std::move(metadata));
  object.set("spec", std::move(spec));
  const auto sink = api::decode<T>(Value(std::move(object)));
  EXPECT_TRUE(sink.has_value()) << (sink.has_value() ? "" : sink.error().message);
  return sink ? preview(*sink) : Object();
}

Object preview_of(const Value& spec) {
  const auto type = spec.text("type");
  if (type == "postgres" || type == "mongodb" || type == "bigquery" || type == "sqlite") {
    return preview_as<api::DatabaseSink>("KollectDatabaseSink", spec);
  }
  if (type == "kafka" || type == "nats") {
    return preview_as<api::EventSink>("KollectEventSink", spec);
  }
  return preview_as<api::SnapshotSink>("KollectSnapshotSink", spec);
}

/// JSON with single quotes for double ones.
Object preview_text(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return preview_of(testing::parse_json(text));
}

TEST(Preview, AsRecorded) {
  const auto cases = testing::read_case("preview/preview.json");
  ASSERT_EQ(cases.as_array().size(), 10U);
  for (const Value& one : cases.as_array()) {
    const Value& sink = *one.find("sink");
    Object got = preview_of(sink);
    Object want = one.find("preview")->as_object();
    std::int64_t warnings = 0;
    if (const Value* found = got.find("warnings")) {
      warnings = static_cast<std::int64_t>(found->as_array().size());
      got.erase("warnings");
    }
    EXPECT_EQ(warnings, one.find("warningCount")->as_int()) << sink.text("type");
    // The statement is free text.
    if (want.contains("postgres")) {
      want.erase("postgres");
      EXPECT_THAT(std::string(got.find("postgres")->text("expectedDDL")),
                  StartsWith("CREATE TABLE IF NOT EXISTS \"public\".\"t\" (\n  inventory_namespace "
                             "text NOT NULL"));
      got.erase("postgres");
    }
    // The index begins with the cluster (K-43).
    if (const Value* mongodb = want.find("mongodb")) {
      base::json::Array keys = {Value("cluster")};
      const auto& recorded = mongodb->find("expectedIndexKeys")->as_array();
      keys.insert(keys.end(), recorded.begin(), recorded.end());
      Object ours;
      ours.set("expectedIndexKeys", Value(std::move(keys)));
      want.set("mongodb", Value(std::move(ours)));
    }
    EXPECT_EQ(base::json::canonical(Value(std::move(got))),
              base::json::canonical(Value(std::move(want))));
  }
}

TEST(Preview, NamesOfTables) {
  const Object named = preview_text(
      "{'type':'postgres','cluster':'pier-7','postgres':{'schema':'crm'},'provisioning':{'naming':"
      "{'template':'inv_{cluster}_{namespace}_{name}'}}}");
  EXPECT_THAT(std::string(named.find("postgres")->text("expectedDDL")),
              HasSubstr("\"crm\".\"inv_pier-7_team-a_api\""));
}

TEST(Preview, CommitsWithTrailers) {
  const Object git = preview_text(
      "{'type':'git','endpoint':'https://h/x.git','git':{'commitMessage':'{namespace} at "
      "{exportedAt}','commitBody':'one','commitTrailers':['Sink: {sink}'],'prune':true}}");
  EXPECT_EQ(git.find("git")->text("sampleCommitSubject"), "team-a at 2026-01-01T00:00:00Z");
  EXPECT_EQ(git.find("git")->text("sampleCommitBody"), "one\n\nSink: preview-sink");
  EXPECT_TRUE(git.find("layout")->find("prune")->as_bool());
  // That block is not read for GitLab.
  const Object gitlab = preview_text(
      "{'type':'gitlab','endpoint':'https://h/x.git','git':{'commitMessage':'x','prune':true}}");
  EXPECT_THAT(std::string(gitlab.find("git")->text("sampleCommitSubject")), StartsWith("chore("));
  EXPECT_EQ(gitlab.find("layout")->find("prune"), nullptr);
  EXPECT_FALSE(gitlab.contains("warnings"));
  const Object reviewed = preview_text(
      "{'type':'gitlab','endpoint':'https://h/x.git','gitlab':{'mergeRequest':{'mode':"
      "'merge_request','targetBranch':'main','titleTemplate':'Rows of {name}'}}}");
  EXPECT_THAT(reviewed.find("warnings")->as_array(),
              ElementsAre(Value("a merge request \"Rows of api\" from branch kollect/team-a/api "
                                "into main")));
}

TEST(Preview, ATreeWithoutIndex) {
  const Object git = preview_text(
      "{'type':'git','endpoint':'https://h/x.git','layout':{'mode':'split','index':{'enabled':"
      "false},'pathTemplate':'{group}/{kind}/{uid}{extension}'}}");
  EXPECT_THAT(git.find("layout")->find("samplePaths")->as_array(),
              ElementsAre(Value("apps/deployment/api.yaml"), Value("apps/deployment/web.yaml"),
                          Value("apps/deployment/cache.yaml")));
}

TEST(Preview, WhatCannotBeRenderedIsAWarning) {
  for (const char* spec : {"{'type':'git','pathTemplate':'../{name}'}",
                           "{'type':'git','serialization':{'format':'csv'}}",
                           "{'type':'s3','pathTemplate':'a/../b'}"}) {
    const Object git = preview_text(spec);
    EXPECT_FALSE(git.contains("objectPath")) << spec;
    ASSERT_TRUE(git.contains("warnings")) << spec;
    EXPECT_EQ(git.find("warnings")->as_array().size(), 1U) << spec;
  }
  EXPECT_EQ(
      preview_text("{'type':'s3','objectStore':{'format':'csv'}}").find("objectPath")->as_string(),
      "inventory/team-a/api.csv");
}

TEST(Preview, ACompressedObject) {
  EXPECT_EQ(
      preview_text("{'type':'s3','endpoint':'s3://b/pre','serialization':{'compression':'zstd'"
                   "}}")
          .find("objectPath")
          ->as_string(),
      "inventory/team-a/api.json.zst");
  const Object refused = preview_text("{'type':'gcs','serialization':{'compression':'snappy'}}");
  EXPECT_FALSE(refused.contains("objectPath"));
  EXPECT_TRUE(refused.contains("warnings"));
}

}  // namespace
}  // namespace kollect::sinks
