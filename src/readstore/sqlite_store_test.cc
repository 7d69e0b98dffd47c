// The contract of stores against SQLite, and what only a file can do.
#include <set>
#include <thread>

#include "base/files.h"
#include "dbfile/database.h"
#include "readstore/sqlite_place.h"
#include "readstore/store_contract_cases.h"

namespace kollect::readstore::contract {
namespace {

class SqliteWorld final : public World {
 public:
  SqliteWorld() : folder_(std::move(*base::TempDir::create())), file(folder_.path() / "rows.db") {}
  std::unique_ptr<StoreWriter> writer() override { return StoreWriter::sqlite(file); }
  std::unique_ptr<Place> place() override { return sqlite_place({.file = file}); }
  void run(const std::string& sql) override {
    auto database =
        dbfile::Database::open(file, dbfile::Database::Mode::kReadWrite, std::chrono::seconds(5));
    ASSERT_TRUE(database.has_value()) << database.error().message;
    const auto done = database->execute(sql);
    ASSERT_TRUE(done.has_value()) << sql << ": " << done.error().message;
  }
  [[nodiscard]] bool postgres() const override { return false; }

 private:
  base::TempDir folder_;

 public:
  std::filesystem::path file;
};

const auto kMake = [] { return std::make_unique<SqliteWorld>(); };
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract,
                         ::testing::Values(Store{"Sqlite", kMake, false},
                                           Store{"Sqlite", kMake, true}),
                         store_name);

class SqliteStoreTest : public ::testing::Test {
 protected:
  static std::vector<StoreRow> many(int count, int generation) {
    std::vector<StoreRow> out;
    for (int i = 0; i < count; ++i) {
      out.push_back({.ns = fmt::format("ns-{}", i % 10),
                     .name = fmt::format("row-{:05}", i),
                     .uid = fmt::format("uid-{:05}", i),
                     .attributes = fmt::format(R"({{"generation":{}}})", generation)});
    }
    return out;
  }
  base::Context context_ = base::Context::background();
  SqliteWorld world_;
};

TEST_F(SqliteStoreTest, AFileThatIsNotThereIsWaitedFor) {
  TableSource source(world_.place());
  const auto missing = source.rows(context_, {});
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, base::ErrorKind::kRetryable);
  EXPECT_THAT(missing.error().message, ::testing::HasSubstr("there is no file"));
  world_.writer()->write("eu-1", "harbor", "ledger", 0, many(3, 1));
  EXPECT_EQ(source.rows(context_, {}).value()->total(), 3U);
}

TEST_F(SqliteStoreTest, AFileThatIsReplacedIsReadAnew) {
  world_.writer()->write("eu-1", "harbor", "ledger", 0, many(3, 1));
  TableSource source(world_.place());
  EXPECT_EQ(source.rows(context_, {}).value()->total(), 3U);
  SqliteWorld other;
  other.writer()->write("eu-1", "harbor", "ledger", 0, many(5, 1));
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(world_.file.string() + suffix);
  }
  std::filesystem::rename(other.file, world_.file);
  EXPECT_EQ(source.rows(context_, {}).value()->total(), 5U);
}

TEST_F(SqliteStoreTest, AFileThatIsNoDatabaseIsNamed) {
  ASSERT_TRUE(
      base::write_file_atomic(world_.file, "no database at all, just a text\n").has_value());
  TableSource source(world_.place());
  const auto refused = source.rows(context_, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("is no SQLite database"));
}

/// Every page is of one state, and the sink is never held up.
TEST_F(SqliteStoreTest, ReadersBesideASinkSeeOneStateEach) {
  const auto writer = world_.writer();
  writer->write("eu-1", "harbor", "ledger", 0, many(400, 0));
  world_.run(index_statements(false, {}).value().front());
  TableSource source(world_.place());
  std::atomic<bool> done = false;
  std::vector<std::jthread> readers;
  std::atomic<int> pages = 0;
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&, reader] {
      while (!done) {
        RowRequest request;
        request.limit = 0;
        if (reader == 1) request.filter.search = "row-";
        if (reader == 2) request.order.by = "name";
        auto cursor = source.rows(context_, request);
        ASSERT_TRUE(cursor.has_value()) << cursor.error().message;
        std::set<std::string> generations;
        std::uint64_t rows = 0;
        while (true) {
          const auto next = (*cursor)->next();
          ASSERT_TRUE(next.has_value()) << next.error().message;
          if (!*next) break;
          generations.emplace((*next)->row.attributes);
          ++rows;
        }
        ASSERT_EQ(generations.size(), 1U);
        ASSERT_EQ(rows, (*cursor)->total());
        ++pages;
      }
    });
  }
  for (int generation = 1; generation <= 30 || pages < 30; ++generation) {
    writer->write("eu-1", "harbor", "ledger", generation, many(400 + generation % 7, generation));
  }
  done = true;
}

}  // namespace
}  // namespace kollect::readstore::contract
