// What every event sink must do, as tests that run against each broker: the test files of brokers
// give those with INSTANTIATE_TEST_SUITE_P. Cases: spec sinks 14 (K-49, K-50, K-55), X-45, P-9,
// X-9; field-event-larger-than-the-broker-takes, field-payload-past-nats-limit.
#include <random>

#include "base/hash.h"
#include "sinks/events/contract.h"

namespace kollect::sinks::events::contract {

using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

inline std::vector<TestRow> many(int count, const std::string& value = "1") {
  std::vector<TestRow> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(
        {fmt::format("row-{:05}", i),
         fmt::format(R"({{"image":"registry.quay.example/api:4.{}","n":"{}"}})", i, value)});
  }
  return out;
}

TEST_P(EventSinkContract, ADocumentIsOneMessage) {
  restart(Mode::kSnapshot);
  put({"a", R"({"n":1})"});
  put({"b"});
  EXPECT_EQ(pass(0).written, 1U);
  const auto all = world_->read_all();
  ASSERT_THAT(all, SizeIs(1));
  const auto rows = reader_->snapshot().to_row_set();
  const std::string envelope = inventory::envelope_json(rows, {.generation = 3,
                                                               .part_index = {},
                                                               .part_total = {},
                                                               .exported_at = head(0).exported_at,
                                                               .cluster = "pier-7"});
  EXPECT_EQ(*all[0].body,
            R"({"schemaVersion":"kollect.dev/v1alpha1","timestamp":"2023-11-14T22:13:20Z",)"
            R"("cluster":"pier-7","namespace":"harbor","payload":)" +
                envelope + "}");
  if (world_->has_keys()) {
    EXPECT_EQ(all[0].key, "pier-7/harbor/ledger");
  }
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"Kollect-Schema-Version", "kollect.dev/v1alpha1"},
                                          {"Kollect-Cluster", "pier-7"},
                                          {"Kollect-Namespace", "harbor"},
                                          {"Kollect-Inventory", "ledger"},
                                          {"Kollect-Generation", "3"},
                                          {"Kollect-Checksum", rows.checksum()},
                                          {"Kollect-Item-Count", "2"}}) {
    EXPECT_THAT(all[0].headers, Contains(Pair(name, value)));
  }
  EXPECT_FALSE(all[0].headers.contains("Kollect-Part-Index"));
}

TEST_P(EventSinkContract, ADocumentIsSentAgainWhenSomethingIsNew) {  // K-49, X-45
  restart(Mode::kSnapshot);
  put({"a"});
  pass(0);
  EXPECT_EQ(refresh(1).written, 0U);
  EXPECT_THAT(world_->read_all(), SizeIs(1));
  put({"b"});
  EXPECT_EQ(pass(2).written, 1U);
  auto next = head(3);
  next.generation = 4;
  EXPECT_EQ(must(try_pass(next, true)).written, 1U);
  store_.drop(owner({"a"}));
  next.exported_at += std::chrono::seconds(1);
  EXPECT_EQ(must(try_pass(next)).written, 1U);
  const auto all = world_->read_all();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_THAT(*all[3].body, HasSubstr(R"("itemCount":0,)"));
  EXPECT_THAT(*all[3].body, HasSubstr(R"("items":[]}})"));
  restart();  // another process knows nothing
  EXPECT_EQ(must(try_pass(head(9))).written, 1U);
}

TEST_P(EventSinkContract, ALargeDocumentIsSentInParts) {
  restart(Mode::kSnapshot);
  for (const auto& row : many(50'000)) put(row);
  const auto report = pass(0);
  EXPECT_GT(report.written, 10U);
  const auto all = world_->read_all();
  ASSERT_THAT(all, SizeIs(report.written));
  Lines found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto body = parsed(*all[i].body);
    const auto& payload = *body.find("payload");
    EXPECT_EQ(payload.find("partIndex")->as_int(), static_cast<std::int64_t>(i + 1));
    EXPECT_EQ(payload.find("partTotal")->as_int(), static_cast<std::int64_t>(all.size()));
    EXPECT_THAT(all[i].headers, Contains(Pair("Kollect-Part-Index", std::to_string(i + 1))));
    EXPECT_THAT(all[i].headers, Contains(Pair("Kollect-Part-Total", std::to_string(all.size()))));
    for (const auto& row : payload.find("items")->as_array()) {
      found.push_back(base::json::canonical(row));
    }
  }
  std::sort(found.begin(), found.end());
  EXPECT_TRUE(found == truth());  // too much to print
}

TEST_P(EventSinkContract, ARowThatFitsIntoNoDocumentIsNamed) {
  restart(Mode::kSnapshot);
  put({"a"});
  put({"giant", fmt::format(R"({{"x":"{}"}})", std::string(3U << 20U, 'x'))});
  const auto report = try_pass(head(0));
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kTerminal);
  EXPECT_EQ(report.error().reason, "too-large");
  EXPECT_THAT(report.error().message, HasSubstr("quay/giant"));
  EXPECT_THAT(world_->read_all(), IsEmpty());
}

