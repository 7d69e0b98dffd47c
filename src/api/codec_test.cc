#include "api/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/document.h"
#include "base/json/write.h"

namespace kollect::api {
namespace {

using base::json::Value;
using testing::ElementsAre;
using testing::HasSubstr;

Value parse(std::string_view text) {
  auto document = base::json::Document::parse(text);
  EXPECT_TRUE(document.has_value()) << text;
  return base::json::to_value(document->root());
}

Value manifest(const std::string& kind, const std::string& spec) {
  return parse(R"({"apiVersion":"kollect.dev/v1alpha1","kind":")" + kind +
               R"(","metadata":{"name":"x","namespace":"team-a","labels":{"l":"1"}},"spec":)" +
               spec + "}");
}

TEST(Decode, ReadsEveryShapeOfAProfile) {
  const auto profile = decode<Profile>(manifest("KollectProfile", R"({
    "targetGVK":{"group":"apps","version":"v1","kind":"Deployment"},
    "attributes":[{"name":"a","path":"$.a","optional":false,"type":"int"}],
    "export":{"mode":"Resource","dedupeIdentity":false,"prune":{"jsonPointers":["/a"],"defaults":true}},
    "metrics":[{"name":"m","path":"a","labels":["x","y"]}]})"));
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  EXPECT_EQ(profile->metadata.ns, "team-a");
  EXPECT_EQ(profile->metadata.labels.at("l"), "1");
  EXPECT_EQ(profile->spec.target_gvk, (GroupVersionKind{"apps", "v1", "Deployment"}));
  EXPECT_EQ(profile->spec.attributes[0].optional, false);
  EXPECT_EQ(profile->spec.export_spec->dedupe_identity, false);
  EXPECT_EQ(profile->spec.export_spec->prune->defaults, true);
  EXPECT_THAT(profile->spec.metrics[0].labels, ElementsAre("x", "y"));
}

// Spec crds 9 D2: names, objects and mixtures of both.
TEST(Decode, SinkReferencesMayBeNames) {
  const auto inventory = decode<Inventory>(manifest(
      "KollectInventory", R"({"snapshotSinkRefs":["a",{"name":"b","maxExportBytes":5}]})"));
  ASSERT_TRUE(inventory.has_value()) << inventory.error().message;
  EXPECT_EQ(inventory->spec.snapshot_sink_refs[0].name, "a");
  EXPECT_EQ(inventory->spec.snapshot_sink_refs[1].max_export_bytes, 5);
}

TEST(Decode, ErrorsNameThePath) {
  const auto duration =
      decode<Inventory>(manifest("KollectInventory", R"({"exportMinInterval":"1d"})"));
  ASSERT_FALSE(duration.has_value());
  EXPECT_THAT(duration.error().message, HasSubstr("spec.exportMinInterval"));
  const auto type =
      decode<Target>(manifest("KollectTarget", R"({"profileRef":"p","names":["a",1]})"));
  ASSERT_FALSE(type.has_value());
  EXPECT_THAT(type.error().message, HasSubstr("spec.names[1]"));
  EXPECT_FALSE(decode<Target>(manifest("KollectProfile", "{}")).has_value());
  EXPECT_FALSE(decode<Target>(Value("text")).has_value());
}

TEST(Encode, GivesBackWhatWasDecoded) {
  const std::pair<const char*, const char*> cases[] = {
      {"KollectTarget",
       R"({"includedNamespaces":["a"],"namespaceSelector":{},"profileRef":"p","resourceRules":[{"gvk":{"kind":"A",)"
       R"("version":"v1"},"matchExpressions":[{"key":"k","operator":"In","values":["v"]}]}],"suspend":false})"},
  };
  for (const auto& [kind, spec] : cases) {
    const Value input = manifest(kind, spec);
    EXPECT_EQ(base::json::canonical(encode(decode<Target>(input).value())),
              base::json::canonical(input));
  }
  const Value kafka =
      manifest("KollectEventSink", R"({"kafka":{"brokers":[],"topic":""},"type":"kafka"})");
  EXPECT_EQ(base::json::canonical(encode(decode<EventSink>(kafka).value())),
            base::json::canonical(kafka));
}

// Spec crds 2.2, steps 1 to 3.
TEST(PruneAndDefault, FillsOnlyInsidePresentObjects) {
  Value profile =
      manifest("KollectProfile", R"({"export":{},"bogus":1,"attributes":[{"name":"a","more":2}]})");
  EXPECT_THAT(prune_and_default("KollectProfile", profile),
              ElementsAre("spec.attributes[0].more", "spec.bogus"));
  EXPECT_EQ(
      base::json::canonical(*profile.find("spec")),
      R"({"attributes":[{"name":"a"}],"export":{"as":"resource","include":"SpecAndStatus","mode":"Attributes"}})");
  Value bare = manifest("KollectProfile", "{}");
  prune_and_default("KollectProfile", bare);
  EXPECT_EQ(base::json::canonical(*bare.find("spec")), "{}");
}

