// Messages byte for byte, and what is sent again, on a broker in memory. What brokers do with them:
// contract_brokertest.cc.
#include "sinks/events/event_sink.h"

#include <gmock/gmock.h>

#include "base/hash.h"
#include "sinks/events/messages.h"
#include "sinks/rows/contract.h"
#include "sinks/testing.h"

namespace kollect::sinks::events {
namespace {

using rows::contract::set_of;
using rows::contract::TestRow;
using rows::contract::view_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Broker {
  std::vector<Message> sent;
  std::size_t fails_at = 0;  ///< that message is not taken; counts from 1
  std::size_t max_body = 1U << 20U;
  bool created = false;
  bool tombstones = false;
};

class MemoryTransport final : public Transport {
 public:
  explicit MemoryTransport(Broker& broker) : broker_(broker) {}
  base::Result<> open(const base::Context&, const InventoryId&, const std::string&) override {
    return {};
  }
  base::Result<> send(const base::Context&, Message message) override {
    if (broker_.fails_at > 0 && --broker_.fails_at == 0) {
      return base::retryable("the broker is gone", "unreachable");
    }
    broker_.sent.push_back(std::move(message));
    return {};
  }
  base::Result<> flush(const base::Context&) override { return {}; }
  [[nodiscard]] std::size_t max_body() const override { return broker_.max_body; }
  [[nodiscard]] bool take_created() override { return std::exchange(broker_.created, false); }
  [[nodiscard]] bool wants_tombstones() const override { return broker_.tombstones; }
  base::Result<> probe(const base::Context&) override { return {}; }