TEST_P(EventSinkContract, ADocumentSaysWhatCouldNotBeRead) {  // P-9, X-9
  restart(Mode::kSnapshot);
  put({"a"});
  auto exp = head(0);
  exp.keep_targets = {"dark"};
  exp.keep_namespaces = {"fog"};
  exp.keep_parts = {{"cranes", "lab"}};
  const auto report = must(try_pass(exp));
  EXPECT_THAT(report.warnings,
              ElementsAre(HasSubstr("dark, namespace fog, cranes/lab cannot be read")));
  // Readable again: said, although no row is another.
  EXPECT_THAT(pass(1).warnings, IsEmpty());
  EXPECT_EQ(refresh(2).written, 0U);
  const auto all = world_->read_all();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_THAT(*all[0].body, EndsWith(R"(]},"incomplete":{"keepTargets":["harbor/dark"],)"
                                     R"("keepNamespaces":["fog"],"keepParts":["cranes/lab"]}})"));
  EXPECT_THAT(all[0].headers, Contains(Pair("Kollect-Incomplete", "true")));
  EXPECT_THAT(*all[1].body, EndsWith("]}}"));
  EXPECT_THAT(all[1].headers, Not(Contains(Pair("Kollect-Incomplete", _))));
  const auto items = [&](std::size_t i) {
    return base::json::canonical(*parsed(*all[i].body).find("payload")->find("items"));
  };
  EXPECT_EQ(items(0), items(1));
}

TEST_P(EventSinkContract, FirstABracketThenChanges) {
  put({"a", R"({"n":1})"});
  put({"b"});
  EXPECT_EQ(pass(0).written, 2U);
  EXPECT_EQ(consumed(), truth());
  put({"a", R"({"n":2})"});
  put({"c"});
  remove({"b"});
  const auto report = pass(1);
  EXPECT_EQ(report.written, 2U);
  EXPECT_EQ(report.removed, 1U);
  EXPECT_EQ(consumed(), truth());
  EXPECT_EQ(pass(2).written, 0U);
  put({"c", R"({"late":true})"});
  // A refresh sends what is new, and no bracket.
  EXPECT_EQ(refresh(3).written, 1U);
  EXPECT_EQ(refresh(4).written, 0U);
  EXPECT_EQ(consumed(), truth());
  std::map<std::string, int> count;
  for (const Received& message : world_->read_all()) {
    if (!message.body) {
      ++count["tombstone"];
      continue;
    }
    const std::string type(parsed(*message.body).text("type"));
    if (!type.starts_with("snapshot")) ++count[type];
  }
  EXPECT_EQ(count["upsert"], 5);
  EXPECT_EQ(count["delete"], 1);
}

TEST_P(EventSinkContract, AChangeEventSaysWhatItIs) {
  pass(0);
  const TestRow row{"a", R"({"n":1})"};
  put(row);
  pass(1);
  remove(row);
  pass(2);
  std::vector<Received> events;
  for (const auto& message : world_->read_all()) {
    if (message.headers.contains("Kollect-Uid")) events.push_back(message);
  }
  ASSERT_THAT(events, SizeIs(2));
  const std::string identity =
      R"({"targetNamespace":"harbor","targetName":"cranes","namespace":"quay","name":"a",)"
      R"("group":"apps","version":"v1","kind":"Deployment","uid":"uid-a")";
  EXPECT_EQ(*events[0].body,
            R"({"schemaVersion":"kollect.dev/v1alpha1","timestamp":"2023-11-14T22:13:21Z",)"
            R"("cluster":"pier-7","namespace":"harbor","inventory":"ledger","type":"upsert",)"
            R"("generation":3,"row":)" +
                identity + R"(,"attributes":{"n":1}}})");
  EXPECT_EQ(*events[1].body,
            R"({"schemaVersion":"kollect.dev/v1alpha1","timestamp":"2023-11-14T22:13:22Z",)"
            R"("cluster":"pier-7","namespace":"harbor","inventory":"ledger","type":"delete",)"
            R"("generation":3,"row":)" +
                identity + "}}");
  for (const auto& event : events) {
    EXPECT_THAT(event.headers, Contains(Pair("Kollect-Uid", "uid-a")));
    EXPECT_THAT(event.headers, Contains(Pair("Kollect-Target", "cranes")));
    EXPECT_THAT(event.headers, Contains(Pair("Kollect-Cluster", "pier-7")));
    EXPECT_THAT(event.headers, Contains(Pair("Kollect-Inventory", "ledger")));
    if (world_->has_keys()) {
      EXPECT_EQ(event.key, "pier-7/harbor/ledger/cranes/uid-a");
    }
  }
  EXPECT_THAT(events[0].headers, Contains(Pair("Kollect-Type", "upsert")));
  EXPECT_THAT(events[1].headers, Contains(Pair("Kollect-Type", "delete")));
  EXPECT_THAT(types(), Contains("snapshot"));
  EXPECT_THAT(types(), Contains("snapshot-end"));
}

