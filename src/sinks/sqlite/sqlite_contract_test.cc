// The contract of row sinks against SQLite.
#include <gtest/gtest.h>

#include "base/files.h"
#include "sinks/rows/contract_cases.h"
#include "sinks/sqlite/database.h"
#include "sinks/sqlite/sqlite_sink.h"

namespace kollect::sinks::rows::contract {
namespace {

class SqliteWorld final : public World {
 public:
  SqliteWorld()
      : folder_(std::move(*base::TempDir::create())), file_(folder_.path() / "inventory.db") {}

  std::unique_ptr<Sink> make_sink() override { return std::make_unique<SqliteSink>(file_); }
  Lines ask(const std::string& sql) override {
    auto database = open();
    auto statement = database.prepare(sql);
    Lines out;
    if (!statement.has_value()) {
      ADD_FAILURE() << statement.error().message;
      return out;
    }
    while (statement->step().value_or(false)) {
      std::string line;
      for (int i = 0; i < statement->columns(); ++i) {
        line += (i == 0 ? "" : "|") + std::string(statement->text(i));
      }
      out.push_back(line);
    }
    return out;
  }
  void run(const std::string& sql) override {
    const auto done = open().execute(sql);
    EXPECT_TRUE(done.has_value()) << done.error().message;
  }
  [[nodiscard]] bool history() const override { return true; }
  [[nodiscard]] std::string attribute(const std::string& name) const override {
    // json_extract takes integers past 64 bits for doubles.
    return name == "big" ? "payload -> '$.attributes.big'"
                         : "payload ->> '$.attributes." + name + "'";
  }
  [[nodiscard]] std::string view_attribute(const std::string& column,
                                           const std::string& name) const override {
    return column + " ->> '$." + name + "'";
  }
  [[nodiscard]] std::string seconds(const std::string& column) const override {
    return "CAST(strftime('%s', " + column + ") AS INTEGER)";
  }
  [[nodiscard]] std::string moment(int second) const override {
    return "'" + sqlite_time(base::WallTime(std::chrono::seconds(kStart + second))) + "'";
  }

 private:
  sqlite::Database open() {
    auto database =
        sqlite::Database::open(file_, sqlite::Database::Mode::kReadWrite, std::chrono::seconds(1));
    EXPECT_TRUE(database.has_value()) << database.error().message;
    return std::move(*database);
  }

  base::TempDir folder_;
  std::filesystem::path file_;
};

Backend backend() {
  return {"sqlite", [] { return std::make_unique<SqliteWorld>(); }};
}

INSTANTIATE_TEST_SUITE_P(Sqlite, RowSinkContract, testing::Values(backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(Sqlite, RowBulkContract, testing::Values(backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(Sqlite, RowHistoryContract, testing::Values(backend()), backend_name);

}  // namespace
}  // namespace kollect::sinks::rows::contract
