#include "install/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/codec.h"
#include "base/files.h"
#include "base/strings.h"
#include "base/yaml/read.h"
#include "install/doctor_hints.h"
#include "install/state.h"

namespace kollect::install {
namespace {

using base::json::Value;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Value> values(const std::string& text) {
  std::vector<Value> made;
  auto documents = base::yaml::read_all(text);
  EXPECT_TRUE(documents);
  for (base::yaml::Document& one : *documents) made.push_back(std::move(one.value));
  return made;
}
Value value(const std::string& text) {
  return values(text).front();
}

base::WallTime at(const char* time) {
  return *base::parse_rfc3339(time);
}

auto finding(Level level, const std::string& about, const std::string& text) {
  return AllOf(Field(&Finding::level, level), Field(&Finding::about, HasSubstr(about)),
               Field(&Finding::text, HasSubstr(text)));
}

/// The definitions as a server has them.
std::vector<Value> definitions() {
  std::vector<Value> made;
  for (const api::KindInfo& info : api::kinds()) {
    Value one = api::crd(info.kind);
    one.as_object().set("status", value("{conditions: [{type: Established, status: 'True'}]}"));
    made.push_back(std::move(one));
  }
  return made;
}

constexpr auto kOldSchema = R"(
- name: v1alpha1
  served: true
  schema: {openAPIV3Schema: {properties: {spec: {properties: {}}}}}
)";

TEST(Definitions, AreThereServedAndUpToDate) {
  EXPECT_THAT(check_definitions(definitions()),
              ElementsAre(finding(Level::kFine, "definitions", "all 11 kinds")));
  std::vector<Value> broken = definitions();
  broken.erase(broken.begin());
  broken[0].as_object().set("status", Value());
  broken[1].find("spec")->as_object().set("versions", value(kOldSchema));
  broken[2].find("spec")->as_object().set("versions", value("[{name: v1, served: true}]"));
  EXPECT_THAT(check_definitions(broken),
              ElementsAre(finding(Level::kWrong, api::kinds()[0].kind, "not there"),
                          finding(Level::kWrong, api::kinds()[1].kind, "does not serve"),
                          finding(Level::kWrong, api::kinds()[2].kind, "older version"),
                          finding(Level::kWrong, api::kinds()[3].kind, "not served")));
}

constexpr auto kDeployment = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: op, namespace: sys}
spec:
  replicas: 2
  template:
    spec:
      serviceAccountName: me
      containers:
      - name: manager
        command: [kollect, operator]
        args: [--tenant-mode, '--watch-namespaces=a, b', --leader-elect, --leader-elect-id, mine, --leader-elect-namespace=]
status: {availableReplicas: 2}
)";

TEST(Operators, AreKnownByTheirArguments) {
  const auto found = operators_in(values(kDeployment));
  ASSERT_EQ(found.size(), 1U);
  const Operator& one = found.front();
  EXPECT_EQ(one.user(), "system:serviceaccount:sys:me");
  EXPECT_TRUE(one.mode.tenant);
  EXPECT_THAT(one.mode.watch_namespaces, ElementsAre("a", "b"));
  EXPECT_EQ(one.mode.lease, "mine");
  EXPECT_EQ(one.mode.lease_home(), "sys");
  EXPECT_TRUE(one.reads("a"));
  EXPECT_FALSE(one.reads("c"));
  EXPECT_FALSE(one.reads(""));
  const auto plain = operators_in(values(
      "{metadata: {name: x, namespace: y}, spec: {template: {spec: {containers: [{name: a, args: "
      "[operator]}, {name: b, args: [other]}]}}}}"));
  ASSERT_EQ(plain.size(), 1U);
  EXPECT_EQ(plain.front().account, "default");
  EXPECT_EQ(plain.front().mode.lease, "");
  EXPECT_TRUE(plain.front().reads("") && plain.front().reads("c"));
}

