// What goes wrong on purpose, and generated objects.
#include "sandbox/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client.h"
#include "sandbox/changes.h"
#include "sandbox/sandbox.h"
#include "sandbox/testing.h"

namespace kollect::sandbox {
namespace {

using base::json::Value;
using testing::at;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::parse;
using ::testing::SizeIs;
using testing::Watching;

using Next = http::BodySource::Next;

/// Gives lines, one at a pull, then waits.
class Lines final : public http::BodySource {
 public:
  explicit Lines(std::vector<std::string> lines) : lines_(std::move(lines)) {}
  Pull pull(std::string& out) override {
    if (at_ == lines_.size()) return {.next = Next::kWait};
    out += lines_[at_++] + "\n";
    return {.next = Next::kMore};
  }

 private:
  std::vector<std::string> lines_;
  std::size_t at_ = 0;
};

std::string event(const std::string& name, int version, const std::string& type = "MODIFIED") {
  return fmt::format(
      R"({{"type":"{}","object":{{"metadata":{{"name":"{}","namespace":"n","v":{}}}}}}})", type,
      name, version);
}

std::vector<Faults::LivePtr> rule(FaultRule one) {
  auto live = std::make_shared<Faults::Live>();
  live->rule = std::move(one);
  return {live};
}

/// "a1 b2": names and versions as they come through.
std::string through(std::vector<Faults::LivePtr> rules, std::vector<std::string> lines,
                    Next* last = nullptr) {
  const auto source =
      with_faults(std::make_shared<Lines>(std::move(lines)), std::move(rules), true);
  std::string text;
  http::BodySource::Pull pull;
  for (int i = 0; i < 50; ++i) {
    pull = source->pull(text);
    if (pull.next == Next::kEnd || pull.next == Next::kCut) break;
  }
  if (last != nullptr) *last = pull.next;
  std::string out;
  for (const auto line : base::split(text, '\n')) {
    if (line.empty()) continue;
    const Value one = parse(line);
    if (!out.empty()) out += ' ';
    out += one.text("type") == "MODIFIED"
               ? at(one, "object.metadata.name") + at(one, "object.metadata.v")
               : std::string(one.text("type"));
  }
  return out;
}

TEST(SandboxFaults, EventsComeLateButInOrderForEachObject) {
  FaultRule late{.id = "l", .action = FaultRule::Action::kLate};
  late.times = 1;
  late.by = 2;
  EXPECT_EQ(through(rule(late), {event("a", 1), event("b", 1), event("c", 1), event("d", 1)}),
            "b1 c1 a1 d1");
  EXPECT_EQ(through(rule(late), {event("a", 1), event("b", 1), event("a", 2), event("c", 1)}),
            "b1 a1 a2 c1");
  // A bookmark says that everything was given; nothing stays behind when it grows quiet.
  EXPECT_EQ(through(rule(late), {event("a", 1), event("", 9, "BOOKMARK"), event("b", 1)}),
            "a1 BOOKMARK b1");
  EXPECT_EQ(through(rule(late), {event("a", 1), event("b", 1)}), "b1 a1");
}

TEST(SandboxFaults, EventsComeTwice) {
  FaultRule twice{.id = "d", .action = FaultRule::Action::kDuplicate};
  twice.skip = 1;
  twice.times = 1;
  EXPECT_EQ(through(rule(twice), {event("a", 1), event("b", 1), event("c", 1)}), "a1 b1 b1 c1");
}

TEST(SandboxFaults, WatchesEndOrFallSilent) {
  const std::vector<std::string> lines = {event("a", 1), event("b", 1), event("c", 1)};
  Next last = Next::kEnd;
  FaultRule cut{.id = "c", .action = FaultRule::Action::kCut, .after_events = 2};
  EXPECT_EQ(through(rule(cut), lines, &last), "a1 b1");
  EXPECT_EQ(last, Next::kCut);
  FaultRule stall{.id = "s", .action = FaultRule::Action::kStall, .after_events = 1};
  EXPECT_EQ(through(rule(stall), lines, &last), "a1");
  EXPECT_EQ(last, Next::kWait);
  FaultRule gone{.id = "g", .action = FaultRule::Action::kGone, .after_events = 2};
  EXPECT_EQ(through(rule(gone), lines, &last), "a1 b1 ERROR");
  EXPECT_EQ(last, Next::kEnd);
}

TEST(SandboxFaults, BookmarksAreWithheld) {
  const std::string end = R"({"type":"BOOKMARK","object":{"metadata":{"annotations":)"
                          R"({"k8s.io/initial-events-end":"true"}}}})";
  const std::vector<std::string> lines = {event("a", 1), end, event("", 1, "BOOKMARK")};
  EXPECT_EQ(through(rule({.id = "n", .action = FaultRule::Action::kNoListEnd}), lines),
            "a1 BOOKMARK");
  EXPECT_EQ(through(rule({.id = "n", .action = FaultRule::Action::kNoBookmarks}), lines), "a1");
}

// A mark behind events that were never told would be a lie that no server tells.
TEST(SandboxFaults, NothingPassesAStall) {
  class AllAtOnce final : public http::BodySource {
   public:
    Pull pull(std::string& out) override {
      out += event("a", 1) + "\n" + event("b", 2) + "\n" + event("", 3, "BOOKMARK") + "\n";
      return {.next = Next::kMore};
    }
  };
  const auto source =
      with_faults(std::make_shared<AllAtOnce>(),
                  rule({.id = "s", .action = FaultRule::Action::kStall, .after_events = 1}), true);
  std::string text;
  EXPECT_EQ(source->pull(text).next, http::BodySource::Next::kWait);
  EXPECT_EQ(text, event("a", 1) + "\n");
}

TEST(SandboxFaults, BytesAreCounted) {
  FaultRule cut{.id = "c", .action = FaultRule::Action::kCut, .after_bytes = 7};
  const auto source = with_faults(std::make_shared<Lines>(std::vector<std::string>{"abcd", "efgh"}),
                                  rule(cut), false);
  std::string text;
  EXPECT_EQ(source->pull(text).next, Next::kMore);
  EXPECT_EQ(source->pull(text).next, Next::kCut);
  EXPECT_EQ(text, "abcd\nef");
}

TEST(SandboxFaults, RulesAreChecked) {
  const base::ManualClock clock;
  Faults faults(clock, 1);
  for (const char* bad :
       {R"([])", R"({"rules":{}})", R"({"rules":[{}]})", R"({"rules":[{"do":"explode"}]})",
        R"({"rules":[{"do":"cut","verbs":"get"}]})", R"({"rules":[{"do":"cut","often":1}]})",
        R"({"rules":[{"do":"cut","times":-1}]})", R"({"rule":[]})"}) {
    EXPECT_FALSE(faults.set(parse(bad))) << bad;
  }
  EXPECT_EQ(faults.set(parse(R"({"rules":[{"do":"kut"}]})")).error().message,
            "faults: rules[0].do: \"kut\" is no action; actions are error, cut, stall, gone, "
            "duplicate, late, no-bookmarks, no-list-end");
  EXPECT_EQ(faults.set(parse(R"({"rules":[{"do":"cut","verb":["watch"]}]})")).error().message,
            "faults: rules[0].verb: is no member of a rule; did you mean verbs?");
  EXPECT_TRUE(faults.set(parse(R"({"rules":[{"id":"x","do":"cut"}]})")));
  EXPECT_EQ(at(faults.describe(), "rules"), R"([{"id":"x","do":"cut","matches":0,"strikes":0}])");
}

TEST(SandboxFaults, TheSameSeedStrikesTheSameRequests) {
  const auto strikes = [](std::uint64_t seed) {
    Faults::Live live;
    live.seed = seed;
    live.rule.probability = 0.3;
    std::string out;
    for (int i = 0; i < 200; ++i) out += live.strikes_now() ? 'x' : '.';
    return out;
  };
  EXPECT_EQ(strikes(1), strikes(1));
  EXPECT_NE(strikes(1), strikes(2));
  const auto hits = std::ranges::count(strikes(1), 'x');
  EXPECT_GT(hits, 30);
  EXPECT_LT(hits, 90);
}

// ---- over the network

class SandboxServer : public ::testing::Test {
 protected:
  void begin(SandboxOptions options) {
    auto started = Sandbox::start(clock, std::move(options));
    ASSERT_TRUE(started) << started.error().message;
    sandbox = std::move(*started);
  }
  base::Result<http::Response> ask(const std::string& path, const std::string& method = "GET",
                                   const std::string& body = {}) {
    http::Request request;
    request.url = sandbox->url() + path;
    request.method = method;
    request.body = body;
    request.headers = {{"Content-Type", "application/json"}};
    return client.fetch(context, request);
  }
  void rules(const std::string& list) {
    const auto set = ask("/sandbox/faults", "PUT", R"({"rules":[)" + list + "]}");
    ASSERT_TRUE(set && set->status == 200) << set->body;
  }

