// What a write as a whole must keep to.
#include "fleet/draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/write.h"
#include "fleet/json_fixture.h"
#include "fleet/seed.h"

namespace kollect::fleet {
namespace {

using base::json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kSeed = R"json({
"clusters":[
 {"_id":"a","cluster_name":"A","cluster_dns":"a.test","environment":"prod","platform_components":[{"id":"certs"},{"id":"dash"}],
  "patches":{"dash":{"password":"old"}}},
 {"_id":"b","cluster_name":"B","cluster_dns":"b.test","environment":"dev","platform_components":[{"id":"dash"}],"namespaces":[{"id":"n"}]}],
"platform_components":[
 {"_id":"certs","component_path":"c","component_version":"1","oci_url":"oci://x","oci_tag":"v1"},
 {"_id":"dash","component_path":"d","component_version":"1","oci_url":"oci://x","oci_tag":"1","depends_on":["certs"]}],
"namespaces":[{"id":"n"},{"id":"unused"}]})json";

class DraftTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto content = parse_seed(kSeed);
    ASSERT_TRUE(content.has_value()) << content.error().message;
    auto made = Fleet::create(*std::move(content), nullptr, clock_);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    fleet_ = *std::move(made);
  }
  Outcome<Written> write(const std::function<Outcome<>(Draft&)>& edit, bool dry_run = false) {
    return fleet_->write({}, {.batch = "b1", .dry_run = dry_run}, edit);
  }
  static std::string said(const Outcome<Written>& outcome) {
    return outcome ? "200" : std::to_string(outcome.error().status) + " " + outcome.error().message;
  }
  std::string poll(const std::string& dns, Route route = Route::kComponents) const {
    const auto ready = fleet_->answer(route, dns);
    return ready ? std::string((*ready)->body) : std::to_string(ready.error().status);
  }
  static std::string component(const std::string& id, const std::string& needs) {
    return R"({"component_path":"p","component_version":"1","oci_url":"u","oci_tag":"t","id":")" +
           id + R"(","depends_on":[)" + needs + "]}";
  }

  base::ManualClock clock_;
  std::unique_ptr<Fleet> fleet_;
};

TEST_F(DraftTest, ManyOperationsAreOneChangeARecord) {
  const auto done = write([](Draft& draft) -> Outcome<> {
    FLEET_TRY(draft.update(Family::kCluster, "a", parse(R"({"node_count":1})")));
    FLEET_TRY(draft.update(Family::kCluster, "a", parse(R"({"node_count":2})")));
    FLEET_TRY(draft.update(Family::kCluster, "b", parse(R"({"cluster_name":"B"})")));
    FLEET_TRY(draft.create(Family::kNamespace, parse(R"({"id":"new"})")));
    return draft.merge(Family::kCluster, "b", parse(R"({"namespaces":[{"id":"new"}]})"));
  });
  ASSERT_TRUE(done.has_value()) << said(done);
  std::vector<std::string> ids;
  for (const Change& change : done->changes) {
    ids.push_back(change.id + " " + std::to_string(change.version) + " " + change.batch);
  }
  EXPECT_THAT(ids, ElementsAre("a 2 b1", "b 2 b1", "new 1 b1"));
  EXPECT_EQ(*fleet_->get(Family::kCluster, "a")->data.find("node_count"), Value(2));
  EXPECT_THAT(poll("b.test", Route::kNamespaces), HasSubstr("new"));
}

TEST_F(DraftTest, OneRefusalAndNothingHasHappened) {
  const auto refused = write([](Draft& draft) -> Outcome<> {
    FLEET_TRY(draft.update(Family::kCluster, "a", parse(R"({"node_count":1})")));
    return draft.update(Family::kCluster, "none", parse("{}"));
  });
  EXPECT_THAT(said(refused), HasSubstr("404 there is no cluster none"));
  EXPECT_EQ(fleet_->get(Family::kCluster, "a")->version, 1U);
  const auto tried = write(
      [](Draft& draft) {
        return draft.update(Family::kCluster, "a", parse(R"({"node_count":1})"));
      },
      true);
  ASSERT_TRUE(tried.has_value());
  EXPECT_EQ(tried->changes.size(), 1U);
  EXPECT_EQ(fleet_->get(Family::kCluster, "a")->version, 1U) << "a dry run";
}

