// CustomResourceDefinitions: what is served, pruned, defaulted, refused; who may ask.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/testing.h"

namespace kollect::sandbox {
namespace {

using base::json::Value;
using testing::at;
using ::testing::ElementsAre;
using testing::Got;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::names;
using testing::Server;

const std::string kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const std::string kBoats = "/apis/sea.test/v1/namespaces/default/boats";
const std::string kMerge = "application/merge-patch+json";

const std::string kDefinition = R"json({
"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"boats.sea.test"},
"spec":{"group":"sea.test","scope":"Namespaced","names":{"plural":"boats","kind":"Boat","shortNames":["bt"]},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{
 "type":"object","properties":{
  "spec":{"type":"object","required":["sail"],"properties":{
    "sail":{"type":"string","enum":["lateen","gaff"]},
    "crew":{"type":"integer","minimum":1,"maximum":12,"default":2},
    "name":{"type":"string","pattern":"^[a-z]+$","maxLength":8},
    "hold":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
    "ports":{"type":"array","maxItems":2,"items":{"type":"object","properties":{"at":{"type":"string"},"days":{"type":"integer","default":1}}}}},
   "x-kubernetes-validations":[{"rule":"self.crew < 10 || self.sail == 'gaff'","message":"many hands need a gaff"}]},
  "status":{"type":"object","properties":{"afloat":{"type":"boolean"}}}}}}}]}})json";

std::string boat(const std::string& name, const std::string& spec) {
  return R"({"apiVersion":"sea.test/v1","kind":"Boat","metadata":{"name":")" + name +
         R"("},"spec":)" + spec + "}";
}

class SandboxDefinitions : public ::testing::Test {
 protected:
  void SetUp() override {
    const Got made = server_.post(kDefinitions, kDefinition);
    ASSERT_EQ(made.status, 201) << made.text;
  }
  Server server_;
};

TEST_F(SandboxDefinitions, SchemasThatSayTooLittleAreRefused) {
  const auto refused = [&](const std::string& property) {
    std::string definition = kDefinition;
    const std::string old = R"("sail":{"type":"string")";
    definition.replace(definition.find(old), old.size(), R"("odd":)" + property + "," + old);
    definition.replace(definition.find("boats.sea.test"), 14, "rafts.sea.test");
    definition.replace(definition.find("boats"), 5, "rafts");
    const Got got = server_.post(kDefinitions, definition);
    return got.status == 422 ? got.text : std::to_string(got.status);
  };
  EXPECT_THAT(refused("{}"), HasSubstr("properties[odd].type"));
  EXPECT_THAT(refused(R"({"type":"thing"})"), HasSubstr("FieldValueNotSupported"));
  EXPECT_THAT(refused(R"({"type":"integer","default":"x"})"), HasSubstr("properties[odd].default"));
  EXPECT_EQ(refused(R"({"type":"object","default":{},"anyOf":[{"minProperties":0}]})"), "201");
}

TEST_F(SandboxDefinitions, AKindIsServedAsSoonAsItIsDefined) {
  const Got definition = server_.get(kDefinitions + "/boats.sea.test");
  EXPECT_THAT(definition.text, HasSubstr(R"("type":"Established")"));
  EXPECT_THAT(definition.text, HasSubstr(R"("storedVersions":["v1"])"));
  EXPECT_THAT(server_.get("/apis/sea.test/v1").text, HasSubstr(R"("kind":"Boat")"));
  EXPECT_THAT(server_.get("/apis").text, HasSubstr("sea.test"));
  EXPECT_EQ(server_.post(kBoats, boat("argo", R"({"sail":"gaff"})")).status, 201);
  EXPECT_THAT(names(server_.get(kBoats)), ElementsAre("default/argo"));
  EXPECT_THAT(names(server_.get("/apis/sea.test/v1/boats")), ElementsAre("default/argo"));
}

