#include "install/rights.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "base/yaml/read.h"
#include "install/objects.h"
#include "install/testing.h"

namespace kollect::install {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// "NAMESPACE GROUP resources [names] verbs", a line per rule.
std::vector<std::string> lines(const Rights& rights) {
  std::vector<std::string> found;
  for (const auto& [ns, rules] : rights.rules()) {
    for (const Rule& rule : rules) {
      found.push_back(fmt::format("{} {} {}{} {}", ns.empty() ? "*" : ns,
                                  rule.group.empty() ? "core" : rule.group,
                                  base::join(rule.resources, ","),
                                  rule.names.empty() ? "" : "[" + base::join(rule.names, ",") + "]",
                                  base::join(rule.verbs, ",")));
    }
  }
  return found;
}

TEST(Rights, RulesAreAsShortAsTheyGet) {
  Rights rights;
  rights.allow("a", "apps", "deployments", {"watch", "list"});
  rights.allow("a", "apps", "daemonsets", {"list", "watch"});
  rights.allow("a", "apps", "daemonsets", {"list"});
  rights.allow("a", "", "secrets", {"get"}, "two");
  rights.allow("a", "", "secrets", {"get"}, "one");
  rights.allow("", "", "pods", {"list"});
  rights.simplify();
  EXPECT_THAT(lines(rights), ElementsAre("* core pods list", "a core secrets[one,two] get",
                                         "a apps daemonsets,deployments list,watch"));
}

TEST(Rights, WhatIsAllowedMoreWidelyIsNotRepeated) {
  Rights rights;
  rights.allow("", "", "pods", {"list"});
  rights.allow("a", "", "pods", {"list", "watch"});
  rights.allow("a", "", "secrets", {"get"}, "one");
  rights.allow("a", "", "secrets", {"get"});
  rights.allow("b", "", "secrets", {"get"}, "one");
  rights.simplify();
  EXPECT_THAT(lines(rights), ElementsAre("* core pods list", "a core secrets get",
                                         "a core pods watch", "b core secrets[one] get"));
}

constexpr const char* kObjects = R"(
apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: deployments, namespace: shop}
spec:
  targetGVK: {group: apps, version: v1, kind: Deployment}
  attributes: [{name: a, path: $.spec.replicas}]
---
apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: nodes, namespace: shop}
spec:
  targetGVK: {version: v1, kind: Node}
  attributes: [{name: a, path: $.metadata.name}]
)";

std::string target(const std::string& spec) {
  return fmt::format(R"(
---
apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {{name: t, namespace: shop}}
spec: {}
)",
                     spec);
}

Objects objects(const std::string& text) {
  Objects made;
  auto documents = base::yaml::read_all(text);
  EXPECT_TRUE(documents);
  for (base::yaml::Document& document : *documents) {
    const auto taken = take(made, std::move(document.value));
    EXPECT_TRUE(taken) << taken.error().message;
  }
  return made;
}

base::Result<kube::Resource> name(const api::GroupVersionKind& kind) {
  return find_resource({}, kind);
}

/// What the only target has to read.
std::vector<std::string> read(const std::string& text, const Mode& mode = {}) {
  const auto found = collection_rights(objects(text), mode, name);
  EXPECT_EQ(found.size(), 1U);
  if (!found.front().rights) return {found.front().rights.error().message};
  return lines(*found.front().rights);
}

Mode tenant(std::vector<std::string> namespaces) {
  return {.tenant = true, .watch_namespaces = std::move(namespaces)};
}

TEST(CollectionRights, NamedNamespacesAreEnough) {
  const std::string named = kObjects + target(
                                           "{profileRef: deployments, includedNamespaces: [b, a], "
                                           "excludedNamespaces: [a]}");
  EXPECT_THAT(read(named), ElementsAre("b apps deployments list,watch"));
  EXPECT_THAT(read(named, {.watch_namespaces = {"c"}}), IsEmpty());
  EXPECT_THAT(read(named, {.default_excluded = {"b"}}), IsEmpty());
}

TEST(CollectionRights, WhatNobodyKnowsBeforehandNeedsTheWholeCluster) {
  const std::string all = kObjects + target("{profileRef: deployments}");
  const std::string chosen = kObjects + target(
                                            "{profileRef: deployments, includedNamespaces: [a, b], "
                                            "namespaceSelector: {matchLabels: {x: y}}}");
  const std::string by_label =
      kObjects + target("{profileRef: deployments, namespaceSelector: {matchLabels: {x: y}}}");
  EXPECT_THAT(read(all), ElementsAre("* apps deployments list,watch"));
  EXPECT_THAT(read(by_label), ElementsAre("* apps deployments list,watch"));
  EXPECT_THAT(read(by_label, {.watch_namespaces = {"a"}}),
              ElementsAre("a apps deployments list,watch"));
  EXPECT_THAT(read(chosen),
              ElementsAre("a apps deployments list,watch", "b apps deployments list,watch"));
  EXPECT_THAT(read(all, {.default_included = {"c"}}), ElementsAre("c apps deployments list,watch"));
  EXPECT_THAT(read(all, {.watch_namespaces = {"c"}}), ElementsAre("c apps deployments list,watch"));
}