TEST_P(EventSinkContract, DeletesMadeWhileDownAreNoticed) {
  for (const auto& row : many(20)) put(row);
  pass(0);
  sink_.reset();
  remove({"row-00003"});
  remove({"row-00007"});
  put({"row-00004", R"({"n":"2"})"});
  restart();
  pass(10);
  EXPECT_EQ(consumed(), truth());
  store_.drop(owner({"a"}));
  restart();
  pass(20);
  EXPECT_THAT(consumed(), IsEmpty());
}

TEST_P(EventSinkContract, AnEmptiedInventoryIsEmptyForConsumers) {  // X-45
  for (const auto& row : many(100)) put(row);
  pass(0);
  EXPECT_THAT(consumed(), SizeIs(100));
  store_.drop(owner({"any"}));
  EXPECT_EQ(pass(1).removed, 100U);
  EXPECT_THAT(consumed(), IsEmpty());
  EXPECT_EQ(pass(2).removed, 0U);
  // A process that starts with nothing says so: a bracket without rows.
  put({"late"});
  pass(3);
  sink_.reset();
  remove({"late"});
  restart();
  EXPECT_EQ(pass(4).written, 0U);
  EXPECT_THAT(consumed(), IsEmpty());
  EXPECT_EQ(std::ranges::count(types(), "snapshot-end"), 2);
  // And it is not the end of it.
  put({"again"});
  pass(5);
  EXPECT_EQ(consumed(), truth());
  EXPECT_THAT(consumed(), SizeIs(1));
}

TEST_P(EventSinkContract, RenamedAndRecreatedObjects) {
  const TestRow old_row{"job", R"({"n":"old"})", "quay", "u1"};
  put(old_row);
  pass(0);
  remove(old_row);
  put({"job", R"({"n":"new"})", "quay", "u2"});
  pass(1);
  EXPECT_EQ(consumed(), truth());
  put({"job-renamed", R"({"n":"new"})", "quay", "u2"});
  pass(2);
  EXPECT_EQ(consumed(), truth());
  EXPECT_THAT(consumed(), SizeIs(1));
}

TEST_P(EventSinkContract, UnreadRowsStay) {  // P-9, X-9
  put({"a"});
  put({"b", "{}", "lab", "", "dark"});
  put({"c", "{}", "lab", "", "dark"});
  put({"d", "{}", "fog"});
  pass(0);
  const auto before = truth();
  // A start in which a target and a namespace cannot be read; "a" went.
  restart();
  remove({"a"});
  store_.drop(owner({"b", "{}", "lab", "", "dark"}));
  remove({"d", "{}", "fog"});
  auto exp = head(10);
  exp.keep_targets = {"dark"};
  exp.keep_namespaces = {"fog"};
  must(try_pass(exp));
  EXPECT_THAT(types(), Contains("partial-snapshot"));
  auto kept = consumed();
  EXPECT_THAT(kept, SizeIs(3));
  // Whoever knows complete brackets only keeps everything.
  EXPECT_EQ(std::ranges::count(types(), "snapshot"), 1);
  // Then changes: those of the target that is not read are no deletes.
  put({"e", "{}", "lab", "", "dark"});
  exp.exported_at += std::chrono::seconds(1);
  must(try_pass(exp, true));
  EXPECT_THAT(consumed(), SizeIs(4));
  remove({"e", "{}", "lab", "", "dark"});
  exp.exported_at += std::chrono::seconds(1);
  EXPECT_EQ(must(try_pass(exp, true)).removed, 0U);
  EXPECT_THAT(consumed(), SizeIs(4));
  // Readable again: what is gone goes.
  resumed_ = false;
  pass(20);
  EXPECT_EQ(consumed(), truth());
}