  base::SystemClock clock;
  base::Context context = base::Context::background();
  http::Client client;
  std::unique_ptr<Sandbox> sandbox;
};

TEST_F(SandboxServer, RequestsFailByRule) {
  begin({});
  rules(
      R"({"do":"error","code":429,"retryAfter":3,"verbs":["list"],"resources":["deployments.apps"],"times":1})");
  const auto refused = ask("/apis/apps/v1/deployments");
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->header("retry-after"), "3");
  EXPECT_EQ(at(parse(refused->body), "reason"), "TooManyRequests");
  EXPECT_EQ(ask("/apis/apps/v1/deployments")->status, 200);
  rules(R"({"do":"cut","verbs":["list"],"namespaces":["default"]})");
  EXPECT_FALSE(ask("/api/v1/namespaces/default/pods"));
  EXPECT_EQ(ask("/api/v1/pods")->status, 200);
  rules(R"({"do":"gone","verbs":["list"]})");
  EXPECT_EQ(ask("/api/v1/pods")->status, 410);
  rules(R"({"do":"cut","afterBytes":100,"resources":["namespaces"]})");
  const auto half = ask("/api/v1/namespaces");
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().reason, "cut");
  EXPECT_THAT(ask("/sandbox/faults")->body, HasSubstr(R"("strikes":1)"));
  EXPECT_EQ(ask("/sandbox/faults", "PUT", "{\"rules\":[{\"do\":\"x\"}]}")->status, 400);
  EXPECT_EQ(ask("/sandbox/faults", "DELETE")->status, 200);
  EXPECT_EQ(ask("/api/v1/namespaces")->status, 200);
}