TEST(Deployment, SaysWhyReplicasAreMissing) {
  Value deployment = value(kDeployment);
  EXPECT_THAT(check_deployment(deployment, {}), finding(Level::kFine, "sys/op", "2 of 2"));
  deployment.find("status")->as_object().set("availableReplicas", 1);
  EXPECT_THAT(check_deployment(deployment, {}), finding(Level::kWrong, "sys/op", "it has no pods"));
  EXPECT_THAT(check_deployment(deployment, values(R"(
metadata: {name: p}
status: {containerStatuses: [{state: {waiting: {reason: CrashLoopBackOff, message: back-off}}, lastState: {terminated: {reason: OOMKilled}}}]}
)")),
              finding(Level::kWrong, "sys/op", "pod p: CrashLoopBackOff: it ended with OOMKilled"));
  EXPECT_THAT(check_deployment(deployment, values(R"(
metadata: {name: p}
status: {conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: no node}]}
)")),
              finding(Level::kWrong, "sys/op", "Unschedulable: no node"));
  deployment.find("spec")->as_object().set("replicas", 0);
  EXPECT_THAT(check_deployment(deployment, {}), finding(Level::kWrong, "sys/op", "scaled to zero"));
}

TEST(Lease, EachPartIsHeld) {
  std::string text = kDeployment;
  const std::string flag = "--leader-elect";
  const auto found_at = text.find(flag + ",");
  ASSERT_NE(found_at, std::string::npos);
  text.replace(found_at, flag.size(), "--shards=2");
  const Operator one = operators_in(values(text)).front();
  EXPECT_EQ(one.mode.shards, 2U);
  EXPECT_EQ(one.mode.lease, "mine");
  std::vector<Value> leases = values(R"(
{metadata: {name: mine-shard-0}, spec: {holderIdentity: pod-1, leaseDurationSeconds: 60, renewTime: '2026-01-01T00:00:00.000000Z'}}
---
{metadata: {name: mine-shard-1}, spec: {holderIdentity: pod-2, leaseDurationSeconds: 60, renewTime: '2026-01-01T00:00:30.000000Z'}}
)");
  EXPECT_THAT(check_shards(one, leases, at("2026-01-01T00:01:59Z")),
              finding(Level::kFine, "sys/mine-shard-*", "2 parts, replicas that work on them: 2"));
  EXPECT_THAT(check_shards(one, leases, at("2026-01-01T00:02:01Z")),
              finding(Level::kWrong, "sys/mine-shard-*", "nobody works on part 0 of 2"));
  leases.pop_back();
  EXPECT_THAT(check_shards(one, leases, at("2026-01-01T00:01:00Z")),
              finding(Level::kWrong, "sys/mine-shard-*", "nobody works on part 1 of 2"));
}

TEST(Lease, SomebodyHoldsIt) {
  const Operator one = operators_in(values(kDeployment)).front();
  const Value lease = value(
      "{spec: {holderIdentity: pod-1, leaseDurationSeconds: 60, renewTime: "
      "'2026-01-01T00:00:00.000000Z'}}");
  EXPECT_THAT(check_lease(one, lease, at("2026-01-01T00:01:59Z")),
              finding(Level::kFine, "sys/mine", "pod-1 leads"));
  EXPECT_THAT(check_lease(one, lease, at("2026-01-01T00:02:01Z")),
              finding(Level::kWrong, "sys/mine", "has not said so since"));
  EXPECT_THAT(check_lease(one, value("{spec: {}}"), at("2026-01-01T00:02:01Z")),
              finding(Level::kWrong, "sys/mine", "nobody leads"));
}

