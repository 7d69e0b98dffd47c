#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "base/json/document.h"
#include "readapi/memory_source.h"
#include "readapi/service.h"

namespace kollect::readapi {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemoryRow;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

struct Frame {
  std::string id;
  std::string event;
  std::string data;
};

/// A client: reads when told.
class Client {
 public:
  explicit Client(http::Answer answer) : status(answer.status), source_(std::move(answer.source)) {
    if (source_) source_->start([this] { ++wakes; });
  }

  /// Everything that is there now.
  std::string read() {
    std::string all;
    for (int i = 0; i < 10000 && !ended; ++i) {
      std::string piece;
      const http::BodySource::Pull pull = source_->pull(piece);
      all += piece;
      ended =
          pull.next == http::BodySource::Next::kEnd || pull.next == http::BodySource::Next::kCut;
      wait = pull.at_most;
      if (pull.next == http::BodySource::Next::kWait) break;
    }
    return all;
  }
  std::vector<Frame> frames() {
    std::vector<Frame> out;
    const std::string text = read();
    static const std::regex kFrame("(?:id: (.*)\n)?(?:event: (.*)\n)?data: (.*)\n\n");
    for (std::sregex_iterator it(text.begin(), text.end(), kFrame), end; it != end; ++it) {
      out.push_back({.id = (*it)[1], .event = (*it)[2], .data = (*it)[3]});
      EXPECT_TRUE(base::json::Document::parse(out.back().data).has_value()) << out.back().data;
    }
    return out;
  }

  int status;
  bool ended = false;
  int wakes = 0;
  base::Duration wait{};

 private:
  std::shared_ptr<http::BodySource> source_;
};

class StreamTest : public ::testing::Test {
 protected:
  StreamTest() { restart(); }

  void restart() {
    service_ = std::make_unique<Service>(
        ServiceParts{.source = source_, .access = access_, .clock = clock_, .feed = &feed_},
        ServiceOptions{
            .version = "1", .max_streams = 3, .stream_buffer_bytes = buffer_, .own_thread = false});
  }
  http::Answer ask(const std::string& path, const std::string& query = {},
                   const std::string& last = {}, const std::string& method = "GET") {
    auto request = std::make_shared<http::ServerRequest>();
    request->method = method;
    request->path = path;
    request->query = query;
    if (!last.empty()) request->headers.emplace_back("last-event-id", last);
    return service_->answer(request);
  }
  Client changes(const std::string& query = {}, const std::string& last = {}) {
    return Client(ask("/v1alpha1/changes/watch", query, last));
  }
  void change(const std::string& name, const std::string& attributes = "{\"v\":1}",
              bool removed = false) {
    feed_.put({.ns = "shop", .name = name, .uid = "u-" + name, .attributes = attributes}, removed);
  }

