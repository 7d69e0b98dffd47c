// The stores that need no server.
#include "fleet/keeper_contract.h"
#include "base/files.h"
#include "fleet/seed.h"
#include "fleet/sqlite_keeper.h"

namespace kollect::fleet::contract {
namespace {

class FolderWorld : public World {
 protected:
  FolderWorld() : folder_(std::move(base::TempDir::create().value())) {}
  base::TempDir folder_;
};

class SqliteWorld final : public FolderWorld {
 public:
  std::filesystem::path file() const { return folder_.path() / "fleet.db"; }
  Opened open() override {
    auto keeper = SqliteKeeper::open(file(), true).value();
    Content content = keeper->load(nullptr).value();
    return {.keeper = std::move(keeper), .content = std::move(content)};
  }
};

class SeedWorld final : public FolderWorld {
 public:
  Opened open() override {
    const auto file = folder_.path() / "seed.json";
    Content content = std::filesystem::exists(file) ? read_seed(file).value() : Content{};
    auto keeper = std::make_unique<SeedKeeper>(file, content);
    return {.keeper = std::move(keeper), .content = std::move(content)};
  }
};

const Store kSqlite{"Sqlite", [] { return std::make_unique<SqliteWorld>(); }};
const Store kSeed{"SeedFile", [] { return std::make_unique<SeedWorld>(); }};

INSTANTIATE_TEST_SUITE_P(Stores, KeeperContract, ::testing::Values(kSqlite, kSeed), name_of);
INSTANTIATE_TEST_SUITE_P(Stores, SharedKeeperContract, ::testing::Values(kSqlite), name_of);

TEST(SqliteTrail, AnEntryThatCannotBeReadDeletesNothing) {
  SqliteWorld world;
  const Opened other = world.open();
  const auto keeper = world.open().keeper;
  auto database = dbfile::Database::open(world.file(), dbfile::Database::Mode::kReadWrite,
                                         std::chrono::seconds(5));
  ASSERT_TRUE(database.has_value());
  ASSERT_TRUE(keeper->begin());
  base::json::Object record;
  record.set("id", "a");
  ASSERT_TRUE(keeper->keep(std::vector<Change>{
      {.family = Family::kNamespace, .id = "a", .after = Value(std::move(record))}}));
  ASSERT_TRUE(database->execute("UPDATE fleet_audit SET after = '{'"));
  const auto news = other.keeper->look();
  ASSERT_TRUE(news.has_value());
  EXPECT_THAT(news->changes, IsEmpty());
  ASSERT_TRUE(news->content.has_value());
  EXPECT_EQ(news->content->records[2].size(), 1U);
}

}  // namespace
}  // namespace kollect::fleet::contract