TEST(CollectionRights, TenantModeIsWithinItsNamespaces) {
  EXPECT_THAT(read(kObjects + target("{profileRef: deployments}"), tenant({"shop", "lab"})),
              ElementsAre("shop apps deployments list,watch"));
  EXPECT_THAT(read(kObjects + target("{profileRef: deployments, includedNamespaces: [lab, far]}"),
                   tenant({"shop", "lab"})),
              ElementsAre("lab apps deployments list,watch"));
  EXPECT_THAT(read(kObjects + target("{profileRef: nodes}"), tenant({"shop"})),
              ElementsAre(HasSubstr("Node has no namespaces")));
  EXPECT_THAT(
      read(kObjects + target("{profileRef: deployments, namespaceSelector: {matchLabels: {x: y}}}"),
           tenant({"shop"})),
      ElementsAre(HasSubstr("chosen by labels")));
}

TEST(CollectionRights, RulesScopesAndKindsWithoutNamespaces) {
  const std::string rules =
      kObjects + target(
                     "{profileRef: deployments, includedNamespaces: [a], resourceRules: "
                     "[{gvk: {version: v1, kind: Pod}}, {gvk: {group: batch, version: v1, "
                     "kind: Job}}, {gvk: {version: v1, kind: Node}}]}");
  EXPECT_THAT(read(rules), ElementsAre("* core nodes list,watch", "a core pods list,watch",
                                       "a batch jobs list,watch"));
  const std::string scope = R"(
---
apiVersion: kollect.dev/v1alpha1
kind: KollectScope
metadata: {name: s, namespace: shop}
spec: {allowedNamespaces: [a, b], deniedNamespaces: [b]}
)";
  EXPECT_THAT(read(kObjects + target("{profileRef: deployments}") + scope),
              ElementsAre("a apps deployments list,watch"));
  EXPECT_THAT(read(kObjects + target("{profileRef: nothing}")),
              ElementsAre(HasSubstr("no profile shop/nothing")));
  EXPECT_THAT(read(kObjects + target("{profileRef: nodes, resourceRules: [{gvk: {group: "
                                     "example.test, version: v1, kind: Widget}}]}")),
              ElementsAre(HasSubstr("Widget.example.test is not known")));
}

TEST(CollectionRights, ClusterTargets) {
  const std::string text = std::string(kObjects) + R"(
---
apiVersion: kollect.dev/v1alpha1
kind: KollectClusterTarget
metadata: {name: c}
spec:
  profileRef: {namespace: shop, name: deployments}
  namespaceSelector: {matchLabels: {x: y}}
)";
  EXPECT_THAT(read(text), ElementsAre("* apps deployments list,watch"));
  EXPECT_THAT(read(text, tenant({"shop"})), ElementsAre(HasSubstr("tenant mode")));
}

TEST(CollectionRights, ProfilesCountWhereThereAreNoTargets) {
  const auto found = collection_rights(objects(kObjects), {}, name);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(lines(*found[0].rights), ElementsAre("* apps deployments list,watch"));
  EXPECT_THAT(lines(*found[1].rights), ElementsAre("* core nodes list,watch"));
}

TEST(SecretRights, ExactlyThoseThatSinksName) {
  const Objects made = objects(R"(
apiVersion: kollect.dev/v1alpha1
kind: KollectDatabaseSink
metadata: {name: pg, namespace: shop}
spec: {type: postgres, postgres: {databaseRef: {name: pg}, table: t}}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectSnapshotSink
metadata: {name: git, namespace: shop}
spec:
  type: git
  endpoint: https://git.test/a.git
  secretRef: {name: git, namespace: elsewhere}
  tls: {caSecretRef: {name: ca}}
  git: {branch: main}
)");
  EXPECT_THAT(lines(secret_rights(made)),
              ElementsAre("elsewhere core secrets[git] get", "shop core secrets[ca,pg] get"));
  EXPECT_THAT(lines(secret_rights(made, SecretUse::kReadAndWatch)),
              ElementsAre("elsewhere core secrets[git] get,list,watch",
                          "shop core secrets[ca,pg] get,list,watch"));
}

TEST(OwnRights, TenantModeHasNoneBeyondItsNamespaces) {
  const Rights rights = own_rights({.tenant = true,
                                    .watch_namespaces = {"a", "b"},
                                    .own_namespace = "op",
                                    .all_secrets = false});
  for (const Rights::One& one : rights.all()) {
    EXPECT_THAT(one.ns, Not(IsEmpty()));
    EXPECT_NE(one.resource, "secrets");
    EXPECT_EQ(one.ns == "op", one.group == "coordination.k8s.io") << one.ns << one.resource;
  }
}