  std::size_t buffer_ = 1U << 20U;
  base::ManualClock clock_;
  testing::MemorySource source_;
  testing::MemoryFeed feed_;
  testing::MemoryAccess access_;
  std::unique_ptr<Service> service_;
};

TEST_F(StreamTest, EveryChangeOnceInOrder) {
  Client client = changes();
  auto frames = client.frames();
  ASSERT_THAT(frames, SizeIs(1));
  EXPECT_EQ(frames[0].event, "hello");
  EXPECT_EQ(frames[0].data, "{\"state\":\"" + frames[0].id + "\"}");
  change("a");
  change("b", "{}", true);
  service_->turn();
  EXPECT_EQ(client.wakes, 1);
  frames = client.frames();
  ASSERT_THAT(frames, SizeIs(2));
  EXPECT_EQ(frames[0].event, "change");
  EXPECT_EQ(
      frames[0].data,
      R"({"op":"upsert","item":{"targetNamespace":"ops","targetName":"apps","namespace":"shop",)"
      R"("name":"a","group":"apps","version":"v1","kind":"Deployment","uid":"u-a",)"
      R"("attributes":{"v":1}}})");
  EXPECT_THAT(frames[1].data, StartsWith(R"({"op":"delete","item":{)"));
  EXPECT_THAT(frames[1].data, Not(HasSubstr("attributes")));
  EXPECT_THAT(client.frames(), IsEmpty());
  service_->turn();
  EXPECT_EQ(client.wakes, 1);
}

TEST_F(StreamTest, ResumedBehindTheLastEvent) {
  Client first = changes();
  first.read();
  for (const char* name : {"a", "b", "c"}) change(name);
  service_->turn();
  const auto frames = first.frames();
  ASSERT_THAT(frames, SizeIs(3));
  for (const bool header : {true, false}) {
    Client again = header ? changes({}, frames[0].id) : changes("lastEventId=" + frames[0].id);
    const auto rest = again.frames();
    ASSERT_THAT(rest, SizeIs(3));
    EXPECT_EQ(rest[0].event, "hello");
    EXPECT_EQ(rest[1].id, frames[1].id);
    EXPECT_EQ(rest[2].data, frames[2].data);
  }
}

TEST_F(StreamTest, AStateThatNobodyKnowsMeansToListAnew) {
  const std::string state = changes().frames()[0].id;
  const std::string epoch = state.substr(0, state.rfind('-'));
  change("a");
  service_->turn();
  for (const std::string& last :
       {std::string("0-1"), std::string("x"), std::string("-"), epoch + "-0", epoch + "-99999",
        epoch + "-1x", epoch + "-99999999999999999999999"}) {
    const auto frames = changes({}, last).frames();
    ASSERT_THAT(frames, SizeIs(2)) << last;
    EXPECT_EQ(frames[1].event, "reset");
    EXPECT_THAT(frames[1].data, HasSubstr("\"reason\":\"Expired\""));
    EXPECT_EQ(frames[1].id, frames[0].id);
  }
  restart();  // an operator that began anew
  EXPECT_EQ(changes({}, state).frames()[1].event, "reset");
}

TEST_F(StreamTest, AClientThatIsTooSlowIsToldSoAndComesBack) {
  buffer_ = 4000;
  restart();
  Client slow = changes();
  Client quick = changes();
  slow.read();
  quick.read();
  std::string last;
  std::size_t seen = 0;
  for (int i = 0; i < 100; ++i) {
    change("n" + std::to_string(i));
    service_->turn();
    const auto frames = quick.frames();
    seen += frames.size();
    last = frames.back().id;
  }
  EXPECT_EQ(seen, 100U);
  const auto frames = slow.frames();
  ASSERT_THAT(frames, SizeIs(1));
  EXPECT_EQ(frames[0].event, "dropped");
  EXPECT_THAT(frames[0].data, HasSubstr("\"reason\":\"TooSlow\""));
  EXPECT_TRUE(slow.ended);
  // Nearly there it goes on without a gap.
  change("m");
  service_->turn();
  Client back = changes({}, last);
  const auto rest = back.frames();
  ASSERT_THAT(rest, SizeIs(2));
  EXPECT_THAT(rest[1].data, HasSubstr("\"name\":\"m\""));
}

TEST_F(StreamTest, FiltersAndWhatNoLongerMatches) {
  Client client = changes("attr.v=1&name=a");
  client.read();
  change("a");
  change("b");
  change("a", "{\"v\":2}");
  service_->turn();
  const auto frames = client.frames();
  ASSERT_THAT(frames, SizeIs(2));
  EXPECT_THAT(frames[0].data, StartsWith("{\"op\":\"upsert\""));
  EXPECT_THAT(frames[1].data, StartsWith("{\"op\":\"delete\""));
  EXPECT_THAT(frames[1].data, Not(HasSubstr("\"v\":2")));
}

TEST_F(StreamTest, NobodySeesRowsOfOthers) {
  access_.verdict = [](const Caller&, const Wish&) {
    return Verdict{.sight = {.clusters = {}, .namespaces = std::vector<std::string>{"pay"}}};
  };
  Client client = changes();
  client.read();
  change("secret");
  feed_.put({.ns = "pay", .name = "own", .uid = "u", .target_namespace = "pay"});
  change("secret", "{}", true);
  service_->turn();
  const auto frames = client.frames();
  ASSERT_THAT(frames, SizeIs(1));
  EXPECT_THAT(frames[0].data, HasSubstr("\"name\":\"own\""));
}

TEST_F(StreamTest, BeatsAndRightsThatAreTakenAway) {
  Client client = changes();
  client.read();
  EXPECT_LE(client.wait, seconds(15));
  clock_.advance(seconds(14));
  EXPECT_THAT(client.read(), IsEmpty());
  clock_.advance(seconds(1));
  EXPECT_THAT(client.read(), StartsWith(":"));
  access_.verdict = [](const Caller&, const Wish&) {
    return Verdict{.kind = Verdict::Kind::kUnavailable};
  };
  clock_.advance(seconds(31));
  client.read();
  EXPECT_FALSE(client.ended);  // nobody could be asked: as before
  access_.verdict = [](const Caller&, const Wish&) {
    return Verdict{.kind = Verdict::Kind::kForbidden, .message = "no more"};
  };
  change("a");
  service_->turn();
  clock_.advance(seconds(31));
  const auto frames = client.frames();
  ASSERT_THAT(frames, SizeIs(1));
  EXPECT_EQ(frames[0].event, "dropped");
  EXPECT_THAT(frames[0].data, HasSubstr("Forbidden"));
  EXPECT_TRUE(client.ended);
}

TEST_F(StreamTest, SeatsAreCounted) {
  {
    Client one = changes();
    Client two = changes();
    Client three = changes();
    EXPECT_EQ(service_->streams(), 3U);
    const http::Answer full = ask("/v1alpha1/changes/watch");
    EXPECT_EQ(full.status, 503);
    EXPECT_THAT(full.body, HasSubstr("TooManyStreams"));
    EXPECT_EQ(ask("/v1alpha1/inventory/watch").status, 503);
  }
  EXPECT_EQ(service_->streams(), 0U);
  EXPECT_EQ(ask("/v1alpha1/changes/watch", {}, {}, "HEAD").status, 200);
  EXPECT_EQ(service_->streams(), 0U);
}

TEST_F(StreamTest, TheFeedRestsWhenNobodyListens) {
  {
    Client client = changes();
    client.read();
    service_->turn();
    EXPECT_EQ(feed_.opened, 1);
  }
  clock_.advance(std::chrono::minutes(4));
  service_->turn();
  EXPECT_EQ(feed_.closed, 0);
  clock_.advance(std::chrono::minutes(2));
  service_->turn();
  EXPECT_EQ(feed_.closed, 1);
  Client client = changes();
  client.read();
  EXPECT_EQ(feed_.opened, 2);
}

TEST_F(StreamTest, PagesAreSentOnceForEachState) {
  source_.table = {{.ns = "shop", .name = "a", .uid = "1"},
                   {.ns = "shop", .name = "b", .uid = "2"}};
  Client client(ask("/v1alpha1/inventory/watch", "limit=1"));
  auto frames = client.frames();
  ASSERT_THAT(frames, SizeIs(2));  // named, and as the default event
  EXPECT_EQ(frames[0].event, "inventory");
  EXPECT_EQ(frames[1].event, "");
  EXPECT_EQ(frames[0].data, frames[1].data);
  EXPECT_THAT(frames[0].data, HasSubstr("\"itemCount\":1"));
  EXPECT_EQ(frames[0].id, "1");
  // Many changes within a second are one frame.
  for (int i = 0; i < 5; ++i) {
    ++source_.version;
    feed_.touch();
    service_->turn();
  }
  EXPECT_THAT(client.frames(), IsEmpty());
  EXPECT_LE(client.wait, seconds(1));
  clock_.advance(seconds(1));
  frames = client.frames();
  ASSERT_THAT(frames, SizeIs(2));
  EXPECT_EQ(frames[0].id, "6");
  // Who has this state gets nothing until there is another.
  Client knows(ask("/v1alpha1/inventory/watch", "limit=1", "6"));
  EXPECT_THAT(knows.frames(), IsEmpty());
  ++source_.version;
  feed_.touch();
  service_->turn();
  clock_.advance(seconds(1));
  EXPECT_THAT(knows.frames(), SizeIs(2));
}

TEST_F(StreamTest, AStoreThatIsAwayForAWhile) {
  source_.table = {{.ns = "shop", .name = "a", .uid = "1"}};
  source_.failure = base::retryable("the file is gone");
  EXPECT_EQ(ask("/v1alpha1/inventory/watch").status, 503);
  source_.failure = {};
  Client client(ask("/v1alpha1/inventory/watch"));
  client.read();
  source_.failure = base::retryable("the file is gone");
  ++source_.version;
  feed_.touch();
  service_->turn();
  clock_.advance(seconds(2));
  EXPECT_THAT(client.frames(), IsEmpty());
  EXPECT_FALSE(client.ended);
  source_.failure = {};
  clock_.advance(seconds(2));
  EXPECT_THAT(client.frames(), SizeIs(2));
}

}  // namespace
}  // namespace kollect::readapi