TEST(Webhooks, CanBeAnswered) {
  const std::string text = R"(
metadata: {name: hooks}
webhooks:
- failurePolicy: Fail
  clientConfig: {caBundle: Y2E=, service: {namespace: sys, name: svc}}
  rules: [{apiGroups: [kollect.dev]}]
)";
  const Value hooks = value(text);
  const auto services = values("{metadata: {name: svc, namespace: sys}}");
  const std::string slice =
      "{metadata: {name: x, namespace: sys, labels: {kubernetes.io/service-name: svc}}, "
      "endpoints: [{conditions: {ready: READY}}]}";
  const auto slices = [&](const char* ready) {
    std::string made = slice;
    return values(made.replace(made.find("READY"), 5, ready));
  };
  EXPECT_THAT(check_webhooks(hooks, services, slices("true")),
              ElementsAre(finding(Level::kFine, "hooks", "sys/svc")));
  EXPECT_THAT(
      check_webhooks(hooks, services, slices("false")),
      ElementsAre(finding(Level::kWrong, "hooks", "nothing of kollect.dev can be written")));
  EXPECT_THAT(check_webhooks(hooks, {}, {}),
              ElementsAre(finding(Level::kWrong, "hooks", "Service sys/svc is not there")));
  const auto other = [&](const char* from, const char* to) {
    std::string made = text;
    return value(made.replace(made.find(from), std::string(from).size(), to));
  };
  EXPECT_THAT(check_webhooks(other("Y2E=", "''"), services, slices("true")),
              ElementsAre(finding(Level::kWrong, "hooks", "caBundle")));
  EXPECT_THAT(check_webhooks(other("Fail", "Ignore"), {}, {}),
              ElementsAre(finding(Level::kWarning, "hooks", "not checked")));
  EXPECT_THAT(check_webhooks(other("kollect.dev", "apps"), {}, {}), IsEmpty());
}

Value target(const std::string& status, const std::string& more = "") {
  return value(
      "{kind: KollectTarget, metadata: {name: t, namespace: shop, generation: 2, "
      "creationTimestamp: '2026-01-01T00:00:00Z'" +
      more + "}, spec: {suspend: true}, status: {" + status + "}}");
}

/// What is found about one target with this status, its inventory left aside.
Findings about(Value one, const std::vector<Operator>& operators = {}) {
  ObjectsByKind objects;
  objects["KollectTarget"].push_back(std::move(one));
  objects["KollectInventory"] = values(
      "{kind: KollectInventory, metadata: {name: i, namespace: shop}, status: {conditions: [{type: "
      "Ready, status: 'True'}]}}");
  Findings found = check_objects(objects, operators, at("2026-01-02T00:00:00Z"));
  std::erase_if(found, [](const Finding& f) { return f.about == "objects"; });
  return found;
}

TEST(ObjectChecks, StatusesInPlainWords) {
  EXPECT_THAT(about(target("observedGeneration: 2, conditions: [{type: Ready, status: 'True', "
                           "reason: Collecting}]")),
              IsEmpty());
  EXPECT_THAT(about(target("conditions: [{type: Degraded, status: 'True', reason: "
                           "ProfileNotFound, message: there is none}]")),
              ElementsAre(finding(Level::kWrong, "KollectTarget shop/t",
                                  "ProfileNotFound: there is none")));
  EXPECT_THAT(about(target("conditions: [{type: Degraded, status: 'True', reason: Suspended}]")),
              ElementsAre(finding(Level::kWarning, "KollectTarget shop/t", "is suspended")));
  EXPECT_THAT(about(target("observedGeneration: 1, conditions: [{type: Ready, status: 'True'}]")),
              ElementsAre(finding(Level::kWrong, "KollectTarget shop/t", "its last change")));
  EXPECT_THAT(about(target("conditions: [{type: Ready, status: 'True', reason: PartiallySynced, "
                           "message: one fails}]")),
              ElementsAre(finding(Level::kWrong, "KollectTarget shop/t", "one fails")));
  EXPECT_THAT(about(target("", ", deletionTimestamp: '2026-01-01T00:00:00Z'")),
              ElementsAre(finding(Level::kWrong, "KollectTarget shop/t", "being deleted since")));
}