TEST_P(EventSinkContract, TwoClustersInOneBackend) {
  put({"a"});
  pass(0);
  put({"b"});
  resumed_ = false;
  must(try_pass(head(1, "pier-8")));
  EXPECT_THAT(consumed("pier-7/harbor/ledger"), SizeIs(1));
  EXPECT_EQ(consumed("pier-8/harbor/ledger"), truth());
  store_.drop(owner({"a"}));
  must(try_pass(head(2, "pier-8")));
  EXPECT_THAT(consumed("pier-7/harbor/ledger"), SizeIs(1));
  EXPECT_THAT(consumed("pier-8/harbor/ledger"), IsEmpty());
}

TEST_P(EventSinkContract, OddTextsSurvive) {
  put({"a",
       R"({"big":18446744073709551615,"e":1e+21,"f":-0.5,"list":[],"m":{},"s":"\u0000\u0001 \" \\ / \u2028 \u003c 😀","t":1e-7})",
       "quay", "o'b\"rien %s \\ | \t*.> é"});
  put({"b", "{}", "", "uid with blanks"});
  pass(0);
  EXPECT_EQ(consumed(), truth());
  auto exp = head(1, "piér 7.*>/x");
  exp.inventory = {"harbor", "led.ger"};
  resumed_ = false;
  must(try_pass(exp));
  EXPECT_EQ(consumed("piér 7.*>/x/harbor/led.ger"), truth());
}

// field-event-larger-than-the-broker-takes: flow, not-silent; field-payload-past-nats-limit: fits
TEST_P(EventSinkContract, RowsThatAreTooLargeAreReplaced) {
  pass(0);
  put({"a", fmt::format(R"({{"x":"{}"}})", std::string(10U << 10U, 'x'))});
  std::string noise;
  std::mt19937 random(7);
  while (noise.size() < (3U << 20U)) noise += static_cast<char>('a' + random() % 26);
  put({"giant", fmt::format(R"({{"x":"{}"}})", noise)});
  put({"z", fmt::format(R"({{"x":"{}"}})", std::string(10U << 10U, 'y'))});
  const auto report = pass(1);
  EXPECT_EQ(report.written, 3U);
  EXPECT_EQ(report.replaced, 1U);
  ASSERT_THAT(report.warnings, SizeIs(1));
  EXPECT_THAT(report.warnings[0], HasSubstr("quay/giant"));
  std::size_t replaced = 0;
  std::size_t whole = 0;
  for (const auto& message : world_->read_all()) {
    if (!message.body || !message.headers.contains("Kollect-Uid")) continue;
    const auto event = parsed(*message.body);
    const auto* large = event.find("tooLarge");
    ++(large != nullptr ? replaced : whole);
    if (large == nullptr) continue;
    EXPECT_EQ(event.find("row")->text("name"), "giant");
    EXPECT_EQ(event.find("row")->find("attributes"), nullptr);
    EXPECT_GT(large->find("bytes")->as_int(), 3 << 20);
    EXPECT_THAT(std::string(large->text("sha256")), SizeIs(64));
  }
  EXPECT_EQ(replaced, 1U);
  EXPECT_EQ(whole, 2U);
  EXPECT_EQ(pass(2).written, 0U);  // no-loop
  remove({"giant"});
  EXPECT_EQ(pass(3).removed, 1U);
  EXPECT_EQ(consumed(), truth());
}

