// The store in PostgreSQL against a real server.
#include "fleet/postgres_keeper.h"

#include "fleet/keeper_contract.h"
#include "support/postgres_server.h"

namespace kollect::fleet::contract {
namespace {

using kollect::testing::PostgresServer;

/// A database of its own.
class PostgresWorld final : public World {
 public:
  explicit PostgresWorld(bool listen = true, PostgresServer& where = PostgresServer::shared())
      : server(where), listen_(listen) {
    static int number = 0;
    database = "fleet-" + std::to_string(number++);
    url = server.make_database(database);
  }
  std::unique_ptr<PostgresKeeper> connect() const {
    return PostgresKeeper::open({.dsn = base::Secret(url), .listen = listen_}, clock_).value();
  }
  Opened open() override {
    auto keeper = connect();
    Content content = keeper->load(nullptr).value();
    return {.keeper = std::move(keeper), .content = std::move(content)};
  }
  std::vector<std::string> ask(const std::string& sql) const { return server.ask(database, sql); }

  PostgresServer& server;
  std::string database;
  std::string url;

 private:
  bool listen_;
  base::SystemClock clock_;
};

const Store kPostgres{"Postgres", [] { return std::make_unique<PostgresWorld>(); }};
const Store kUnheard{"PostgresWithoutListen",
                     [] { return std::make_unique<PostgresWorld>(false); }};

INSTANTIATE_TEST_SUITE_P(Stores, KeeperContract, ::testing::Values(kPostgres, kUnheard), name_of);
INSTANTIATE_TEST_SUITE_P(Stores, SharedKeeperContract, ::testing::Values(kPostgres, kUnheard),
                         name_of);

/// One database, from outside too.
class PostgresKeeperTest : public ::testing::Test {
 protected:
  static Change made(const std::string& id) {
    base::json::Object record;
    record.set("id", id);
    record.set("labels", base::json::Object{});
    record.set("annotations", base::json::Object{});
    return {.family = Family::kNamespace, .id = id, .after = Value(std::move(record))};
  }
  static base::Result<> keep(Keeper& keeper, const std::vector<Change>& changes) {
    KL_TRY(keeper.begin());
    return keeper.keep(changes);
  }
  static Content seed_of(const std::string& id) {
    Content content;
    content.records[2].emplace(id, Record{.data = *made(id).after});
    return content;
  }
  static std::size_t count(const News& news) { return news.content->records[2].size(); }
  void end_sessions() const {
    world_.server.ask("postgres",
                      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                      "datname = '" +
                          world_.database + "'");
  }
  PostgresWorld world_;
};

TEST_F(PostgresKeeperTest, AStoreIsSeededOnceAndAnEmptiedOneIsNotNew) {
  const auto first = world_.connect();
  const auto second = world_.connect();
  EXPECT_TRUE(*first->is_new());
  EXPECT_TRUE(*second->is_new());
  ASSERT_TRUE(first->seed(seed_of("a")));
  ASSERT_TRUE(second->seed(seed_of("b"))) << "was slower";
  EXPECT_FALSE(*second->is_new());
  EXPECT_EQ(first->load(nullptr)->records[2].size(), 1U);
  Change gone = made("a");
  gone.before = std::exchange(gone.after, std::nullopt);
  ASSERT_TRUE(keep(*first, {gone}));
  const auto third = world_.connect();
  EXPECT_FALSE(*third->is_new());
  EXPECT_EQ(third->load(nullptr)->records[2].size(), 0U);
}

TEST_F(PostgresKeeperTest, ManyMayBeginAtOnce) {
  std::vector<std::size_t> found(6);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < found.size(); ++i) {
      threads.emplace_back([&, i] {
        const auto keeper = world_.connect();
        const bool fresh = keeper->is_new().value();
        if (fresh) keeper->seed(seed_of("of-" + std::to_string(i))).value();
        found[i] = keeper->load(nullptr)->records[2].size();
      });
    }
  }
  EXPECT_THAT(found, ::testing::Each(1U));
}

TEST_F(PostgresKeeperTest, AReaderNeedsNoMoreThanSelect) {
  const auto writer = world_.connect();
  ASSERT_TRUE(writer->seed(seed_of("a")));
  world_.ask(
      "CREATE ROLE onlooker LOGIN PASSWORD 'secret'; GRANT SELECT ON fleet_meta, "
      "fleet_records, fleet_tombstones, fleet_audit TO onlooker");
  std::string url = world_.url;
  url.replace(url.find("test:"), 4, "onlooker");
  base::SystemClock clock;
  const auto reader = PostgresKeeper::open({.dsn = base::Secret(url)}, clock).value();
  EXPECT_FALSE(*reader->is_new());
  EXPECT_EQ(reader->load(nullptr)->records[2].size(), 1U);
  ASSERT_TRUE(keep(*writer, {made("b")}));
  EXPECT_EQ(reader->look()->changes.size(), 1U);
  const auto turn = reader->begin();
  ASSERT_FALSE(turn.has_value());
  EXPECT_EQ(turn.error().kind, base::ErrorKind::kDenied);
  ASSERT_TRUE(keep(*writer, {made("c")})) << "nobody's turn was taken";
  EXPECT_EQ(reader->audit({})->size(), 2U);
}