TEST_F(SandboxServer, AStalledRequestIsLetGoWithTheRules) {
  begin({});
  rules(R"({"do":"stall","verbs":["get"]})");
  std::optional<bool> answered;
  std::thread waiting([&] {
    http::Client own;
    http::Request request;
    request.url = sandbox->url() + "/api/v1/namespaces/default";
    answered = own.fetch(context, request).has_value();
  });
  while (ask("/sandbox/faults")->body.find(R"("stalled":1)") == std::string::npos) {
  }
  EXPECT_TRUE(ask("/sandbox/faults", "DELETE"));
  waiting.join();
  EXPECT_EQ(answered, false);
}

TEST_F(SandboxServer, ARestartCutsWatchesAndTokens) {
  begin({});
  const auto page = ask("/api/v1/namespaces?limit=1");
  const std::string token = at(parse(page->body), "metadata.continue");
  bool restarted = false;
  http::Request request;
  request.url = sandbox->url() + "/api/v1/namespaces?watch=1";
  const auto watch = client.stream(context, request, [&](const http::Response&, std::string_view) {
    if (!std::exchange(restarted, true)) sandbox->restart();
    return true;
  });
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().reason, "cut");
  EXPECT_EQ(ask("/api/v1/namespaces?limit=1&continue=" + token)->status, 410);
  EXPECT_EQ(ask("/sandbox/restart?downMs=600000", "POST")->status, 200);
  EXPECT_FALSE(ask("/api/v1/namespaces"));
}

TEST_F(SandboxServer, GeneratedObjectsListPageAndChange) {
  begin({.generate = {{"Deployment", 1000}, {"persistentvolumes", 7}}, .namespaces = 4});
  const auto all = ask("/apis/apps/v1/deployments");
  const Value list = parse(all->body);
  ASSERT_THAT(list.find("items")->as_array(), SizeIs(1000));
  EXPECT_EQ(at(list.find("items")->as_array()[250], "metadata.namespace"), "load-0001");
  EXPECT_THAT(parse(ask("/api/v1/persistentvolumes")->body).find("items")->as_array(), SizeIs(7));
  EXPECT_THAT(
      parse(ask("/apis/apps/v1/namespaces/load-0003/deployments")->body).find("items")->as_array(),
      SizeIs(250));
  const std::string one = "/apis/apps/v1/namespaces/load-0000/deployments/deployment-00000003";
  EXPECT_EQ(at(parse(ask(one)->body), "spec.template.spec.containers").substr(0, 15),
            R"([{"name":"app",)");
  // Pages stand at one state while objects change.
  std::vector<std::string> seen;
  std::string token;
  do {
    const Value page = parse(
        ask("/apis/apps/v1/deployments?limit=300" + (token.empty() ? "" : "&continue=" + token))
            ->body);
    EXPECT_EQ(at(page, "metadata.resourceVersion"), at(list, "metadata.resourceVersion"));
    for (const Value& item : page.find("items")->as_array())
      seen.push_back(base::json::compact(item));
    token = at(page, "metadata.continue");
    sandbox->change(500);
  } while (!token.empty());
  ASSERT_THAT(seen, SizeIs(1000));
  std::size_t same = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    same += seen[i] == base::json::compact(list.find("items")->as_array()[i]) ? 1 : 0;
  }
  EXPECT_EQ(same, 1000U);
  EXPECT_NE(ask("/apis/apps/v1/deployments")->body, all->body);
  EXPECT_EQ(at(parse(ask("/sandbox/stats")->body), "events").empty(), false);
}