TEST(PruneAndDefault, NullBecomesTheDefaultOrGoes) {
  Value inventory = manifest("KollectInventory", R"({"exportMinInterval":null,"suspend":null})");
  EXPECT_TRUE(prune_and_default("KollectInventory", inventory).empty());
  EXPECT_EQ(base::json::canonical(*inventory.find("spec")), R"({"exportMinInterval":"30s"})");
}

TEST(KnownSiblings, FollowPaths) {
  EXPECT_THAT(known_siblings("KollectProfile", "spec.attributes[3].bogus"),
              ElementsAre("name", "optional", "path", "type"));
  EXPECT_THAT(known_siblings("KollectProfile", "bogus"),
              ElementsAre("apiVersion", "kind", "metadata", "spec", "status"));
  EXPECT_THAT(known_siblings("KollectProfile", "spec.none.bogus"), ElementsAre());
}

// Spec crds 9 D15: files show whether a layout mode was given, although the CRD declares the
// default.
TEST(PruneAndDefault, LayoutDefaultsStayOut) {
  Value sink = manifest("KollectSnapshotSink", R"({"type":"git","layout":{"mode":null}})");
  prune_and_default("KollectSnapshotSink", sink);
  EXPECT_EQ(base::json::canonical(*sink.find("spec")), R"({"layout":{},"type":"git"})");
}

std::vector<std::string> schema_errors(const std::string& kind, const std::string& spec) {
  std::vector<std::string> out;
  for (const SchemaError& error : validate_schema(kind, manifest(kind, spec))) {
    out.push_back(error.path + " " + error.kind);
  }
  return out;
}

TEST(ValidateSchema, ReportsWhatTheServerReports) {
  EXPECT_THAT(schema_errors("KollectTarget", R"({"watchMode":"all","names":"x","suspend":"no"})"),
              ElementsAre("spec.names Invalid", "spec.profileRef Required", "spec.suspend Invalid",
                          "spec.watchMode NotSupported"));
  EXPECT_THAT(
      schema_errors("KollectTarget", R"({"profileRef":"p","includedNamespaces":["a","a"]})"),
      ElementsAre("spec.includedNamespaces[1] Duplicate"));
  EXPECT_THAT(schema_errors("KollectSnapshotSink",
                            R"({"type":"git","tls":{"caBundle":"?"},"git":{"cloneDepth":0}})"),
              ElementsAre("spec.git.cloneDepth Invalid", "spec.tls.caBundle Invalid"));
  EXPECT_THAT(schema_errors("KollectConnectionTest",
                            R"({"sinkRef":{},"ttlSecondsAfterFinished":3000000000})"),
              ElementsAre("spec.ttlSecondsAfterFinished Invalid"));
  EXPECT_THAT(schema_errors("KollectSnapshotSink", R"({"type":"git","options":{"a":1}})"),
              ElementsAre("spec.options[a] Invalid"));
}

TEST(ValidateSchema, SinkReferencesByNameOrObject) {
  EXPECT_THAT(schema_errors("KollectInventory", R"({"eventSinkRefs":["a",{"name":"b"},1]})"),
              ElementsAre());
  EXPECT_THAT(schema_errors("KollectInventory", R"({"eventSinkRefs":["",{}]})"),
              ElementsAre("spec.eventSinkRefs[0] Invalid", "spec.eventSinkRefs[1].name Required"));
}

TEST(Crds, AreElevenStableDocuments) {
  const std::string yaml = crds_yaml();
  std::size_t documents = 0;
  for (std::size_t at = yaml.find("---\n"); at != std::string::npos;
       at = yaml.find("---\n", at + 1)) {
    ++documents;
  }
  EXPECT_EQ(documents, 11U);
  EXPECT_EQ(yaml, crds_yaml());
  EXPECT_NE(yaml.find("name: kollecttargets.kollect.dev\n"), std::string::npos);
  EXPECT_NE(yaml.find("jsonPath: .status.conditions[?(@.type==\"ConnectionVerified\")].status"),
            std::string::npos);
}

TEST(Crds, ScopesHaveNoStatus) {
  const Value scope = crd("KollectScope");
  const Value& version = scope.at_path({"spec", "versions"})->as_array()[0];
  EXPECT_EQ(version.find("subresources"), nullptr);
  EXPECT_EQ(version.at_path({"schema", "openAPIV3Schema", "properties", "status"}), nullptr);
  EXPECT_TRUE(crd("KollectSink").is_null());
}

}  // namespace
}  // namespace kollect::api
