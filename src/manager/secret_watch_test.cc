// Watches of single Secrets against a scripted server.
#include "manager/secret_watch.h"

#include <gmock/gmock.h>

#include <condition_variable>

#include "base/log.h"
#include "manager/secret_reader.h"
#include "support/reflector_fixture.h"

namespace kollect::manager {
namespace {

using namespace std::chrono_literals;
using testing::added;
using testing::deleted;
using ::testing::ElementsAre;
using testing::end_mark;
using ::testing::HasSubstr;
using testing::modified;
using testing::Reply;
using testing::status_reply;

class SecretWatchTest : public testing::ReflectorFixture {
 protected:
  void SetUp() override {
    ReflectorFixture::SetUp();
    clock_.patient = true;
    client_ = std::make_unique<kube::Client>(http_, config_, kube::ClientOptions{}, nullptr);
  }
  void make(SecretWatch::Limits limits = {}) {
    limits.silence = 24h;
    watch_ = std::make_unique<SecretWatch>(*client_, clock_, limits);
    watch_->on_change([this](const std::string& ns, const std::string& name) {
      const std::scoped_lock lock(mutex_);
      told_.push_back(ns + "/" + name);
      changed_.notify_all();
    });
  }
  bool wait_for_told(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 1min, [&] { return told_.size() >= count; });
  }
  std::vector<std::string> told() {
    const std::scoped_lock lock(mutex_);
    return told_;
  }
  /// Until the watch has seen this version.
  void follow_until(const std::string& name, const std::optional<std::string>& version) {
    while (watch_->follow("shop", name) != version) std::this_thread::yield();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> told_;
  std::unique_ptr<SecretWatch> watch_;
};

TEST_F(SecretWatchTest, ChangesAreToldAndMetadataIsAllThatIsAskedFor) {
  server_.then(
      "STREAM",
      server_.behind(
          server_.behind(server_.behind(testing::watch_reply({added("pg", "5"), end_mark("5")}),
                                        "rotated", modified("pg", "6") + "\n"),
                         "gone", deleted("pg", "7") + "\n"),
          "never", ""));
  make();
  follow_until("pg", "uid-pg@5");
  EXPECT_THAT(told(), ElementsAre()) << "that it is there is no news";
  server_.open("rotated");
  ASSERT_TRUE(wait_for_told(1));
  EXPECT_EQ(watch_->follow("shop", "pg"), "uid-pg@6");
  server_.open("gone");
  ASSERT_TRUE(wait_for_told(2));
  EXPECT_EQ(watch_->follow("shop", "pg"), "");
  EXPECT_THAT(told(), ElementsAre("shop/pg", "shop/pg"));
  const auto request = server_.received().at(0);
  EXPECT_THAT(request.target, HasSubstr("/api/v1/namespaces/shop/secrets?"));
  EXPECT_EQ(request.query("fieldSelector"), "metadata.name=pg");
  EXPECT_THAT(request.header("accept"), HasSubstr("as=PartialObjectMetadata"));
}

TEST_F(SecretWatchTest, OneThatComesIsTold) {
  server_.then("STREAM", server_.behind(server_.behind(testing::watch_reply({end_mark("5")}),
                                                       "made", added("pg", "6") + "\n"),
                                        "never", ""));
  make();
  follow_until("pg", "");
  server_.open("made");
  ASSERT_TRUE(wait_for_told(1));
  EXPECT_EQ(watch_->follow("shop", "pg"), "uid-pg@6");
}

TEST_F(SecretWatchTest, WithoutRightsItIsTriedAgainLater) {
  server_.otherwise([](const auto&) { return status_reply(403, "Forbidden"); });
  make();
  for (int i = 0; i < 3; ++i) {
    const std::size_t before = server_.log().size();
    EXPECT_EQ(watch_->follow("shop", "pg"), std::nullopt);
    while (watch_->denied() == 0) std::this_thread::yield();
    EXPECT_GT(server_.log().size(), before);
    clock_.advance(9min);
    EXPECT_EQ(watch_->follow("shop", "pg"), std::nullopt);
    EXPECT_EQ(watch_->denied(), 1U) << "not yet";
    clock_.advance(1min);
  }
  watch_->stop();
  EXPECT_EQ(watch_->follow("shop", "pg"), std::nullopt);
}

TEST_F(SecretWatchTest, ThereAreNotTooManyAndUnusedOnesEnd) {
  server_.then("STREAM", server_.held({added("a", "5"), end_mark("5")}));
  server_.then("STREAM", server_.held({added("b", "5"), end_mark("5")}));
  make({.watches = 1});
  follow_until("a", "uid-a@5");
  EXPECT_EQ(watch_->follow("shop", "b"), std::nullopt);
  EXPECT_EQ(server_.log().size(), 1U);
  clock_.advance(1h);
  follow_until("b", "uid-b@5");
  EXPECT_EQ(server_.log().size(), 2U);
  EXPECT_EQ(watch_->follow("shop", "a"), std::nullopt);
}

/// A Secret of this version.
Reply secret(const std::string& version) {
  return Reply::json(R"({"metadata":{"uid":"uid-pg","resourceVersion":")" + version +
                     R"("},"data":{"dsn":"eA=="}})");
}

TEST_F(SecretWatchTest, AReaderAsksTheServerForWhatItHasNotReadOnly) {
  server_.then("STREAM", server_.behind(
                             server_.behind(testing::watch_reply({added("pg", "5"), end_mark("5")}),
                                            "rotated", modified("pg", "6") + "\n"),
                             "never", ""));
  std::atomic<int> reads = 0;
  server_.otherwise([&](const auto&) { return secret(reads++ == 0 ? "5" : "6"); });
  make();
  follow_until("pg", "uid-pg@5");
  base::Redactor redactor;
  SecretReader reader(*client_, clock_, redactor, watch_.get());
  const base::Context context(clock_, {});
  const auto version = [&] {
    const auto state = reader.read(context, "shop", "shop", "pg");
    return state ? state->version : state.error().message;
  };
  EXPECT_EQ(version(), "uid-pg@5");
  clock_.advance(9min);
  EXPECT_EQ(version(), "uid-pg@5");
  EXPECT_EQ(reads, 1);
  server_.open("rotated");
  ASSERT_TRUE(wait_for_told(1));
  EXPECT_EQ(version(), "uid-pg@6");
  EXPECT_EQ(version(), "uid-pg@6");
  EXPECT_EQ(reads, 2);
  clock_.advance(10min);
  EXPECT_EQ(version(), "uid-pg@6");
  EXPECT_EQ(reads, 3) << "a backstop";
}

}  // namespace
}  // namespace kollect::manager