/// Name to text of every object of a list.
std::map<std::string, std::string> objects_of(const Value& list) {
  std::map<std::string, std::string> out;
  for (const Value& item : list.find("items")->as_array()) {
    out[at(item, "metadata.namespace") + "/" + at(item, "metadata.name")] =
        at(item, "metadata") + at(item, "spec");
  }
  return out;
}

TEST(SandboxChanges, AWatchThatFollowsHasWhatAListShows) {
  testing::Server server({.history_events = 700});
  server.api.store().add_generated("apps/deployments", ObjectTemplate::for_kind("Deployment"),
                                   "deployment", 100, 4, 1);
  Changes changes(server.api.store(), server.api.writer(), 1);
  changes.add("apps/deployments", 100);
  const std::string target = "/apis/apps/v1/deployments";
  auto now = objects_of(server.get(target).json());
  Watching watch = server.watch(target + "?watch=1&resourceVersion=" +
                                at(server.get(target).json(), "metadata.resourceVersion"));
  std::set<std::string> types;
  for (int round = 0; round < 20; ++round) {
    changes.make(300);  // history is trimmed all the time
    for (const std::string& line : watch.lines()) {
      const Value one = parse(line);
      const Value& object = *one.find("object");
      const std::string key = at(object, "metadata.namespace") + "/" + at(object, "metadata.name");
      types.insert(at(one, "type"));
      if (at(one, "type") == "DELETED") {
        EXPECT_EQ(now.erase(key), 1U);
      } else {
        EXPECT_EQ(now.contains(key), at(one, "type") == "MODIFIED") << key;
        now[key] = at(object, "metadata") + at(object, "spec");
      }
    }
    ASSERT_EQ(now, objects_of(server.get(target).json()));
  }
  EXPECT_THAT(types, ElementsAre("ADDED", "DELETED", "MODIFIED"));
  EXPECT_EQ(server.api.store().count("apps/deployments", ""), now.size());
  // A generated object that somebody writes is his from then on.
  const std::string mine = "/apis/apps/v1/namespaces/load-0000/deployments/deployment-00000001";
  server.call("PATCH", mine, R"({"spec":{"replicas":77}})", "application/merge-patch+json");
  changes.make(2000);
  EXPECT_EQ(at(server.get(mine).json(), "spec.replicas"), "77");
}

TEST(SandboxChanges, TheSameSeedMakesTheSameChanges) {
  const auto run = [] {
    testing::Server server;
    server.api.store().add_generated("/configmaps", ObjectTemplate::for_kind("ConfigMap"),
                                     "configmap", 50, 2, 1);
    Changes changes(server.api.store(), server.api.writer(), 9);
    changes.add("/configmaps", 50);
    changes.make(500);
    return server.get("/api/v1/configmaps").text;
  };
  EXPECT_EQ(run(), run());
}

TEST(SandboxTemplates, HolesAreKnown) {
  EXPECT_FALSE(ObjectTemplate::compile(R"({"spec":{}})"));
  EXPECT_FALSE(ObjectTemplate::compile(R"({"metadata":{},"a":"{{what}}"})"));
  EXPECT_FALSE(ObjectTemplate::compile(R"({"metadata":{},"a":"{{name"})"));
  for (const char* kind :
       {"Deployment", "Pod", "Service", "ConfigMap", "Secret", "SomethingElse"}) {
    std::string text = "{\"metadata\":{\"resourceVersion\":\"1\",";
    ObjectTemplate::for_kind(kind).append(
        text, {.name = "n", .ns = "s", .index = 3, .revision = 4, .seed = 5});
    EXPECT_EQ(at(parse(text), "metadata.name"), "n") << kind << text;
    EXPECT_EQ(at(parse(text), "metadata.namespace"), "s") << kind;
  }
}

}  // namespace
}  // namespace kollect::sandbox