TEST_P(EventSinkContract, FiftyThousandRows) {
  for (const auto& row : many(50'000)) put(row);
  EXPECT_EQ(pass(0).written, 50'000U);
  put({"row-00077", R"({"n":"2"})"});
  remove({"row-00078"});
  const auto report = pass(1);
  EXPECT_EQ(report.written + report.removed, 2U);
  EXPECT_TRUE(consumed() == truth());
}

TEST_P(EventSinkContract, WrongCredentialsAreAClearError) {
  for (const bool probing : {false, true}) {
    const auto sink = make_sink(Mode::kChanges, world_->make_with_wrong_credentials());
    const auto rows = reader_->snapshot();
    const base::Error error =
        probing ? sink->probe(context()).error()
                : sink->apply(context(), {.head = head(0), .rows = &rows}).error();
    EXPECT_TRUE(error.kind == base::ErrorKind::kDenied ||
                error.kind == base::ErrorKind::kConfiguration ||
                error.kind == base::ErrorKind::kTerminal)
        << error.message;
    EXPECT_THAT(error.reason, "auth");
    EXPECT_THAT(error.message, Not(HasSubstr(world_->secret())));
  }
}

TEST_P(EventSinkContract, AnotherCaIsAClearError) {
  const auto sink = make_sink(Mode::kChanges, world_->make_with_wrong_ca());
  const auto probed = sink->probe(context());
  ASSERT_FALSE(probed.has_value());
  EXPECT_EQ(probed.error().reason, "tls") << probed.error().message;
  EXPECT_THAT(probed.error().message, HasSubstr("certificate"));
}

TEST_P(EventSinkContract, AProbeSendsNothing) {
  const auto probed = sink_->probe(context());
  EXPECT_TRUE(probed.has_value()) << probed.error().message;
  pass(0);
  EXPECT_TRUE(sink_->probe(context()).has_value());
  EXPECT_THAT(consumed(), IsEmpty());
}

TEST_P(EventSinkContract, ACancelledPassIsSentAgain) {
  for (const auto& row : many(300)) put(row);
  std::stop_source stop;
  const base::SystemClock clock;
  sink_ =
      make_sink(Mode::kChanges, std::make_unique<Interrupted>(world_->make_transport(mode_), 100,
                                                              [&] { stop.request_stop(); }));
  const auto rows = reader_->snapshot();
  const auto report =
      sink_->apply(base::Context(clock, stop.get_token()), {.head = head(0), .rows = &rows});
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kCancelled);
  pass(1);
  EXPECT_EQ(consumed(), truth());
}

TEST_P(EventSinkContract, KilledInABracketAndBack) {
  for (const auto& row : many(3000)) put(row);
  sink_ =
      make_sink(Mode::kChanges, std::make_unique<Interrupted>(world_->make_transport(mode_), 1500,
                                                              [&] { world_->kill_server(); }));
  const auto rows = reader_->snapshot();
  const Pass whole{.head = head(0), .rows = &rows, .set_hash = rows.set_hash()};
  const auto report = sink_->apply(background_.with_timeout(std::chrono::seconds(1)), whole);
  ASSERT_FALSE(report.has_value());
  EXPECT_NE(report.error().kind, base::ErrorKind::kTerminal) << report.error().message;
  world_->start_server();
  pass(1);
  EXPECT_EQ(consumed(), truth());
}

TEST_P(EventSinkContract, KilledWhileChangesAreSent) {
  for (const auto& row : many(2000)) put(row);
  std::size_t killed = 0;
  sink_ = make_sink(Mode::kChanges,
                    std::make_unique<Interrupted>(world_->make_transport(mode_), 3000, [&] {
                      ++killed;
                      world_->kill_server();
                    }));
  pass(0);
  for (const auto& row : many(1900, "2")) put(row);
  for (int i = 1900; i < 2000; ++i) remove({fmt::format("row-{:05}", i)});
  const auto changes = reader_->changes();
  const Pass delta{.head = head(1),
                   .changes = &changes,
                   .row_count = reader_->row_count(),
                   .set_hash = reader_->set_hash(),
                   .resumed = true};
  const auto report = sink_->apply(background_.with_timeout(std::chrono::seconds(1)), delta);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(killed, 1U);
  world_->start_server();
  // Rows go on while the broker is down. The next pass sends what is owed, and no bracket.
  put({"row-00001", R"({"n":"3"})"});
  remove({"row-00002"});
  refresh(2);
  EXPECT_EQ(consumed(), truth());
  EXPECT_EQ(std::ranges::count(types(), "snapshot"), 1);
}

/// Random changes, kinds of passes, starts and kills: a consumer that has seen everything always
/// ends with the truth.
TEST_P(EventSinkContract, RandomPassesConverge) {
  std::mt19937 random(20'261'128);
  const auto pick = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  std::map<std::string, int> truth_of;
  for (int second = 0; second < 40; ++second) {
    for (int i = pick(30); i > 0; --i) {
      const std::string name = "row-" + std::to_string(pick(60));
      if (pick(3) == 0) {
        if (truth_of.erase(name) > 0) remove({name});
      } else {
        truth_of[name] = pick(4);
        put({name, "{\"n\":" + std::to_string(truth_of[name]) + "}"});
      }
    }
    if (pick(6) == 0) restart();
    if (pick(10) == 0) {
      put({"row-dark", fmt::format(R"({{"n":{}}})", second)});
      world_->kill_server();
      patience_ = std::chrono::seconds(1);
      EXPECT_FALSE(try_pass(head(second), pick(2) == 0).has_value());
      patience_ = std::chrono::seconds(60);
      world_->start_server();
    }
    must(try_pass(head(100 + second), pick(4) == 0));
    if (second % 8 == 7) {
      ASSERT_EQ(consumed(), truth()) << second;
    }
  }
}

}  // namespace kollect::sinks::events::contract
