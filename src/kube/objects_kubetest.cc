// Writes on a real kube-apiserver.
#include "kube/objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/document.h"
#include "base/json/write.h"
#include "support/kube_reflector.h"

namespace kollect::kube {
namespace {

using base::json::Value;
using ::testing::AllOf;
using testing::boat_crd;
using ::testing::HasSubstr;
using testing::kContext;

Value json(const std::string& text) {
  return base::json::to_value(base::json::Document::parse(text)->root());
}

std::string text_at(const Value& value, std::initializer_list<std::string_view> path) {
  const Value* found = value.at_path(path);
  return found == nullptr ? "" : base::json::compact(*found);
}

class ObjectsKube : public testing::KubeReflectorTest {
 protected:
  Objects objects_{*admin_};
  ObjectRef boat_;

  void SetUp() override {
    make_namespace("writes");
    ASSERT_TRUE(server_.kubectl({"apply", "-f", "-"}, boat_crd("objects.example", "v1")));
    boat_ = {.resource = await_kind("objects.example", "Boat"), .ns = "writes", .name = ""};
  }
  void TearDown() override {
    ASSERT_TRUE(server_.kubectl({"delete", "crd", "boats.objects.example", "--wait"}));
  }
  Value make(const std::string& name, const std::string& more = "") {
    boat_.name = name;
    auto made = objects_.create(kContext, boat_.resource, boat_.ns,
                                json(R"({"apiVersion":"objects.example/v1","kind":"Boat",)"
                                     R"("metadata":{"name":")" +
                                     name + "\"" + more + R"(},"spec":{"berth":"1"}})"));
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : Value();
  }
};

TEST_F(ObjectsKube, CreatePatchAndRemove) {
  const Value made = make("one");
  EXPECT_EQ(text_at(made, {"spec", "berth"}), R"("1")");
  auto twice = objects_.create(
      kContext, boat_.resource, boat_.ns,
      json(R"({"apiVersion":"objects.example/v1","kind":"Boat","metadata":{"name":"one"}})"));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().reason, "already-exists");

  auto labelled = objects_.patch(
      kContext, boat_,
      json(
          R"({"metadata":{"labels":{"a":"b"},"annotations":{"x/y":"z"},"finalizers":["x.example/f"]}})"));
  ASSERT_TRUE(labelled) << labelled.error().message;
  EXPECT_EQ(text_at(*labelled, {"metadata", "labels"}), R"({"a":"b"})");

  auto status = objects_.patch_status(kContext, boat_,
                                      json(R"({"status":{"phase":"Ready"},"spec":{"berth":"9"}})"));
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(text_at(*status, {"status", "phase"}), R"("Ready")");
  EXPECT_EQ(text_at(*status, {"spec", "berth"}), R"("1")") << "the status alone";

  // The state that was read first is not the present one any more.
  const std::string old(made.find("metadata")->text("resourceVersion"));
  for (const bool of_status : {true, false}) {
    const Value patch = at_version(json(R"({"status":{"phase":"Lost"}})"), old);
    auto late = of_status ? objects_.patch_status(kContext, boat_, patch)
                          : objects_.patch(kContext, boat_, patch);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().kind, base::ErrorKind::kConflict);
    EXPECT_EQ(late.error().reason, "conflict");
  }
  const std::string now(status->find("metadata")->text("resourceVersion"));
  EXPECT_TRUE(objects_.patch_status(kContext, boat_,
                                    at_version(json(R"({"status":{"phase":"Fine"}})"), now)));

  auto wrong = objects_.remove(kContext, boat_, "00000000-0000-0000-0000-000000000000");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, base::ErrorKind::kConflict);
  const std::string uid(made.find("metadata")->text("uid"));
  ASSERT_TRUE(objects_.remove(kContext, boat_, uid));
  auto kept = objects_.get(kContext, boat_);
  ASSERT_TRUE(kept) << "a finalizer holds it";
  EXPECT_NE(text_at(*kept, {"metadata", "deletionTimestamp"}), "");
  ASSERT_TRUE(objects_.patch(kContext, boat_, json(R"({"metadata":{"finalizers":null}})")));
  auto gone = objects_.get(kContext, boat_);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, base::ErrorKind::kNotFound);
  for (auto error : {objects_.remove(kContext, boat_, uid).error(),
                     objects_.patch(kContext, boat_, json("{}")).error(),
                     objects_.patch_status(kContext, boat_, json("{}")).error()}) {
    EXPECT_EQ(error.kind, base::ErrorKind::kNotFound) << error.message;
  }
}

TEST_F(ObjectsKube, TheServersWordsAboutWhatIsInvalid) {
  auto made = objects_.create(
      kContext, boat_.resource, boat_.ns,
      json(R"({"apiVersion":"objects.example/v1","kind":"Boat","metadata":{"name":"bad"},)"
           R"("spec":{"berth":7,"crew":-1}})"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, base::ErrorKind::kTerminal);
  EXPECT_EQ(made.error().reason, "invalid");
  EXPECT_THAT(made.error().message, AllOf(HasSubstr("spec.berth"), HasSubstr("spec.crew")));
}

TEST_F(ObjectsKube, WithoutRights) {
  make("two");
  auto nobody = client_of(server_.kubeconfig_of("nobody"));
  Objects objects(*nobody);
  for (auto error : {objects.patch(kContext, boat_, json("{}")).error(),
                     objects.patch_status(kContext, boat_, json("{}")).error(),
                     objects.remove(kContext, boat_).error(),
                     objects.create_event(kContext, boat_, {.reason = "Hello"}).error()}) {
    EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
    EXPECT_EQ(error.reason, "forbidden");
  }
}

TEST_F(ObjectsKube, EventsAreSeenByOthers) {
  const Value made = make("three");
  Event event{.warning = true,
              .reason = "ExportFailed",
              .message = "the sink said no",
              .component = "kollect-inventory",
              .instance = "pod-0",
              .uid = std::string(made.find("metadata")->text("uid"))};
  auto told = objects_.create_event(kContext, boat_, event);
  ASSERT_TRUE(told) << told.error().message;
  // About something cluster-scoped.
  Resource namespaces;
  namespaces.version = "v1";
  namespaces.kind = "Namespace";
  namespaces.plural = "namespaces";
  told =
      objects_.create_event(kContext, {.resource = namespaces, .ns = "", .name = "writes"}, event);
  ASSERT_TRUE(told) << told.error().message;
  auto described = server_.kubectl({"describe", "boats.objects.example", "three", "-n", "writes"});
  ASSERT_TRUE(described) << described.error().message;
  EXPECT_THAT(*described, AllOf(HasSubstr("Warning"), HasSubstr("ExportFailed"),
                                HasSubstr("kollect-inventory"), HasSubstr("the sink said no")));
  described = server_.kubectl({"describe", "namespace", "writes"});
  auto newer = server_.kubectl({"get", "events.events.k8s.io", "-n", "default", "-o", "name"});
  ASSERT_TRUE(newer);
  EXPECT_THAT(*newer, HasSubstr("writes."));
}

}  // namespace
}  // namespace kollect::kube