TEST_F(DraftTest, ClustersMaySwapTheirNames) {
  const auto name = [](const char* dns) {
    return parse(std::string(R"({"cluster_dns":")") + dns + "\"}");
  };
  EXPECT_THAT(said(write([&](Draft& draft) {
                return draft.update(Family::kCluster, "a", name("b.test"));
              })),
              HasSubstr("409 cluster_dns b.test belongs to cluster b"));
  const auto done = write([&](Draft& draft) -> Outcome<> {
    FLEET_TRY(draft.update(Family::kCluster, "a", name("c.test")));
    FLEET_TRY(draft.update(Family::kCluster, "b", name("a.test")));
    return draft.update(Family::kCluster, "a", name("b.test"));
  });
  ASSERT_TRUE(done.has_value()) << said(done);
  EXPECT_THAT(poll("a.test"), HasSubstr(R"("name":"B")"));
  EXPECT_THAT(poll("b.test"), HasSubstr(R"("name":"A")"));
  EXPECT_EQ(poll("c.test"), "404") << "never kept";
}

TEST_F(DraftTest, ANameThatADeletedClusterLeavesMayBeTaken) {
  const auto done = write([&](Draft& draft) -> Outcome<> {
    FLEET_TRY(draft.update(Family::kCluster, "b", parse(R"({"node_count":1})")));
    FLEET_TRY(draft.remove(Family::kCluster, "a", false));
    return draft.update(Family::kCluster, "b", parse(R"({"cluster_dns":"a.test"})"));
  });
  ASSERT_TRUE(done.has_value()) << said(done);
  EXPECT_THAT(poll("a.test"), HasSubstr(R"("name":"B")"));
  EXPECT_THAT(fleet_->tombstones(), IsEmpty());
  EXPECT_EQ(poll("b.test"), "404") << "given up, not deleted";
  EXPECT_THAT(said(write([&](Draft& draft) -> Outcome<> {
                FLEET_TRY(draft.remove(Family::kNamespace, "unused", false));
                FLEET_TRY(draft.create(Family::kNamespace, parse(R"({"id":"unused"})")));
                return {};
              })),
              HasSubstr("409 namespace unused: a record that a batch deletes"));
}

TEST_F(DraftTest, DefinitionsGoWithTheirLastReference) {
  const auto guarded =
      write([&](Draft& draft) { return draft.remove(Family::kNamespace, "n", false); });
  EXPECT_THAT(said(guarded), HasSubstr("409 namespace n is referred to by 1 cluster (b)"));
  const auto done = write([&](Draft& draft) -> Outcome<> {
    FLEET_TRY(draft.remove(Family::kNamespace, "n", false));
    return draft.update(Family::kCluster, "b", parse(R"({"namespaces":[]})"));
  });
  EXPECT_TRUE(done.has_value()) << said(done);
}

TEST_F(DraftTest, CirclesOfDependenciesAreRefused) {
  const auto refused = write([&](Draft& draft) {
    return draft.update(Family::kComponent, "certs", parse(R"({"depends_on":["dash"]})"));
  });
  EXPECT_THAT(said(refused), HasSubstr("422 depends_on"));
  EXPECT_THAT(said(refused), HasSubstr("circle of certs, dash"));
  const auto later = write([&](Draft& draft) -> Outcome<> {
    FLEET_TRY(draft.create(Family::kComponent, parse(component("x", R"("y","certs")"))));
    FLEET_TRY(draft.create(Family::kComponent, parse(component("y", R"("z")"))));
    FLEET_TRY(draft.create(Family::kComponent, parse(component("z", R"("x")"))));
    return {};
  });
  EXPECT_THAT(said(later), HasSubstr("circle of x, y, z"));
  const auto odd = write([&](Draft& draft) -> Outcome<> {
    FLEET_TRY(draft.create(Family::kComponent, parse(component("x", R"("x","nobody","certs")"))));
    return {};
  });
  ASSERT_TRUE(odd.has_value()) << said(odd);
  EXPECT_THAT(odd->warnings, ElementsAre("component x depends on itself",
                                         "component x depends on nobody, which is not in the "
                                         "catalog"));
}

TEST_F(DraftTest, ALongChainOfDependenciesCostsNoStack) {
  const auto done = write([&](Draft& draft) -> Outcome<> {
    for (int i = 0; i < 20'000; ++i) {
      FLEET_TRY(draft.create(
          Family::kComponent,
          parse(component("c" + std::to_string(i), "\"c" + std::to_string(i + 1) + "\""))));
    }
    FLEET_TRY(draft.create(Family::kComponent, parse(component("c20000", ""))));
    return {};
  });
  ASSERT_TRUE(done.has_value()) << said(done);
  EXPECT_THAT(done->warnings, IsEmpty());
}

