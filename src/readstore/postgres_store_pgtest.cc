// The contract of stores against a real PostgreSQL, and what only a server can do.
#include <thread>

#include "base/secret.h"
#include "readstore/postgres_place.h"
#include "readstore/store_contract_cases.h"
#include "support/postgres_server.h"

namespace kollect::readstore::contract {
namespace {

using kollect::testing::PostgresServer;

/// A database of its own.
class PostgresWorld final : public World {
 public:
  explicit PostgresWorld(PostgresServer& where = PostgresServer::shared()) : server(where) {
    static int number = 0;
    database = fmt::format("store-{}", number++);
    url = server.make_database(database);
  }
  std::unique_ptr<StoreWriter> writer() override { return StoreWriter::postgres(url); }
  std::unique_ptr<Place> place() override { return postgres_place({.url = base::Secret(url)}); }
  void run(const std::string& sql) override { server.ask(database, sql); }
  [[nodiscard]] bool postgres() const override { return true; }

  PostgresServer& server;
  std::string database;
  std::string url;
};

const auto kMake = [] { return std::make_unique<PostgresWorld>(); };
INSTANTIATE_TEST_SUITE_P(Postgres, StoreContract,
                         ::testing::Values(Store{"Postgres", kMake, false},
                                           Store{"Postgres", kMake, true}),
                         store_name);

class PostgresStoreTest : public ::testing::Test {
 protected:
  static std::vector<StoreRow> many(int count) {
    std::vector<StoreRow> out;
    for (int i = 0; i < count; ++i) {
      out.push_back({.name = fmt::format("row-{:05}", i), .uid = fmt::format("uid-{:05}", i)});
    }
    return out;
  }
  base::Context context_ = base::Context::background();
};

TEST_F(PostgresStoreTest, AnotherSchemaAndALongName) {
  PostgresWorld world;
  const std::string table(60, 't');
  StoreWriter::postgres(world.url, true, "Team A", table)
      ->write("eu-1", "harbor", "ledger", 0, many(7));
  TableSource source(
      postgres_place({.url = base::Secret(world.url), .schema = "Team A", .table = table}));
  EXPECT_EQ(source.rows(context_, {}).value()->total(), 7U);
  EXPECT_EQ(source.changes(context_, {}).value().changes.size(), 7U);
  const auto statements = index_statements(
      true, {.schema = "Team A", .table = table, .attributes = {"x"}, .history = true});
  ASSERT_TRUE(statements.has_value());
  for (const std::string& statement : *statements) world.run(statement);
  EXPECT_EQ(source.rows(context_, {}).value()->total(), 7U);
}

TEST_F(PostgresStoreTest, TheServerGoesAwayAndComesBack) {
  PostgresServer server("store-restart");
  PostgresWorld world(server);
  world.writer()->write("eu-1", "harbor", "ledger", 0, many(7));
  TableSource source(world.place());
  ASSERT_EQ(source.rows(context_, {}).value()->total(), 7U);
  server.kill();
  const auto gone = source.rows(context_, {});
  ASSERT_FALSE(gone.has_value());
  EXPECT_EQ(gone.error().kind, base::ErrorKind::kRetryable);
  EXPECT_THAT(gone.error().message, ::testing::Not(::testing::HasSubstr("secret")));
  server.restart();
  EXPECT_EQ(source.rows(context_, {}).value()->total(), 7U);
}

TEST_F(PostgresStoreTest, NothingCanBeWritten) {
  PostgresWorld world;
  world.writer()->write("eu-1", "harbor", "ledger", 0, many(1));
  const auto session = world.place()->open(context_).value();
  Query query(true);
  query.add("DELETE FROM inventory RETURNING source_uid");
  const auto refused = session->ask(query, true);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(world.server.ask(world.database, "SELECT count(*) FROM inventory").front(), "1");
}

TEST_F(PostgresStoreTest, AStatementEndsWithItsContext) {
  PostgresWorld world;
  world.writer()->write("eu-1", "harbor", "ledger", 0, many(1));
  const auto place = world.place();
  const auto session = place->open(context_.with_timeout(std::chrono::milliseconds(1500))).value();
  Query query(true);
  query.add("SELECT pg_sleep(600)");
  const auto ended = session->ask(query, true);
  ASSERT_FALSE(ended.has_value());
}

/// More requests than connections: they wait for their turn, and none is lost.
TEST_F(PostgresStoreTest, ManyRequestsShareAFewConnections) {
  PostgresWorld world;
  world.writer()->write("eu-1", "harbor", "ledger", 0, many(1500));
  TableSource source(postgres_place({.url = base::Secret(world.url), .most_sessions = 2}));
  std::vector<std::jthread> readers;
  std::atomic<int> rows = 0;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        auto cursor = source.rows(context_, {.limit = 0});
        ASSERT_TRUE(cursor.has_value()) << cursor.error().message;
        while (true) {
          const auto next = (*cursor)->next();
          ASSERT_TRUE(next.has_value()) << next.error().message;
          if (!*next) break;
          ++rows;
        }
      }
    });
  }
  readers.clear();
  EXPECT_EQ(rows, 8 * 5 * 1500);
  EXPECT_LE(std::stoi(world.server
                          .ask("postgres",
                               "SELECT count(*) FROM pg_stat_activity WHERE application_name = "
                               "'kollect-serve' AND datname = '" +
                                   world.database + "'")
                          .front()),
            2);
}

TEST_F(PostgresStoreTest, AFullPoolEndsWithTheContext) {
  PostgresWorld world;
  world.writer()->write("eu-1", "harbor", "ledger", 0, many(1));
  TableSource source(postgres_place({.url = base::Secret(world.url), .most_sessions = 1}));
  const auto held = source.rows(context_, {}).value();
  const auto refused = source.rows(context_.with_timeout(std::chrono::milliseconds(200)), {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, base::ErrorKind::kCancelled);
}

}  // namespace
}  // namespace kollect::readstore::contract
