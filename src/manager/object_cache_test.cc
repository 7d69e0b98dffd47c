#include "manager/object_cache.h"

#include <gtest/gtest.h>

#include "base/json/document.h"
#include "base/json/write.h"

namespace kollect::manager {
namespace {

using base::json::Value;

std::string profile_text(const std::string& version, const std::string& kind) {
  return R"({"metadata": {"name": "p", "namespace": "x", "resourceVersion": ")" + version +
         R"("}, "spec": {"targetGVK": {"version": "v1", "kind": ")" + kind + R"("}}})";
}

Value profile(const std::string& version, const std::string& kind) {
  return base::json::to_value(base::json::Document::parse(profile_text(version, kind))->root());
}

class Cache : public ::testing::Test {
 protected:
  void watch(const Value& value) {
    const std::string text = base::json::compact(value);
    feed_.object(base::json::Document::parse_borrowed(text)->root());
  }
  std::string kind() const { return cache_.get(key_)->object.spec.target_gvk.kind; }

  const Key key_{.ns = "x", .name = "p"};
  int changes_ = 0;
  ObjectCache<api::Profile> cache_{"KollectProfile",
                                   [this](const CacheEvent<api::Profile>&) { ++changes_; }};
  kube::ObjectReceiver& feed_ = cache_.feed("");
};

TEST_F(Cache, AnAnswerOfOurOwnWriteIsSeenBeforeTheWatchBringsIt) {
  watch(profile("9", "Pod"));
  cache_.put(profile("10", "Secret"));
  EXPECT_EQ(kind(), "Secret");
  EXPECT_EQ(changes_, 2);
}

TEST_F(Cache, AnAnswerThatIsLateDoesNotUndoWhatTheWatchBrought) {
  watch(profile("9", "Pod"));
  watch(profile("11", "Node"));  // somebody's change behind our write, which was 10
  cache_.put(profile("10", "Secret"));
  cache_.put(profile("11", "Secret"));
  EXPECT_EQ(kind(), "Node");
  EXPECT_EQ(changes_, 2);
}

TEST_F(Cache, AnAnswerAboutAnObjectThatIsGoneBringsNothingBack) {
  cache_.put(profile("10", "Secret"));
  EXPECT_EQ(cache_.get(key_), nullptr);
  EXPECT_EQ(changes_, 0);
}

TEST_F(Cache, ListsAreBelievedWhateverTheirVersions) {
  watch(profile("11", "Node"));
  watch(profile("3", "Pod"));  // a server that was restored
  EXPECT_EQ(kind(), "Pod");
}

TEST_F(Cache, VersionsThatAreNoNumbersAreTakenAsNewer) {
  watch(profile("a7", "Pod"));
  cache_.put(profile("a6", "Secret"));
  EXPECT_EQ(kind(), "Secret");
}

// What cannot be listed is unknown, not absent.
TEST(CacheLookup, SaysWhyItIsNotComplete) {
  ObjectCache<api::Scope> cache("KollectScope");
  kube::ObjectReceiver& feed = cache.feed("");
  EXPECT_TRUE(cache.waiting());
  EXPECT_FALSE(cache.tell("", std::nullopt));
  EXPECT_FALSE(cache.tell("", base::retryable("unreachable"))) << "passes by itself";
  EXPECT_TRUE(cache.waiting());
  EXPECT_TRUE(cache.tell("", base::denied("no right", "forbidden")));
  EXPECT_FALSE(cache.tell("", base::denied("no right", "forbidden"))) << "no news";
  EXPECT_FALSE(cache.waiting());
  EXPECT_EQ(cache.lookup_error()->reason, "forbidden");
  EXPECT_FALSE(cache.tell("", base::retryable("unreachable")));
  EXPECT_EQ(cache.lookup_error()->reason, "forbidden");
  feed.begin_list();
  feed.end_list();
  EXPECT_TRUE(cache.synced());
  EXPECT_FALSE(cache.lookup_error());
  EXPECT_FALSE(cache.tell("", base::denied("withdrawn"))) << "what was read stands";
}

TEST(CacheLookup, EachNamespaceForItself) {
  ObjectCache<api::Scope> cache("KollectScope");
  EXPECT_TRUE(cache.waiting());
  kube::ObjectReceiver& good = cache.feed("a");
  cache.feed("b");
  cache.feed("c");
  good.begin_list();
  good.end_list();
  EXPECT_TRUE(cache.tell("b", base::denied("no right", "forbidden")));
  EXPECT_FALSE(cache.tell("other", base::denied("no right", "forbidden")));
  EXPECT_TRUE(cache.synced("a"));
  EXPECT_FALSE(cache.waiting("a"));
  EXPECT_FALSE(cache.lookup_error("a"));
  EXPECT_FALSE(cache.synced("b"));
  EXPECT_FALSE(cache.waiting("b"));
  EXPECT_EQ(cache.lookup_error("b")->reason, "forbidden");
  EXPECT_TRUE(cache.waiting("c"));
  EXPECT_FALSE(cache.lookup_error("c"));
  // Where nobody looks there is nothing to wait for, and nothing is known.
  EXPECT_FALSE(cache.synced("d") || cache.waiting("d") || cache.lookup_error("d"));
  EXPECT_FALSE(cache.synced());
  EXPECT_TRUE(cache.any_synced());
  EXPECT_TRUE(cache.waiting());
  EXPECT_EQ(cache.lookup_error()->reason, "forbidden");
  EXPECT_TRUE(cache.tell("c", base::denied("no right", "forbidden")));
  EXPECT_FALSE(cache.waiting());
}

}  // namespace
}  // namespace kollect::manager