TEST_F(DraftTest, MissingDependenciesAndOddPatchesAreTold) {
  const auto done = write([&](Draft& draft) {
    return draft.merge(Family::kCluster, "b",
                       parse(R"({"platform_components":[{"id":"certs","enabled":false}],
      "patches":{"dash":{"auth.adminPassword":"x","auth.existingSecret":"s","tls.secretName":"s","api_key":"k","replicas":"2","tokenizer":"on"}}})"));
  });
  ASSERT_TRUE(done.has_value()) << said(done);
  ASSERT_EQ(done->warnings.size(), 3U) << ::testing::PrintToString(done->warnings);
  EXPECT_THAT(done->warnings[0], HasSubstr("api_key of dash"));
  EXPECT_THAT(done->warnings[1], HasSubstr("auth.adminPassword of dash"));
  EXPECT_THAT(done->warnings[2], HasSubstr("dash depends on certs"));
  const auto old = write([](Draft& draft) {
    return draft.merge(Family::kCluster, "a", parse(R"({"patches":{"dash":{"x":"1"}}})"));
  });
  EXPECT_THAT(old->warnings, IsEmpty()) << "only what the write brings";
}

TEST_F(DraftTest, AnAnswerThatFluxWouldNotTakeIsRefused) {
  const auto labels = [](std::size_t bytes) {
    return parse(R"({"id":"big","labels":{"x":")" + std::string(bytes, 'x') + "\"}}");
  };
  constexpr std::size_t kMost = 900U << 10U;
  // All but the labels' value.
  ASSERT_TRUE(write([&](Draft& draft) -> Outcome<> {
    FLEET_TRY(draft.create(Family::kNamespace, labels(0)));
    return draft.merge(Family::kCluster, "b", parse(R"({"namespaces":[{"id":"big"}]})"));
  }));
  const std::size_t rest = poll("b.test", Route::kNamespaces).size();
  const auto refused = write([&](Draft& draft) {
    return draft.update(Family::kNamespace, "big", labels(kMost - rest + 1));
  });
  EXPECT_THAT(said(refused), HasSubstr("422 cluster b: "));
  EXPECT_THAT(said(refused), HasSubstr("921601 bytes"));
  EXPECT_THAT(said(refused), HasSubstr("921600"));
  ASSERT_TRUE(write(
      [&](Draft& draft) { return draft.update(Family::kNamespace, "big", labels(kMost - rest)); }));
  EXPECT_EQ(poll("b.test", Route::kNamespaces).size(), kMost);
  const auto longer = write([&](Draft& draft) {
    return draft.update(Family::kCluster, "b", parse(R"({"cluster_name":"longer"})"));
  });
  EXPECT_THAT(said(longer), HasSubstr("422")) << "the name is on every input";
  EXPECT_TRUE(write([&](Draft& draft) {
    return draft.update(Family::kCluster, "b", parse(R"({"node_count":5})"));
  }));
  EXPECT_TRUE(write([&](Draft& draft) {
    return draft.update(Family::kCluster, "a", parse(R"({"namespaces":[{"id":"unused"}]})"));
  })) << "another cluster";
}

TEST_F(DraftTest, TextsThatFluxCannotKeepAreRefused) {
  const auto annotated = [&](const std::string& key, const std::string& text) {
    return said(write([&](Draft& draft) {
      return draft.update(Family::kNamespace, "n",
                          parse(R"({"annotations":{")" + key + R"(":")" + text + "\"}}"));
    }));
  };
  for (const char* bad :
       {R"(\u007f)", R"(a\u0080)", R"(\u0085b)", R"(\u009f)", R"(\ufffe)", R"(\uffff)"}) {
    EXPECT_THAT(annotated("x", bad), HasSubstr("422 namespace n.annotations.x: ")) << bad;
    EXPECT_THAT(annotated(bad, "x"), HasSubstr("422 namespace n.annotations (a key): ")) << bad;
  }
  for (const char* good :
       {R"(\u0001\n\r\t)", R"(\u00a0\u2028)", R"(\ufffd\ufeff)", R"(\ud83f\udffe)"}) {
    EXPECT_EQ(annotated("x", good), "200") << good;
  }
}

TEST_F(DraftTest, ManyInputsAreTold) {
  const auto done = write([](Draft& draft) -> Outcome<> {
    std::string references;
    for (int i = 0; i < 91; ++i) {
      const std::string id = "\"n" + std::to_string(i) + "\"";
      FLEET_TRY(draft.create(Family::kNamespace, parse(R"({"id":)" + id + "}")));
      references += (i > 0 ? "," : "") + std::string(R"({"id":)") + id + "}";
    }
    return draft.update(Family::kCluster, "a", parse(R"({"namespaces":[)" + references + "]}"));
  });
  ASSERT_TRUE(done.has_value()) << said(done);
  ASSERT_EQ(done->warnings.size(), 1U);
  EXPECT_THAT(done->warnings[0], HasSubstr("cluster a has 91 namespaces"));
}

}  // namespace
}  // namespace kollect::fleet