TEST(ObjectChecks, EveryReasonThatStopsSomethingHasAHint) {
  const auto table =
      base::read_file(KOLLECT_SOURCE_DIR "/tests/cases/conditions/reasons.tsv", 1U << 20U);
  ASSERT_TRUE(table);
  std::size_t looked = 0;
  for (const std::string_view line : base::split(*table, '\n')) {
    const auto cells = base::split(line, '\t');
    if (cells.size() < 4 || cells[0] == "kind") continue;
    const bool bad = (cells[1] == "Degraded" && cells[2] == "True") || cells[2] == "False";
    // Nothing has changed since the last export: that is no fault.
    if (!bad || cells[3] == "Debounced") continue;
    ++looked;
    EXPECT_NE(hint_for(cells[3]), "") << line;
  }
  EXPECT_GT(looked, 50U);
  EXPECT_EQ(hint_for("Exported"), "");
  const Findings found = about(target(
      "conditions: [{type: Degraded, status: 'True', reason: ExportTerminal, message: no table}]"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found.front().hint, HasSubstr("waiting does not mend it"));
}

TEST(ObjectChecks, WhatWorksButAsksForSomethingIsAWarning) {
  const Findings found = about(target(
      "observedGeneration: 2, conditions: [{type: Ready, status: 'True', reason: Collecting}, "
      "{type: Synced, status: 'True', reason: ScopeForbidden, message: lab may not be listed}]"));
  ASSERT_THAT(found, ElementsAre(finding(Level::kWarning, "KollectTarget shop/t",
                                         "ScopeForbidden: lab may not be listed")));
  EXPECT_THAT(found.front().hint, HasSubstr("kollect rbac"));
}

TEST(ObjectChecks, AConnectionTestThatFailed) {
  ObjectsByKind objects;
  objects["KollectConnectionTest"] = values(
      "{kind: KollectConnectionTest, metadata: {name: c, namespace: shop}, status: {conditions: "
      "[{type: Ready, status: 'False', reason: ConnectionTestFailed, message: refused}]}}");
  const Findings found = check_objects(objects, {}, at("2026-01-02T00:00:00Z"));
  ASSERT_THAT(found, ElementsAre(finding(Level::kWrong, "KollectConnectionTest shop/c",
                                         "ConnectionTestFailed: refused")));
  EXPECT_THAT(found.front().hint, HasSubstr("certificate"));
}

TEST(ObjectChecks, NobodyLooks) {
  const Findings alone = about(target(""));
  EXPECT_THAT(
      alone, ElementsAre(finding(Level::kWrong, "KollectTarget shop/t", "no operator has looked")));
  EXPECT_EQ(alone.front().hint, "");
  const Findings elsewhere = about(target(""), operators_in(values(kDeployment)));
  ASSERT_EQ(elsewhere.size(), 1U);
  EXPECT_THAT(elsewhere.front().hint, HasSubstr("no operator watches the namespace shop"));
}

TEST(ObjectChecks, RowsThatGoNowhereAndScopesThatDoNotCount) {
  ObjectsByKind objects;
  objects["KollectTarget"].push_back(
      target("observedGeneration: 2, conditions: [{type: Ready, status: 'True'}]"));
  objects["KollectScope"] = values(
      "{kind: KollectScope, metadata: {name: b, namespace: shop}}\n---\n{kind: KollectScope, "
      "metadata: {name: a, namespace: shop}}");
  objects["KollectInventory"] = values(
      "{kind: KollectInventory, metadata: {name: i, namespace: lab}, status: {conditions: [{type: "
      "Ready, status: 'True'}]}}");
  EXPECT_THAT(check_objects(objects, {}, at("2026-01-02T00:00:00Z")),
              ElementsAre(finding(Level::kWarning, "KollectInventory lab/i", "stays empty"),
                          finding(Level::kWarning, "namespace shop", "goes nowhere"),
                          finding(Level::kWarning, "namespace shop", "only a counts"),
                          finding(Level::kFine, "objects", "2 are fine")));
}

TEST(Report, TextAndJson) {
  const Findings findings = {{.about = "a", .text = "b"},
                             {.level = Level::kWrong, .about = "c", .text = "d", .hint = "e"}};
  EXPECT_EQ(report(findings),
            "fine     a: b\nwrong    c: d\n         -> e\n1 thing is wrong, 0 warnings\n");
  EXPECT_EQ(report({{.level = Level::kNote, .about = "a", .text = "b"}}),
            "note     a: b\nas far as could be looked: nothing is wrong, 0 warnings\n");
  EXPECT_EQ(report({}), "nothing is wrong, 0 warnings\n");
  EXPECT_EQ(report_json(findings),
            "{\"level\":\"fine\",\"about\":\"a\",\"text\":\"b\"}\n"
            "{\"level\":\"wrong\",\"about\":\"c\",\"text\":\"d\",\"hint\":\"e\"}\n");
}

}  // namespace
}  // namespace kollect::install
