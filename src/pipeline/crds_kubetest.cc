// `kollect crds` on a real API server: the definitions are taken, and the server's verdicts, error
// places and defaults are those that the api room computes (spec: crds 2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>

#include <fstream>

#include "admission/admission.h"
#include "api/codec.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "kube/client.h"
#include "support/kube_server.h"

namespace kollect::pipeline {
namespace {

using base::json::Value;
using testing::KubeServer;

const base::Context kContext = base::Context::background();

kube::Client admin_of(const KubeServer& server) {
  auto config = kube::Kubeconfig::load({server.kubeconfig()});
  EXPECT_TRUE(config.has_value()) << config.error().message;
  auto cluster = config->resolve(config->current_context());
  EXPECT_TRUE(cluster.has_value()) << cluster.error().message;
  return kube::Client(std::make_shared<http::Client>(), std::move(*cluster), {}, nullptr);
}

Value parse(std::string_view text) {
  auto document = base::json::Document::parse(text);
  EXPECT_TRUE(document.has_value()) << text;
  return base::json::to_value(document->root());
}

class CrdsKube : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const KubeServer& server = KubeServer::shared();
    const auto applied = server.kubectl({"apply", "--server-side", "-f", "-"}, api::crds_yaml());
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
    const auto waited =
        server.kubectl({"wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"});
    ASSERT_TRUE(waited.has_value()) << waited.error().message;
    kube::Client admin = admin_of(server);
    for (const char* ns : {"team-a", "shop", "kollect-system"}) {
      auto made = admin.request(kContext, "POST", "/api/v1/namespaces",
                                std::string(R"({"metadata":{"name":")") + ns + R"("}})");
      ASSERT_TRUE(made.has_value()) << made.error().message;
    }
  }

  /// Creates without keeping; the answer's status and body.
  http::Response dry_create(const Value& manifest) {
    const api::KindInfo* info = api::find_kind(manifest.text("kind"));
    std::string path = "/apis/kollect.dev/v1alpha1";
    if (info->namespaced) {
      path += "/namespaces/" + std::string(manifest.find("metadata")->text("namespace"));
    }
    path += "/" + info->plural + "?dryRun=All";
    auto response = admin_.request(kContext, "POST", path, base::json::compact(manifest));
    EXPECT_TRUE(response.has_value()) << response.error().message;
    return response.has_value() ? std::move(*response) : http::Response{};
  }

  KubeServer& server_ = KubeServer::shared();
  kube::Client admin_ = admin_of(server_);
};

/// "path Kind" of each cause in a Status.
std::vector<std::string> causes_of(const Value& status) {
  static const std::map<std::string_view, std::string> kKinds = {
      {"FieldValueRequired", "Required"},   {"FieldValueInvalid", "Invalid"},
      {"FieldValueTypeInvalid", "Invalid"}, {"FieldValueNotSupported", "NotSupported"},
      {"FieldValueDuplicate", "Duplicate"}, {"FieldValueTooLong", "TooLong"},
      {"FieldValueTooMany", "TooMany"}};
  std::vector<std::string> out;
  const Value* causes = status.at_path({"details", "causes"});
  for (std::size_t i = 0; causes != nullptr && i < causes->as_array().size(); ++i) {
    const Value& cause = causes->as_array()[i];
    const auto kind = kKinds.find(cause.text("reason"));
    // List rules are checked in a second step, which adds this note when the first one failed.
    if (cause.text("message").find("some validation rules were not checked") ==
        std::string_view::npos) {
      out.push_back(std::string(cause.text("field")) + " " +
                    (kind == kKinds.end() ? std::string(cause.text("reason")) : kind->second));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Our defaulted object, with the layout defaults that only the CRD has (spec: crds 9 D15).
Value with_layout_defaults(Value object) {
  Value* spec = object.find("spec");
  Value* layout = spec == nullptr ? nullptr : spec->find("layout");
  if (layout != nullptr) {
    for (const auto& [name, value] :
         {std::pair{"mode", "document"}, std::pair{"content", "item"}}) {
      if (layout->find(name) == nullptr) {
        layout->as_object().set(name, value);
      }
    }
  }
  return object;
}

TEST_F(CrdsKube, AllElevenAreServed) {
  auto found = admin_.discover(kContext);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  for (const api::KindInfo& info : api::kinds()) {
    const auto served = found->find(api::kGroup, api::kVersion, info.kind);
    ASSERT_TRUE(served.has_value()) << info.kind;
    EXPECT_EQ(served->resource.plural, info.plural);
    EXPECT_EQ(served->resource.namespaced, info.namespaced);
  }
}

TEST_F(CrdsKube, ServerAgreesOnAllVectors) {
  std::ifstream in(KOLLECT_SOURCE_DIR "/tests/cases/admission/crd-vectors.jsonl");
  std::string line;
  std::size_t refused = 0;
  std::size_t accepted = 0;
  while (std::getline(in, line)) {
    const Value row = parse(line);
    SCOPED_TRACE(row.text("name"));
    const Value& manifest = *row.find("manifest");
    const admission::Verdict ours = admission::review(manifest, {}, {});
    const http::Response response = dry_create(manifest);
    const Value body = parse(response.body);
    if (ours.stage == admission::Verdict::Stage::kSchema) {
      ++refused;
      EXPECT_EQ(response.status, 422) << response.body;
      std::vector<std::string> expected;
      for (const admission::FieldError& error : ours.errors) {
        expected.push_back(error.path + " " + error.kind);
      }
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(causes_of(body), expected) << response.body;
    } else {
      ++accepted;
      EXPECT_EQ(response.status, 201) << response.body;
      const Value defaulted = with_layout_defaults(ours.defaulted);
      ASSERT_NE(body.find("spec"), nullptr);
      EXPECT_EQ(base::json::canonical(*body.find("spec")),
                base::json::canonical(*defaulted.find("spec")));
    }
  }
  EXPECT_EQ(refused + accepted, 227U);
  EXPECT_GT(refused, 20U);
}

// Spec crds 9 D2: names, objects and mixtures pass; so do other types, which the rules refuse.
TEST_F(CrdsKube, SinkReferences) {
  const auto inventory = [](const std::string& references) {
    return parse(
        R"({"apiVersion":"kollect.dev/v1alpha1","kind":"KollectInventory","metadata":{"name":"x",
      "namespace":"team-a"},"spec":{"snapshotSinkRefs":)" +
        references + "}}");
  };
  EXPECT_EQ(dry_create(inventory(R"(["a",{"name":"b","maxExportBytes":5}])")).status, 201);
  EXPECT_EQ(dry_create(inventory(R"([1,true])")).status, 201);
  EXPECT_EQ(dry_create(inventory(R"([""])")).status, 422);
  EXPECT_EQ(dry_create(inventory(R"([{"namespace":"a"}])")).status, 422);
  EXPECT_EQ(dry_create(inventory(R"([{"name":1}])")).status, 422);
}

}  // namespace
}  // namespace kollect::pipeline