TEST_F(SandboxDefinitions, DefaultsComeAndUnknownFieldsGo) {
  const Got made = server_.post(
      kBoats,
      boat("argo", R"({"sail":"gaff","mast":3,"hold":{"any":{"thing":1}},"ports":[{"at":"x"}]})"));
  ASSERT_EQ(made.status, 201) << made.text;
  const Value object = made.json();
  EXPECT_EQ(at(object, "spec.crew"), "2");
  EXPECT_EQ(at(object, "spec.mast"), "");
  EXPECT_EQ(at(object, "spec.hold.any.thing"), "1");
  EXPECT_EQ(at(object, "spec.ports"), R"([{"at":"x","days":1}])");
  EXPECT_EQ(at(object, "metadata.generation"), "1");
  const Got strict =
      server_.post(kBoats + "?fieldValidation=Strict", boat("b", R"({"sail":"gaff","mast":3})"));
  EXPECT_EQ(strict.status, 400) << strict.text;
  EXPECT_THAT(strict.text, HasSubstr("spec.mast"));
}

TEST_F(SandboxDefinitions, WhatTheSchemaForbidsIsRefusedByItsField) {
  struct Case {
    std::string spec;
    std::string field;
  };
  const std::vector<Case> cases = {
      {R"({})", "spec.sail"},
      {R"({"sail":"square"})", "spec.sail"},
      {R"({"sail":7})", "spec.sail"},
      {R"({"sail":"gaff","crew":0})", "spec.crew"},
      {R"({"sail":"gaff","crew":13})", "spec.crew"},
      {R"({"sail":"gaff","crew":1.5})", "spec.crew"},
      {R"({"sail":"gaff","name":"UP"})", "spec.name"},
      {R"({"sail":"gaff","name":"abcdefghi"})", "spec.name"},
      {R"({"sail":"gaff","ports":[{},{},{}]})", "spec.ports"},
      {R"({"sail":"gaff","ports":[{"at":1}]})", "spec.ports[0].at"},
      {R"({"sail":"lateen","crew":11})", "spec"},
  };
  for (const Case& one : cases) {
    const Got refused = server_.post(kBoats, boat("argo", one.spec));
    EXPECT_EQ(refused.status, 422) << one.spec << refused.text;
    EXPECT_EQ(at(refused.json(), "reason"), "Invalid") << one.spec;
    EXPECT_THAT(refused.text, HasSubstr(R"("field":")" + one.field + R"(")")) << one.spec;
  }
  EXPECT_THAT(names(server_.get(kBoats)), IsEmpty());
}

TEST_F(SandboxDefinitions, StatusIsWrittenApart) {
  ASSERT_EQ(server_.post(kBoats, boat("argo", R"({"sail":"gaff"})")).status, 201);
  const std::string change = R"({"spec":{"crew":5},"status":{"afloat":true}})";
  const Value status = server_.call("PATCH", kBoats + "/argo/status", change, kMerge).json();
  EXPECT_EQ(at(status, "status.afloat"), "true");
  EXPECT_EQ(at(status, "spec.crew"), "2");
  EXPECT_EQ(at(status, "metadata.generation"), "1");
  const std::string other = R"({"spec":{"crew":5},"status":{"afloat":false}})";
  const Value spec = server_.call("PATCH", kBoats + "/argo", other, kMerge).json();
  EXPECT_EQ(at(spec, "status.afloat"), "true");
  EXPECT_EQ(at(spec, "spec.crew"), "5");
  EXPECT_EQ(at(spec, "metadata.generation"), "2");
  EXPECT_EQ(server_.call("PATCH", kBoats + "/argo/status", R"({"status":{"afloat":"yes"}})", kMerge)
                .status,
            422);
}

TEST_F(SandboxDefinitions, ADefinitionThatGoesTakesItsObjects) {
  ASSERT_EQ(server_.post(kBoats, boat("argo", R"({"sail":"gaff"})")).status, 201);
  auto watching = server_.watch(kBoats + "?watch=1&resourceVersion=1");
  watching.events();
  EXPECT_EQ(server_.call("DELETE", kDefinitions + "/boats.sea.test").status, 200);
  EXPECT_THAT(watching.events(), ElementsAre("DELETED default/argo"));
  EXPECT_EQ(server_.get(kBoats).status, 404);
  EXPECT_EQ(server_.get("/apis/sea.test/v1").status, 404);
  ASSERT_EQ(server_.post(kDefinitions, kDefinition).status, 201);
  EXPECT_THAT(names(server_.get(kBoats)), IsEmpty());
}