TEST_F(PostgresKeeperTest, WhatCannotBeReadIsLeftOut) {
  const auto keeper = world_.connect();
  ASSERT_TRUE(keep(*keeper, {made("a"), made("b")}));
  world_.ask("UPDATE fleet_records SET data = '{' WHERE id = 'a'");
  EXPECT_EQ(keeper->load(nullptr)->records[2].size(), 1U);
}

TEST_F(PostgresKeeperTest, AnotherHistoryIsReadAnew) {
  const auto writer = world_.connect();
  const auto reader = world_.connect();
  ASSERT_TRUE(reader->load(nullptr));
  ASSERT_TRUE(keep(*writer, {made("a"), made("b")}));
  EXPECT_EQ(reader->look()->changes.size(), 2U);
  // By hand.
  world_.ask("UPDATE fleet_meta SET value = value + 1 WHERE key = 'version'");
  EXPECT_EQ(count(*writer->look()), 2U);
  EXPECT_EQ(count(*reader->look()), 2U);
  ASSERT_TRUE(keep(*writer, {made("c")}));
  // A backup of earlier days, and as many changes since as there were.
  world_.ask(
      "DELETE FROM fleet_records WHERE id <> 'a'; UPDATE fleet_meta SET turn = 'old'; "
      "UPDATE fleet_audit SET turn = 'old'");
  EXPECT_EQ(count(*writer->begin()), 1U);
  writer->abandon();
  EXPECT_EQ(count(*reader->look()), 1U);
  // An entry that cannot be read deletes nothing.
  ASSERT_TRUE(keep(*writer, {made("d")}));
  world_.ask("UPDATE fleet_audit SET after = '{' WHERE id = 'd'");
  EXPECT_EQ(count(*reader->look()), 2U);
}

TEST_F(PostgresKeeperTest, AnEndedSessionIsNoticedByNobody) {
  const auto keeper = world_.connect();
  ASSERT_TRUE(keep(*keeper, {made("a")}));
  end_sessions();
  ASSERT_TRUE(keeper->look());
  end_sessions();
  ASSERT_TRUE(keep(*keeper, {made("b")}));
  end_sessions();
  EXPECT_EQ(keeper->audit({})->size(), 2U);
  end_sessions();
  EXPECT_EQ(keeper->load(nullptr)->records[2].size(), 2U);
}

TEST_F(PostgresKeeperTest, ASessionThatEndsDuringATurnWritesNothing) {
  const auto keeper = world_.connect();
  ASSERT_TRUE(keeper->begin());
  end_sessions();
  EXPECT_FALSE(keeper->keep(std::vector{made("a")}).has_value());
  ASSERT_TRUE(keep(*keeper, {made("b")}));
  EXPECT_EQ(world_.ask("SELECT seq, id FROM fleet_audit"), std::vector<std::string>{"1|b"});
}

TEST_F(PostgresKeeperTest, WhatTheServerRefusesLeavesNothing) {
  const auto keeper = world_.connect();
  world_.ask("ALTER TABLE fleet_audit ADD CHECK (id <> 'bad')");
  EXPECT_FALSE(keep(*keeper, {made("a"), made("bad")}).has_value());
  ASSERT_TRUE(keep(*keeper, {made("b")}));
  EXPECT_EQ(world_.ask("SELECT id FROM fleet_records"), std::vector<std::string>{"b"});
}

TEST(PostgresKeeperServer, AServerThatDiesComesBackWithEverything) {
  PostgresServer server("fleet-dies");
  PostgresWorld world(true, server);
  const auto writer = world.connect();
  const auto reader = world.connect();
  ASSERT_TRUE(reader->load(nullptr));
  const auto kept = [&](const std::string& id) -> base::Result<> {
    base::json::Object record;
    record.set("id", id);
    KL_TRY(writer->begin());
    return writer->keep(std::vector<Change>{
        {.family = Family::kNamespace, .id = id, .after = Value(std::move(record))}});
  };
  ASSERT_TRUE(kept("a"));
  server.kill();
  const auto failed = reader->look();
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().message.find(std::to_string(server.port())), std::string::npos);
  EXPECT_FALSE(kept("b").has_value());
  server.restart();
  const auto limit = base::Context::background().with_timeout(std::chrono::seconds(30));
  while (!kept("c")) ASSERT_TRUE(limit.sleep(std::chrono::milliseconds(10)));
  auto news = reader->look();
  while (!news && limit.sleep(std::chrono::milliseconds(10))) news = reader->look();
  ASSERT_TRUE(news.has_value());
  ASSERT_EQ(news->changes.size(), 2U);
  EXPECT_EQ(news->changes[0].id, "a");
  EXPECT_EQ(news->changes[1].id, "c");
}

}  // namespace
}  // namespace kollect::fleet::contract