 private:
  Broker& broker_;
};

class EventSinkTest : public ::testing::Test {
 protected:
  static Export head(int second) {
    Export out;
    out.inventory = {"harbor", "ledger"};
    out.generation = 3;
    out.exported_at = base::WallTime(std::chrono::seconds(1'700'000'000 + second));
    out.cluster = "pier-7";
    return out;
  }
  void put(const TestRow& row) {
    std::string uid;
    store_.upsert({inventory::OwnerClass::kTarget, row.target_namespace, row.target}, 1,
                  view_of(row, uid));
  }
  void remove(const TestRow& row) {
    std::string uid;
    store_.remove({inventory::OwnerClass::kTarget, row.target_namespace, row.target},
                  view_of(row, uid).uid);
  }
  /// A pass with all rows and, when it resumes, what is new since the last success.
  base::Result<ExportReport> pass(Sink& sink, int second, bool resumed) {
    const auto changes = reader_->changes();
    const auto rows = reader_->snapshot();
    auto report = sink.apply(context_, {.head = head(second),
                                        .rows = &rows,
                                        .row_count = rows.size(),
                                        .set_hash = rows.set_hash(),
                                        .resumed = resumed,
                                        .since = resumed ? &changes : nullptr});
    if (report) reader_->passed(rows.version());
    return report;
  }
  /// Body and id of all messages since the last call.
  std::vector<std::string> take() {
    std::vector<std::string> out;
    for (const auto& one : broker_.sent) out.push_back(one.body.value_or("-") + " " + one.id);
    broker_.sent.clear();
    return out;
  }
  std::vector<std::string> types() {
    std::vector<std::string> out;
    for (const auto& one : broker_.sent) out.push_back(one.type + (one.body ? "" : " none"));
    return out;
  }
  std::unique_ptr<Sink> sink(Mode mode) {
    return make_sink(mode, std::make_unique<MemoryTransport>(broker_));
  }

  Broker broker_;
  inventory::RowStore store_;
  std::unique_ptr<inventory::Reader> reader_ =
      store_.subscribe([](const inventory::Owner&) { return true; });
  base::Context context_ = base::Context::background();
};

TEST_F(EventSinkTest, MessagesAsRecorded) {
  const auto recorded = testing::read_case("events/messages.json");
  base::json::Array one_row;
  one_row.push_back(testing::read_case("rows/rows.json").as_array().front());
  const auto first = testing::rows_of(base::json::Value(std::move(one_row)));
  for (const auto& one : recorded.find("messages")->as_array()) {
    Export exp;
    exp.rows = &first;
    const std::string path(one.text("canonicalPath"));
    const auto slash = path.rfind('/');
    exp.inventory = {std::string(one.text("namespaceField")),
                     path.substr(slash + 1, path.size() - slash - 1 - 5)};
    exp.generation = 5;
    exp.cluster = one.text("cluster");
    exp.exported_at = testing::time_of(recorded.text("timestamp"));
    const auto maker = sink(Mode::kSnapshot);
    ASSERT_TRUE(maker->export_all(context_, {exp}, false).has_value());
    ASSERT_THAT(broker_.sent, SizeIs(1));
    const Message message = broker_.sent[0];
    broker_.sent.clear();
    EXPECT_EQ(*message.body, one.text("value"));
    // K-51, K-55: with the inventory's name.
    const std::string place =
        fmt::format("{}/{}/{}", exp.cluster, exp.inventory.ns, exp.inventory.name);
    EXPECT_EQ(message.key, place);
    const std::string& body = *message.body;
    const std::string payload = body.substr(body.find("\"payload\":") + 10);
    EXPECT_EQ(message.id, base::sha256_hex(place + "/" + payload.substr(0, payload.size() - 1)));
  }
}

TEST_F(EventSinkTest, ADryRunTellsOfWhatCannotBeRead) {
  const auto rows = set_of({{"a"}});
  auto exp = head(0);
  exp.rows = &rows;
  const auto maker = sink(Mode::kSnapshot);
  ASSERT_TRUE(maker->export_all(context_, {exp}, false).has_value());
  auto look = maker->export_all(context_, {exp}, true);
  ASSERT_TRUE(look.has_value());
  EXPECT_EQ(look->unchanged, 1U);
  EXPECT_THAT(look->warnings, IsEmpty());
  // The same rows, but not all of them: another document.
  exp.keep_targets = {"lost"};
  look = maker->export_all(context_, {exp}, true);
  ASSERT_TRUE(look.has_value());
  EXPECT_EQ(look->written, 1U);
  EXPECT_THAT(look->warnings, ElementsAre(HasSubstr("harbor/ledger: lost cannot be read")));
  EXPECT_THAT(broker_.sent, SizeIs(1));
  ASSERT_TRUE(maker->export_all(context_, {exp}, false).has_value());
  ASSERT_THAT(broker_.sent, SizeIs(2));
  EXPECT_NE(broker_.sent[0].id, broker_.sent[1].id);
  EXPECT_THAT(*broker_.sent[1].body,
              HasSubstr(R"(]},"incomplete":{"keepTargets":["harbor/lost"]}})"));
}

TEST_F(EventSinkTest, UnconfirmedDocumentsAreSentAgainByteForByte) {  // K-55
  const auto maker = sink(Mode::kSnapshot);
  put({"a"});
  broker_.fails_at = 1;
  EXPECT_FALSE(pass(*maker, 0, false).has_value());
  ASSERT_TRUE(pass(*maker, 5, false).has_value());
  const auto again = take();
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_THAT(again[0], HasSubstr("22:13:20Z"));  // of the first try
  EXPECT_EQ(pass(*maker, 6, true)->written, 0U);
  // Newer rows replace what was not confirmed; that the older ones come back is news as well.
  put({"b"});
  broker_.fails_at = 1;
  EXPECT_FALSE(pass(*maker, 7, true).has_value());
  remove({"b"});
  EXPECT_EQ(pass(*maker, 8, true)->written, 1U);
  take();
  put({"b"});
  broker_.fails_at = 1;
  EXPECT_FALSE(pass(*maker, 10, true).has_value());
  put({"c"});
  ASSERT_TRUE(pass(*maker, 15, true).has_value());
  EXPECT_THAT(take()[0], HasSubstr("22:13:35Z"));
}

TEST_F(EventSinkTest, EqualRowsOfAnotherInventoryOfThatNameAreSent) {  // X-31
  const auto maker = sink(Mode::kSnapshot);
  put({"a"});
  ASSERT_TRUE(pass(*maker, 0, false).has_value());
  EXPECT_EQ(pass(*maker, 1, true)->written, 0U);
  EXPECT_EQ(pass(*maker, 2, false)->written, 1U);
}

TEST_F(EventSinkTest, UnconfirmedChangesAreSentAgainByteForByte) {
  const auto maker = sink(Mode::kChanges);
  put({"a"});
  ASSERT_TRUE(pass(*maker, 0, false).has_value());
  take();
  put({"b", R"({"n":1})"});
  put({"c", R"({"n":1})"});
  broker_.fails_at = 2;
  EXPECT_FALSE(pass(*maker, 1, true).has_value());
  const auto first = take();
  ASSERT_THAT(first, SizeIs(1));
  put({"c", R"({"n":2})"});
  ASSERT_TRUE(pass(*maker, 2, true).has_value());
  const auto second = take();
  ASSERT_THAT(second, SizeIs(2));
  EXPECT_EQ(second[0], first[0]);
  EXPECT_THAT(second[1], HasSubstr("22:13:22Z"));
}

// A, B, A: the last one must not be taken for a repetition of the first.
TEST_F(EventSinkTest, AReturnToAnOlderStateIsNoRepetition) {
  const auto maker = sink(Mode::kChanges);
  ASSERT_TRUE(pass(*maker, 0, false).has_value());
  take();
  std::vector<std::string> sent;
  for (const int n : {1, 2, 1}) {
    put({"a", fmt::format(R"({{"n":{}}})", n)});
    put({"z", fmt::format(R"({{"n":{}}})", sent.size())});
    broker_.fails_at = 2;  // "a" is stored, and nobody knows
    EXPECT_FALSE(pass(*maker, 10 + static_cast<int>(sent.size()), true).has_value());
    sent.push_back(take()[0]);
  }
  EXPECT_NE(sent[2], sent[0]);
  EXPECT_THAT(sent[2], HasSubstr("\"n\":1"));
}

TEST_F(EventSinkTest, ABracketThatBeganIsTheSameWhileRowsAre) {
  const auto maker = sink(Mode::kChanges);
  put({"a"});
  put({"b"});
  broker_.fails_at = 3;
  EXPECT_FALSE(pass(*maker, 0, false).has_value());
  const auto first = take();
  broker_.fails_at = 3;
  EXPECT_FALSE(pass(*maker, 1, false).has_value());
  EXPECT_EQ(take(), first);
  // Another set is another bracket, its unchanged rows included.
  put({"c"});
  ASSERT_TRUE(pass(*maker, 2, false).has_value());
  EXPECT_THAT(types(), ElementsAre("snapshot", "upsert", "upsert", "upsert", "snapshot-end"));
  for (const auto& one : take())
    EXPECT_THAT(one, HasSubstr("\"timestamp\":\"2023-11-14T22:13:22Z\""));
}

TEST_F(EventSinkTest, ANewStreamGetsAllRows) {
  const auto maker = sink(Mode::kChanges);
  put({"a"});
  ASSERT_TRUE(pass(*maker, 0, false).has_value());
  EXPECT_TRUE(maker->takes_changes());
  put({"b"});
  broker_.sent.clear();
  broker_.created = true;
  const auto changes = reader_->changes();
  const auto refused = maker->apply(
      context_,
      {.head = head(1), .changes = &changes, .row_count = 2, .set_hash = "x", .resumed = true});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().reason, "rows-needed");
  EXPECT_EQ(refused.error().kind, base::ErrorKind::kRetryable);
  EXPECT_FALSE(maker->takes_changes());
  ASSERT_TRUE(pass(*maker, 2, true).has_value());
  EXPECT_THAT(types(), ElementsAre("snapshot", "upsert", "upsert", "snapshot-end"));
  EXPECT_TRUE(maker->takes_changes());
}

TEST_F(EventSinkTest, DifferencesThatNobodyTellsAreFound) {  // byResourceUID
  const auto maker = sink(Mode::kChanges);
  put({"a"});
  put({"b"});
  const auto all = [&](int second) {
    broker_.sent.clear();
    const auto rows = reader_->snapshot();
    return maker->apply(context_, {.head = head(second),
                                   .rows = &rows,
                                   .row_count = rows.size(),
                                   .set_hash = rows.set_hash(),
                                   .resumed = second > 0});
  };
  ASSERT_TRUE(all(0).has_value());
  EXPECT_EQ(all(1)->written, 0U);
  EXPECT_THAT(types(), IsEmpty());
  put({"c"});
  EXPECT_EQ(all(2)->written, 3U);  // the last bracket
  put({"c", R"({"n":2})"});
  put({"d"});
  remove({"a"});
  ASSERT_TRUE(all(3).has_value());
  EXPECT_THAT(types(), ElementsAre("upsert", "upsert", "delete"));
  EXPECT_THAT(*broker_.sent[2].body, HasSubstr("uid-a"));
  EXPECT_EQ(all(4)->written, 0U);
  // What a failed pass has sent is not known.
  put({"c", R"({"n":3})"});
  broker_.fails_at = 1;
  EXPECT_FALSE(all(5).has_value());
  put({"c", R"({"n":2})"});
  ASSERT_TRUE(all(6).has_value());
  EXPECT_THAT(types(), ElementsAre("snapshot", "upsert", "upsert", "upsert", "snapshot-end"));
}

// A pass of changes in between: what was remembered of the rows before is no longer so.
TEST_F(EventSinkTest, DifferencesAreThoseFromTheLastConfirmedState) {
  const auto maker = sink(Mode::kChanges);
  const auto untold = [&](int second) {
    broker_.sent.clear();
    const auto rows = reader_->snapshot();
    auto report = maker->apply(context_, {.head = head(second),
                                          .rows = &rows,
                                          .row_count = rows.size(),
                                          .set_hash = rows.set_hash(),
                                          .resumed = second > 0});
    if (report) reader_->passed(rows.version());
    return report;
  };
  put({"a"});
  ASSERT_TRUE(untold(0).has_value());
  put({"b"});
  ASSERT_TRUE(untold(1).has_value());
  put({"c"});
  ASSERT_TRUE(pass(*maker, 2, true).has_value());
  remove({"c"});
  ASSERT_TRUE(untold(3).has_value());
  EXPECT_THAT(types(), ElementsAre("snapshot", "upsert", "upsert", "snapshot-end"));
  // The rows are as they were confirmed, the topic is not.
  put({"d"});
  put({"e"});
  broker_.fails_at = 2;
  EXPECT_FALSE(pass(*maker, 4, true).has_value());
  remove({"d"});
  remove({"e"});
  ASSERT_TRUE(untold(5).has_value());
  EXPECT_THAT(types(), ElementsAre("snapshot", "upsert", "upsert", "snapshot-end"));
}

TEST_F(EventSinkTest, ATombstoneFollowsADelete) {
  broker_.tombstones = true;
  const auto maker = sink(Mode::kChanges);
  put({"a"});
  ASSERT_TRUE(pass(*maker, 0, false).has_value());
  broker_.sent.clear();
  remove({"a"});
  ASSERT_TRUE(pass(*maker, 1, true).has_value());
  EXPECT_THAT(types(), ElementsAre("delete", "delete none"));
  EXPECT_EQ(broker_.sent[0].key, "pier-7/harbor/ledger/cranes/uid-a");
  EXPECT_EQ(broker_.sent[1].key, broker_.sent[0].key);
}

TEST_F(EventSinkTest, MarksHaveKeysOfTheirOwn) {
  const auto maker = sink(Mode::kChanges);
  ASSERT_TRUE(pass(*maker, 0, false).has_value());
  ASSERT_THAT(broker_.sent, SizeIs(2));
  EXPECT_EQ(broker_.sent[0].key, "pier-7/harbor/ledger/snapshot");
  EXPECT_EQ(broker_.sent[1].key, "pier-7/harbor/ledger/snapshot-end");
  EXPECT_TRUE(broker_.sent[0].bracket && broker_.sent[1].bracket);
  EXPECT_THAT(*broker_.sent[0].body,
              HasSubstr(R"("type":"snapshot","generation":3,"itemCount":0,"checksum":"4f53cda1)"));
}

TEST_F(EventSinkTest, ADryRunSendsNothing) {
  using What = ExportReport::Change::What;
  const auto rows = set_of({{"a"}, {"b"}});
  auto exp = head(0);
  exp.rows = &rows;
  for (const Mode mode : {Mode::kSnapshot, Mode::kChanges}) {
    const auto maker = sink(mode);
    const auto report = maker->export_all(context_, {exp}, true);
    ASSERT_TRUE(report.has_value());
    ASSERT_THAT(report->changes, SizeIs(1));
    EXPECT_EQ(report->changes[0].rows, 2U);
    EXPECT_THAT(broker_.sent, IsEmpty());
  }
  const auto maker = sink(Mode::kSnapshot);
  EXPECT_EQ(maker->export_all(context_, {exp}, true)->changes[0].what, What::kCreate);
  ASSERT_TRUE(maker->export_all(context_, {exp}, false).has_value());
  EXPECT_EQ(maker->export_all(context_, {exp}, true)->changes[0].what, What::kUnchanged);
}

TEST_F(EventSinkTest, TheCeilingOfABindingHolds) {
  const auto rows = set_of({{"a", fmt::format(R"({{"x":"{}"}})", std::string(3000, 'x'))},
                            {"b", fmt::format(R"({{"x":"{}"}})", std::string(3000, 'x'))}});
  auto exp = head(0);
  exp.rows = &rows;
  exp.max_bytes = 4000;
  ASSERT_TRUE(sink(Mode::kSnapshot)->export_all(context_, {exp}, false).has_value());
  EXPECT_THAT(broker_.sent, SizeIs(2));
  // The broker's own limit, 4 KiB left for what else a message has.
  broker_.sent.clear();
  exp.max_bytes = 0;
  broker_.max_body = 4096 + 4000 + 1000;
  ASSERT_TRUE(sink(Mode::kSnapshot)->export_all(context_, {exp}, false).has_value());
  EXPECT_THAT(broker_.sent, SizeIs(2));
  broker_.sent.clear();
  exp.max_bytes = 3000;
  EXPECT_EQ(sink(Mode::kChanges)->export_all(context_, {exp}, false)->replaced, 2U);
}

TEST(EventMode, IsReadFromTheOptions) {
  api::EventSink sink;
  sink.metadata.name = "bus";
  EXPECT_EQ(read_mode(sink).value(), Mode::kSnapshot);
  sink.spec.options["events"] = "changes";
  EXPECT_EQ(read_mode(sink).value(), Mode::kChanges);
  sink.spec.options["events"] = "rows";
  const auto refused = read_mode(sink);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, base::ErrorKind::kConfiguration);
  EXPECT_THAT(refused.error().message, HasSubstr("sink bus: spec.options[events]"));
}

}  // namespace
}  // namespace kollect::sinks::events
