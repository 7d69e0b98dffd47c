// The contract of row sinks against a server of the MongoDB protocol. Its questions are SQL: they
// are put to a copy of the collection in SQLite, and what somebody else does to that copy is
// carried back.
#include "sinks/mongo/mongo_fixture.h"
#include "sinks/rows/contract.h"
#include "sinks/sqlite/database.h"

namespace kollect::sinks::rows::contract {
namespace {

constexpr const char* kFields[] = {"inventory_namespace", "inventory_name", "target_name",
                                   "source_uid",          "cluster",        "resource_namespace"};

class MongoWorld final : public World {
 public:
  explicit MongoWorld(mongo::BatchLimits limits)
      : limits_(limits),
        database_(mongo::fresh_database()),
        stranger_(server_, database_),
        folder_(std::move(*base::TempDir::create())) {}

  std::unique_ptr<Sink> make_sink() override {
    auto options = mongo::options_for(server_, database_);
    options.limits = limits_;
    return make_mongo_sink(std::move(options));
  }
  Lines ask(const std::string& sql) override {
    auto copy = copy_collection();
    return answer(copy, sql);
  }
  void run(const std::string& sql) override {
    auto copy = copy_collection();
    const auto done = copy.execute(sql);
    ASSERT_TRUE(done.has_value()) << done.error().message;
    stranger_.run(R"({"delete":"inventory","deletes":[{"q":{},"limit":0}]})");
    for (const auto& document :
         answer(copy,
                "SELECT json_object('inventory_namespace', inventory_namespace, 'inventory_name', "
                "inventory_name, 'target_name', target_name, 'source_uid', source_uid, 'cluster', "
                "cluster, 'resource_namespace', resource_namespace, 'payload', json(payload), "
                "'exported_at', json_object('$date', json_object('$numberLong', "
                "CAST(exported_at AS TEXT)))) FROM inventory")) {
      stranger_.insert("inventory", document);
    }
  }
  [[nodiscard]] bool history() const override { return false; }
  [[nodiscard]] std::size_t row_limit() const override { return std::size_t{16} << 20U; }
  [[nodiscard]] bool notes_exports() const override { return false; }
  [[nodiscard]] std::string attribute(const std::string& name) const override {
    // Integers past 64 bits are Decimal128.
    return name == "big" ? R"(payload ->> '$.attributes.big."$numberDecimal"')"
                         : "payload ->> '$.attributes." + name + "'";
  }
  [[nodiscard]] std::string view_attribute(const std::string& column,
                                           const std::string& name) const override {
    return column + " ->> '$." + name + "'";
  }
  [[nodiscard]] std::string seconds(const std::string& column) const override {
    return "(" + column + " / 1000)";
  }
  [[nodiscard]] std::string moment(int second) const override {
    return std::to_string((kStart + second) * 1000);
  }

 private:
  static Lines answer(sqlite::Database& copy, const std::string& sql) {
    auto statement = copy.prepare(sql);
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

  static std::string quoted(std::string_view text) {
    return "'" + base::replace_all(std::string(text), "'", "''") + "'";
  }

  static void execute(sqlite::Database& copy, const std::string& sql) {
    const auto done = copy.execute(sql);
    EXPECT_TRUE(done.has_value()) << done.error().message;
  }

  sqlite::Database copy_collection() {
    auto copy = sqlite::Database::open(folder_.path() / fmt::format("copy-{}.db", copies_++),
                                       sqlite::Database::Mode::kReadWrite, std::chrono::seconds(1));
    EXPECT_TRUE(copy.has_value());
    std::string sql =
        "BEGIN; CREATE TABLE inventory (inventory_namespace, inventory_name, target_name, "
        "source_uid, cluster, resource_namespace, payload, exported_at);";
    stranger_.for_each("inventory", [&](const bson_t* document) {
      sql += "INSERT INTO inventory VALUES (";
      for (const char* field : kFields) sql += quoted(mongo::text_of(document, field)) + ",";
      bson_iter_t at;
      bson_t payload;
      std::uint32_t size = 0;
      const std::uint8_t* bytes = nullptr;
      EXPECT_TRUE(bson_iter_init_find(&at, document, "payload"));
      bson_iter_document(&at, &size, &bytes);
      EXPECT_TRUE(bson_init_static(&payload, bytes, size));
      char* text = bson_as_relaxed_extended_json(&payload, nullptr);
      sql += quoted(text);
      bson_free(text);
      EXPECT_TRUE(bson_iter_init_find(&at, document, "exported_at"));
      sql += fmt::format(",{});", bson_iter_date_time(&at));
      if (sql.size() > 10'000) execute(*copy, std::exchange(sql, ""));
    });
    execute(*copy, sql + "COMMIT");
    return std::move(*copy);
  }

  kollect::testing::MongoServer& server_ = kollect::testing::MongoServer::shared();
  mongo::BatchLimits limits_;
  std::string database_;
  mongo::Stranger stranger_;
  base::TempDir folder_;
  int copies_ = 0;
};

Backend backend(const std::string& name, std::size_t operations) {
  return {name, [operations] {
            return std::make_unique<MongoWorld>(mongo::BatchLimits{operations, 48'000'000});
          }};
}

// Batches of three rows: everything that goes on between two batches is met by small sets. Full
// ones are met by writers_mongotest.cc.
INSTANTIATE_TEST_SUITE_P(Mongo, RowSinkContract, ::testing::Values(backend("mongo", 3)),
                         backend_name);

}  // namespace
}  // namespace kollect::sinks::rows::contract