TEST(OwnRights, NoModeWritesWhatIsNotItsOwn) {
  for (const Mode& mode : {Mode{}, Mode{.watch_namespaces = {"a"}}, tenant({"a"})}) {
    for (const Rights::One& one : own_rights(mode).all()) {
      const bool reads = one.verb == "get" || one.verb == "list" || one.verb == "watch";
      EXPECT_TRUE(reads || one.group == api::kGroup || one.resource == "events" ||
                  one.resource == "leases" || one.resource == "selfsubjectaccessreviews")
          << one.verb << " " << one.resource;
      EXPECT_NE(one.resource, "*");
      EXPECT_FALSE(one.resource == "secrets" && one.verb != "get");
    }
  }
}

TEST(Rbac, RolesAndBindingsOfOneOperator) {
  const testing::Program program;
  const std::string file =
      program.file("a.yaml", kObjects + target("{profileRef: deployments, includedNamespaces: "
                                               "[lab]}"));
  const auto run =
      program.run("rbac", {file, "--collection-only", "--service-account", "op/me", "--name", "r"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, R"(---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: r
  namespace: lab
rules:
- apiGroups:
  - apps
  resources:
  - deployments
  verbs:
  - list
  - watch
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: r
  namespace: lab
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: r
subjects:
- kind: ServiceAccount
  name: me
  namespace: op
)");
}

TEST(Rbac, WhatIsCollectedNeverTakesThePlaceOfTheOperatorsRole) {
  const testing::Program program;
  const std::string file = program.file("a.yaml", kObjects + target("{profileRef: deployments}"));
  const auto collection = program.run("rbac", {file, "--collection-only"});
  EXPECT_THAT(collection.out, HasSubstr("name: kollect-collector\n"));
  EXPECT_THAT(collection.out, Not(HasSubstr("kollect-manager")));
  const auto whole = program.run("rbac", {file});
  EXPECT_THAT(whole.out, HasSubstr("name: kollect-manager\n"));
  EXPECT_THAT(whole.out, Not(HasSubstr("kollect-collector")));
}

TEST(Rbac, SecretsThatSinksNameMayBeReadAndWatchedByTheirNames) {
  const testing::Program program;
  const std::string sink = R"(
apiVersion: kollect.dev/v1alpha1
kind: KollectDatabaseSink
metadata: {name: pg, namespace: shop}
spec: {type: postgres, postgres: {databaseRef: {name: pg}, table: t}}
)";
  const std::string named =
      "      resourceNames:\n      - pg\n      resources:\n      - secrets\n      verbs:\n"
      "      - get\n      - list\n      - watch\n";
  const auto values = program.run("rbac", {"-", "--output", "values"}, sink);
  EXPECT_THAT(values.out, HasSubstr(named)) << values.err;
  // Where all may be read by their names, those that are used may still be watched alone.
  const auto all = program.run("rbac", {"-", "--all-secrets"}, sink);
  EXPECT_THAT(all.out, HasSubstr("  resourceNames:\n  - pg\n  resources:\n  - secrets\n  verbs:\n"
                                 "  - list\n  - watch\n"));
}

TEST(Rbac, ReadsTheModeAndTheFilesOfAValuesFile) {
  const testing::Program program;
  program.file("objects.yaml", kObjects + target("{profileRef: deployments}"));
  const std::string values = program.file(
      "values.yaml",
      "tenantMode: true\nwatchNamespaces: [shop]\ncollector: {profiles: [objects.yaml]}\n");
  const auto run = program.run("rbac", {"--values", values, "--output", "values"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, R"(collector:
  namespaceRules:
    shop:
    - apiGroups:
      - apps
      resources:
      - deployments
      verbs:
      - list
      - watch
  rules: []
)");
  const auto whole = program.run("rbac", {"--values", values});
  EXPECT_EQ(whole.code, 0);
  EXPECT_THAT(whole.out, HasSubstr("kollecttargets/status"));
  EXPECT_THAT(whole.out, Not(HasSubstr("ClusterRole")));
}

TEST(Rbac, DefinitionsAmongTheFilesNameTheirResources) {
  const testing::Program program;
  const std::string text = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: mice.example.test}
spec:
  group: example.test
  scope: Namespaced
  names: {kind: Mouse, plural: mice}
  versions: [{name: v1, served: true, storage: true}]
---
apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: mice, namespace: shop}
spec:
  targetGVK: {group: example.test, version: v1, kind: Mouse}
  attributes: [{name: a, path: $.metadata.name}]
)";
  const auto run = program.run("rbac", {"-", "--collection-only"}, text);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("- mice\n"));
}

TEST(Rbac, MistakesAreTold) {
  const testing::Program program;
  const std::string bad = program.file("bad.yaml", kObjects + target("{profileRef: nothing}"));
  for (const auto& [args, told] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{bad}, "KollectTarget shop/t: there is no profile"},
           {{"nowhere.yaml"}, "no such file"},
           {{"--output", "json"}, "--output"},
           {{"--service-account", "me"}, "NAMESPACE/NAME"},
           {{"--values", "nowhere.yaml"}, "nowhere.yaml"}}) {
    const auto run = program.run("rbac", args);
    EXPECT_EQ(run.code, 2) << args.front();
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr(told));
  }
}

}  // namespace
}  // namespace kollect::install