TEST_F(SandboxDefinitions, ADefinitionWaitsForFinalizers) {
  ASSERT_EQ(
      server_
          .post(kBoats, R"({"apiVersion":"sea.test/v1","kind":"Boat","metadata":{"name":"argo",
                      "finalizers":["sea.test/anchor"]},"spec":{"sail":"gaff"}})")
          .status,
      201);
  EXPECT_EQ(server_.call("DELETE", kDefinitions + "/boats.sea.test").status, 200);
  EXPECT_EQ(server_.get(kBoats + "/argo").status, 200);
  EXPECT_EQ(server_.get(kDefinitions + "/boats.sea.test").status, 200);
  const std::string free = R"({"metadata":{"finalizers":null}})";
  EXPECT_EQ(server_.call("PATCH", kBoats + "/argo", free, kMerge).status, 200);
  EXPECT_EQ(server_.get(kDefinitions + "/boats.sea.test").status, 404);
  EXPECT_EQ(server_.get(kBoats).status, 404);
}

TEST_F(SandboxDefinitions, BadDefinitionsAreRefused) {
  for (
      const char* change :
      {R"({"spec":{"group":"","names":{"plural":"boats","kind":"Boat"},"versions":[]}})",
       R"({"metadata":{"name":"other.sea.test"},"spec":{"group":"sea.test","scope":"Namespaced","names":{"plural":"boats","kind":"Boat"},"versions":[{"name":"v1","served":true,"storage":true}]}})"}) {
    EXPECT_EQ(server_.post(kDefinitions, change).status, 422) << change;
  }
}

// ---- rights

const std::string kReviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

std::string may_list(const std::string& resource, const std::string& ns) {
  return R"({"spec":{"resourceAttributes":{"verb":"list","resource":")" + resource +
         R"(","namespace":")" + ns + R"("}}})";
}

TEST(SandboxAccess, EverybodyMayDoEverythingUntilToldOtherwise) {
  Server server;
  EXPECT_EQ(at(server.post(kReviews, may_list("pods", "")).json(), "status.allowed"), "true");
  const auto set = server.api.access().set(
      testing::parse(R"({"rules":[{"effect":"deny","verbs":["list"],"resources":["pods"],
                                   "namespaces":["shop"]}]})"));
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(at(server.post(kReviews, may_list("pods", "shop")).json(), "status.allowed"), "false");
  EXPECT_EQ(at(server.post(kReviews, may_list("pods", "")).json(), "status.allowed"), "false");
  EXPECT_EQ(at(server.post(kReviews, may_list("pods", "other")).json(), "status.allowed"), "true");
  const Got refused = server.get("/api/v1/namespaces/shop/pods");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(at(refused.json(), "reason"), "Forbidden");
  EXPECT_EQ(server.get("/api/v1/namespaces/other/pods").status, 200);
}

TEST(SandboxAccess, BadRulesNameTheirMember) {
  Server server;
  for (const char* text :
       {R"([])", R"({"rule":[]})", R"({"rules":[{"effect":"maybe"}]})",
        R"({"users":[{"name":"a"}]})", R"({"rules":[{"effect":"deny","verbs":"get"}]})"}) {
    const auto set = server.api.access().set(testing::parse(text));
    ASSERT_FALSE(set.has_value()) << text;
    EXPECT_THAT(set.error().message, HasSubstr("access: "));
  }
}

TEST(SandboxAccess, TokensHaveOwners) {
  Server server;
  ASSERT_TRUE(
      server.api.access()
          .set(testing::parse(R"({"users":[{"name":"alice","token":"t1","groups":["team"]}]})"))
          .has_value());
  const std::string reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
  const Value known = server.post(reviews, R"({"spec":{"token":"t1"}})").json();
  EXPECT_EQ(at(known, "status.user.username"), "alice");
  const Value account = server.post(reviews, R"({"spec":{"token":"sa:shop:bot"}})").json();
  EXPECT_EQ(at(account, "status.user.username"), "system:serviceaccount:shop:bot");
  const Value unknown = server.post(reviews, R"({"spec":{"token":"t2"}})").json();
  EXPECT_EQ(at(unknown, "status.authenticated"), "false");
}

}  // namespace
}  // namespace kollect::sandbox
