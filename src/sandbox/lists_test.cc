// Lists, their pages, and watches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/testing.h"

namespace kollect::sandbox {
namespace {

using base::json::Value;
using testing::at;
using testing::config_map;
using ::testing::ElementsAre;
using testing::Got;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::names;
using testing::Server;
using testing::Watching;

const std::string kMaps = "/api/v1/namespaces/default/configmaps";
const std::string kMerge = "application/merge-patch+json";

std::string version_of(const Got& got) {
  return at(got.json(), "metadata.resourceVersion");
}

void make(Server& server, const std::vector<std::string>& list) {
  for (const std::string& name : list) ASSERT_EQ(server.post(kMaps, config_map(name)).status, 201);
}

TEST(SandboxLists, PagesShowOneState) {
  Server server;
  make(server, {"a", "b", "c", "d", "e"});
  const Got first = server.get(kMaps + "?limit=2");
  EXPECT_THAT(names(first), ElementsAre("default/a", "default/b"));
  EXPECT_EQ(at(first.json(), "metadata.remainingItemCount"), "3");
  EXPECT_EQ(at(first.json(), "kind"), "ConfigMapList");
  // Changes between the pages are not seen.
  server.call("DELETE", kMaps + "/c");
  make(server, {"bb", "z"});
  server.call("PATCH", kMaps + "/d", R"({"data":{"k":"new"}})", kMerge);
  const std::string token = at(first.json(), "metadata.continue");
  const Got second = server.get(kMaps + "?limit=2&continue=" + token);
  EXPECT_THAT(names(second), ElementsAre("default/c", "default/d"));
  EXPECT_THAT(second.text, Not(HasSubstr("new")));
  EXPECT_EQ(version_of(second), version_of(first));
  const Got third =
      server.get(kMaps + "?limit=2&continue=" + at(second.json(), "metadata.continue"));
  EXPECT_THAT(names(third), ElementsAre("default/e"));
  EXPECT_EQ(at(third.json(), "metadata.continue"), "");
  EXPECT_THAT(names(server.get(kMaps)), ElementsAre("default/a", "default/b", "default/bb",
                                                    "default/d", "default/e", "default/z"));
}

TEST(SandboxLists, TokensExpireAndCanBeContinuedInconsistently) {
  Server server({.history_events = 3});
  make(server, {"a", "b", "c"});
  const Got first = server.get(kMaps + "?limit=1");
  make(server, {"d", "e", "f", "g"});
  const Got gone = server.get(kMaps + "?limit=1&continue=" + at(first.json(), "metadata.continue"));
  EXPECT_EQ(gone.status, 410);
  EXPECT_EQ(at(gone.json(), "reason"), "Expired");
  const std::string token = at(gone.json(), "metadata.continue");
  EXPECT_THAT(names(server.get(kMaps + "?limit=2&continue=" + token)),
              ElementsAre("default/b", "default/c"));
  EXPECT_EQ(server.get(kMaps + "?continue=nonsense").status, 400);
  EXPECT_EQ(server.get(kMaps + "?resourceVersion=5&continue=" + token).status, 400);
}

TEST(SandboxLists, AStateOfThePast) {
  Server server({.history_events = 3});
  make(server, {"a"});
  const std::string then = version_of(server.get(kMaps));
  make(server, {"b"});
  const std::string exact = kMaps + "?resourceVersionMatch=Exact&resourceVersion=";
  EXPECT_THAT(names(server.get(exact + then)), ElementsAre("default/a"));
  EXPECT_THAT(names(server.get(kMaps + "?resourceVersion=" + then)),
              ElementsAre("default/a", "default/b"));
  EXPECT_EQ(server.get(kMaps + "?resourceVersion=99999").status, 504);
  make(server, {"c", "d", "e"});
  EXPECT_EQ(server.get(exact + then).status, 410);
  EXPECT_EQ(server.get(kMaps + "?resourceVersionMatch=Exact").status, 422);
  EXPECT_EQ(server.get(kMaps + "?sendInitialEvents=true").status, 422);
}

TEST(SandboxLists, Selectors) {
  Server server;
  server.post(kMaps, config_map("a", R"({"x":"1","y":"q"})"));
  server.post(kMaps, config_map("b", R"({"x":"2"})"));
  server.post(kMaps, config_map("c", R"({"n":"7"})"));
  struct Case {
    const char* selector;
    std::vector<std::string> found;
  };
  const std::vector<Case> cases = {{"x=1", {"default/a"}},
                                   {"x==1", {"default/a"}},
                                   {"x!=1", {"default/b", "default/c"}},
                                   {"x", {"default/a", "default/b"}},
                                   {"!x", {"default/c"}},
                                   {"x in (1, 2),y", {"default/a"}},
                                   {"x notin (1)", {"default/b", "default/c"}},
                                   {"n>5", {"default/c"}},
                                   {"n<5", {}},
                                   {"", {"default/a", "default/b", "default/c"}}};
  for (const Case& one : cases) {
    const Got got =
        server.get(kMaps + "?labelSelector=" + base::replace_all(one.selector, " ", "+"));
    EXPECT_EQ(names(got), one.found) << one.selector;
  }
  for (const char* bad : {"x in 1", "=a", "x=a b", "x in (", "a>b", "-%20x"}) {
    EXPECT_EQ(server.get(kMaps + "?labelSelector=" + base::replace_all(bad, " ", "+")).status, 400)
        << bad;
  }
  EXPECT_THAT(names(server.get(kMaps + "?fieldSelector=metadata.name%3Db")),
              ElementsAre("default/b"));
  EXPECT_THAT(names(server.get("/api/v1/configmaps?fieldSelector=metadata.namespace!=default")),
              IsEmpty());
  EXPECT_EQ(server.get(kMaps + "?fieldSelector=data.k%3Dv").status, 400);
  server.post("/api/v1/namespaces/default/pods",
              R"({"metadata":{"name":"p"},"spec":{"nodeName":"n1"}})");
  EXPECT_THAT(
      names(server.get("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1,status.phase%3DPending")),
      ElementsAre("default/p"));
  // With a limit, pages are filled although objects are left out.
  const Got page = server.get(kMaps + "?labelSelector=x&limit=1");
  EXPECT_THAT(names(page), ElementsAre("default/a"));
  EXPECT_EQ(at(page.json(), "metadata.remainingItemCount"), "");
  const Got rest = server.get(
      kMaps + "?labelSelector=x&limit=1&continue=" + at(page.json(), "metadata.continue"));
  EXPECT_THAT(names(rest), ElementsAre("default/b"));
  EXPECT_EQ(at(rest.json(), "metadata.continue"), "");
}

TEST(SandboxLists, ItemsOfBuiltInKindsHaveNoType) {
  Server server;
  make(server, {"a"});
  const Value list = server.get(kMaps).json();
  EXPECT_EQ(list.find("items")->as_array().front().find("kind"), nullptr);
}

TEST(SandboxWatch, TellsWhatHappensFromAVersionOn) {
  Server server;
  make(server, {"a"});
  const std::string version = version_of(server.get(kMaps));
  make(server, {"b"});
  Watching watch = server.watch(kMaps + "?watch=1&resourceVersion=" + version);
  EXPECT_THAT(watch.events(), ElementsAre("ADDED default/b"));
  server.call("PATCH", kMaps + "/a", R"({"data":{"k":"2"}})", kMerge);
  server.call("DELETE", kMaps + "/b");
  server.post("/api/v1/namespaces/kube-system/configmaps", config_map("far"));
  server.post("/api/v1/namespaces/default/secrets", config_map("other"));
  EXPECT_THAT(watch.events(), ElementsAre("MODIFIED default/a", "DELETED default/b"));
  EXPECT_THAT(watch.events(), IsEmpty());
  EXPECT_EQ(watch.last.next, http::BodySource::Next::kWait);
  Watching all = server.watch("/api/v1/configmaps?watch=true&resourceVersion=" + version);
  EXPECT_THAT(all.events(), ElementsAre("ADDED default/b", "MODIFIED default/a",
                                        "DELETED default/b", "ADDED kube-system/far"));
}

TEST(SandboxWatch, ADeletedObjectHasTheVersionOfItsDeletion) {
  Server server;
  make(server, {"a"});
  Watching watch =
      server.watch(kMaps + "?watch=1&resourceVersion=" + version_of(server.get(kMaps)));
  server.call("DELETE", kMaps + "/a");
  const Value event = testing::parse(watch.lines().at(0));
  EXPECT_EQ(at(event, "object.metadata.resourceVersion"), version_of(server.get(kMaps)));
}

TEST(SandboxWatch, WithoutAVersionBeginsWithWhatThereIs) {
  Server server;
  make(server, {"a", "b"});
  Watching watch = server.watch(kMaps + "?watch=1");
  EXPECT_THAT(watch.events(), ElementsAre("ADDED default/a", "ADDED default/b"));
  make(server, {"c"});
  EXPECT_THAT(watch.events(), ElementsAre("ADDED default/c"));
}

TEST(SandboxWatch, StreamedListEndsWithABookmark) {
  Server server;
  make(server, {"a", "b"});
  Watching watch = server.watch(kMaps +
                                "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                                "&allowWatchBookmarks=true");
  const auto lines = watch.lines();
  ASSERT_EQ(lines.size(), 3U);
  const Value mark = testing::parse(lines[2]);
  EXPECT_EQ(at(mark, "type"), "BOOKMARK");
  EXPECT_THAT(lines[2], HasSubstr(R"("k8s.io/initial-events-end":"true")"));
  EXPECT_EQ(at(mark, "object.metadata.resourceVersion"), version_of(server.get(kMaps)));
  EXPECT_EQ(server.get(kMaps + "?watch=1&sendInitialEvents=true").status, 422);
  EXPECT_EQ(server.get(kMaps + "?watch=1&resourceVersionMatch=NotOlderThan").status, 422);
}

TEST(SandboxWatch, BookmarksComeInTheirTime) {
  Server server({.reader = {.bookmark_interval = std::chrono::seconds(10)}});
  make(server, {"a"});
  Watching watch = server.watch(kMaps + "?watch=1&allowWatchBookmarks=true&resourceVersion=" +
                                version_of(server.get(kMaps)) + "&timeoutSeconds=25");
  EXPECT_THAT(watch.events(), IsEmpty());
  EXPECT_EQ(watch.last.at_most, std::chrono::seconds(10));
  server.clock.advance(std::chrono::seconds(10));
  server.post("/api/v1/namespaces/default/secrets", config_map("other"));
  const auto lines = watch.lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(at(testing::parse(lines[0]), "object.metadata.resourceVersion"),
            version_of(server.get(kMaps)));
  server.clock.advance(std::chrono::seconds(15));
  (void)watch.lines();
  EXPECT_EQ(watch.last.next, http::BodySource::Next::kEnd);
}

TEST(SandboxWatch, OldVersionsAreGone) {
  Server server({.history_events = 2});
  make(server, {"a"});
  const std::string version = version_of(server.get(kMaps));
  make(server, {"b", "c", "d"});
  Watching watch = server.watch(kMaps + "?watch=1&resourceVersion=" + version);
  EXPECT_THAT(watch.events(), ElementsAre("ERROR 410"));
  EXPECT_EQ(watch.last.next, http::BodySource::Next::kEnd);
}

TEST(SandboxWatch, SelectorsTurnChangesIntoComingAndGoing) {
  Server server;
  server.post(kMaps, config_map("a", R"({"x":"1"})"));
  Watching watch = server.watch(
      kMaps + "?watch=1&labelSelector=x%3D1&resourceVersion=" + version_of(server.get(kMaps)));
  const auto label = [&](const std::string& value) {
    server.call("PATCH", kMaps + "/a", R"({"metadata":{"labels":{"x":")" + value + R"("}}})",
                kMerge);
  };
  label("2");
  const auto lines = watch.lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(at(testing::parse(lines[0]), "type"), "DELETED");
  EXPECT_EQ(at(testing::parse(lines[0]), "object.metadata.labels.x"), "1");
  EXPECT_EQ(at(testing::parse(lines[0]), "object.metadata.resourceVersion"),
            version_of(server.get(kMaps + "/a")));
  label("3");
  EXPECT_THAT(watch.events(), IsEmpty());
  label("1");
  EXPECT_THAT(watch.events(), ElementsAre("ADDED default/a"));
  Watching one = server.watch(kMaps + "?watch=1&fieldSelector=metadata.name%3Dz");
  make(server, {"y", "z"});
  EXPECT_THAT(one.events(), ElementsAre("ADDED default/z"));
}

TEST(SandboxWatch, ARestartCutsAndForgets) {
  Server server;
  make(server, {"a", "b"});
  const Got page = server.get(kMaps + "?limit=1");
  const std::string version = at(server.get(kMaps + "/a").json(), "metadata.resourceVersion");
  Watching watch = server.watch(kMaps + "?watch=1&resourceVersion=" + version_of(page));
  EXPECT_THAT(watch.events(), IsEmpty());
  make(server, {"c"});
  server.api.store().forget_history();
  EXPECT_THAT(watch.lines(), IsEmpty());
  EXPECT_EQ(watch.last.next, http::BodySource::Next::kCut);
  EXPECT_EQ(server.get(kMaps + "?limit=1&continue=" + at(page.json(), "metadata.continue")).status,
            410);
  EXPECT_THAT(server.watch(kMaps + "?watch=1&resourceVersion=" + version).events(),
              ElementsAre("ERROR 410"));
  EXPECT_THAT(names(server.get(kMaps)), ElementsAre("default/a", "default/b", "default/c"));
}

}  // namespace
}  // namespace kollect::sandbox
