// Cases: spec sinks 11.2, 11.3, 15 (K-43, K-45), P-9; crash and full disk.
#include "sinks/sqlite/sqlite_sink.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "sinks/sqlite/database.h"
#include "sinks/sqlite/schema.h"

namespace kollect::sinks {
namespace {

using inventory::RowSet;
using inventory::RowView;
using sqlite::Database;

struct TestRow {
  std::string name;
  std::string attributes = "{}";
  std::string ns = "quay";
  std::string uid = {};
  std::string target = "cranes";
  std::string target_namespace = "harbor";
};

RowSet rows(const std::vector<TestRow>& list) {
  RowSet set;
  for (const TestRow& row : list) {
    const std::string uid = row.uid.empty() ? "uid-" + row.name : row.uid;
    set.add(RowView{row.target_namespace, row.target, row.ns, row.name, "apps", "v1", "Deployment",
                    uid, row.attributes});
  }
  set.seal();
  return set;
}

class SqliteSinkTest : public testing::Test {
 protected:
  SqliteSinkTest()
      : dir_(std::move(*base::TempDir::create())), file_(dir_.path() / "sub" / "inventory.db") {}

  Export make(const RowSet& set, int second, const std::string& cluster = "pier-7") {
    Export exp;
    exp.inventory = {"harbor", "ledger"};
    exp.rows = &set;
    exp.generation = 3;
    exp.exported_at = base::WallTime(std::chrono::seconds(1'700'000'000 + second));
    exp.cluster = cluster;
    return exp;
  }

  base::Result<ExportReport> write(const Export& exp, bool dry_run = false) {
    SqliteSink sink(file_, options_);
    return sink.export_all(context_, {exp}, dry_run);
  }

  ExportReport must_write(const Export& exp, bool dry_run = false) {
    auto report = write(exp, dry_run);
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return report.value_or(ExportReport{});
  }

  /// Rows of a query, columns joined by "|".
  std::vector<std::string> ask(std::string_view sql) {
    auto database = Database::open(file_, Database::Mode::kReadOnly, std::chrono::seconds(1));
    EXPECT_TRUE(database.has_value()) << database.error().message;
    auto statement = database->prepare(sql);
    std::vector<std::string> result;
    if (!statement.has_value()) {
      ADD_FAILURE() << statement.error().message;
      return result;
    }
    while (true) {
      const auto more = statement->step();
      EXPECT_TRUE(more.has_value());
      if (!more.value_or(false)) {
        return result;
      }
      std::string line;
      for (int i = 0; i < statement->columns(); ++i) {
        line += (i == 0 ? "" : "|") + std::string(statement->text(i));
      }
      result.push_back(line);
    }
  }

  base::TempDir dir_;
  std::filesystem::path file_;
  SqliteOptions options_;
  base::Context context_ = base::Context::background();
};

using Lines = std::vector<std::string>;

TEST_F(SqliteSinkTest, K13ExistingMakesNeitherFileNorTable) {
  const RowSet set = rows({{"a"}});
  const auto fails = [&](const char* reason, const std::string& named) {
    options_.ensure = false;
    for (const bool dry_run : {false, true}) {
      const auto report = write(make(set, 1), dry_run);
      ASSERT_FALSE(report.has_value());
      EXPECT_EQ(report.error().kind, base::ErrorKind::kTerminal);
      EXPECT_EQ(report.error().reason, reason);
      EXPECT_NE(report.error().message.find(named), std::string::npos) << report.error().message;
    }
    EXPECT_EQ(SqliteSink(file_, options_).probe(context_).error().reason, reason);
  };
  fails("file-missing", file_.string());
  EXPECT_FALSE(std::filesystem::exists(file_));
  options_.ensure = true;
  options_.table = "other";
  ASSERT_TRUE(write(make(set, 1)));
  options_.table = "inventory";
  fails("table-missing", "table inventory");
  options_.table = "other";
  EXPECT_TRUE(SqliteSink(file_, options_).probe(context_));
  ASSERT_TRUE(write(make(set, 2)));
}

TEST_F(SqliteSinkTest, ColumnsAndKey) {
  const RowSet set = rows({{"crane-01", R"({"image":"a"})"}, {"node-01", "{}", ""}});
  const ExportReport report = must_write(make(set, 0));
  EXPECT_EQ(report.written, 2U);
  EXPECT_EQ(ask("SELECT name, pk FROM pragma_table_info('inventory') ORDER BY cid"),
            (Lines{"inventory_namespace|2", "inventory_name|3", "target_name|4", "source_uid|5",
                   "cluster|1", "resource_namespace|0", "payload|0", "exported_at|0"}));
  EXPECT_EQ(
      ask("SELECT inventory_namespace, inventory_name, target_name, source_uid, cluster, "
          "resource_namespace, "
          "payload, exported_at FROM inventory ORDER BY source_uid"),
      (Lines{
          R"(harbor|ledger|cranes|uid-crane-01|pier-7|quay|{"targetNamespace":"harbor","targetName":"cranes",)"
          R"("namespace":"quay","name":"crane-01","group":"apps","version":"v1","kind":"Deployment",)"
          R"("uid":"uid-crane-01","attributes":{"image":"a"}}|2023-11-14T22:13:20.000000Z)",
          // A cluster-scoped object stands under the inventory's namespace.
          R"(harbor|ledger|cranes|uid-node-01|pier-7|harbor|{"targetNamespace":"harbor","targetName":"cranes",)"
          R"("namespace":"","name":"node-01","group":"apps","version":"v1","kind":"Deployment",)"
          R"("uid":"uid-node-01","attributes":{}}|2023-11-14T22:13:20.000000Z)"}));
  EXPECT_EQ(ask("SELECT cluster, inventory_namespace, inventory_name, generation, item_count, "
                "exported_at, "
                "checksum FROM inventory_exports"),
            (Lines{"pier-7|harbor|ledger|3|2|2023-11-14T22:13:20.000000Z|" + set.checksum()}));
  EXPECT_EQ(ask("SELECT kind, api_group, version, namespace, name, attributes FROM inventory_rows "
                "ORDER BY name"),
            (Lines{R"(Deployment|apps|v1|quay|crane-01|{"image":"a"})",
                   "Deployment|apps|v1||node-01|{}"}));
}

TEST_F(SqliteSinkTest, UnchangedRowsAreNotRewritten) {  // K-45
  const RowSet first = rows({{"a", R"({"n":1})"}, {"b", R"({"n":1})"}, {"c", R"({"n":1})"}});
  const RowSet second = rows({{"a", R"({"n":1})"}, {"b", R"({"n":2})"}, {"d", R"({"n":1})"}});
  must_write(make(first, 0));
  const ExportReport report = must_write(make(second, 10));
  EXPECT_EQ(report.written, 2U);
  EXPECT_EQ(report.unchanged, 1U);
  EXPECT_EQ(report.removed, 1U);
  EXPECT_EQ(ask("SELECT source_uid, substr(exported_at, 18, 2) FROM inventory ORDER BY 1"),
            (Lines{"uid-a|20", "uid-b|30", "uid-d|30"}));
  EXPECT_EQ(ask("SELECT source_uid, began, ifnull(ended, '-'), substr(valid_from, 18, 2), "
                "ifnull(substr(valid_to, 18, 2), '-') FROM inventory_history ORDER BY 1, 4"),
            (Lines{"uid-a|appeared|-|20|-", "uid-b|appeared|changed|20|30", "uid-b|changed|-|30|-",
                   "uid-c|appeared|went|20|30", "uid-d|appeared|-|30|-"}));
  EXPECT_EQ(
      ask("SELECT change, name, ifnull(before, '-'), ifnull(after, '-') FROM inventory_changes "
          "WHERE at > '2023-11-14T22:13:25' ORDER BY name"),
      (Lines{R"(changed|b|{"n":1}|{"n":2})", R"(went|c|{"n":1}|-)", R"(appeared|d|-|{"n":1})"}));
  EXPECT_EQ(must_write(make(second, 20)).written, 0U);
  EXPECT_EQ(ask("SELECT count(*) FROM inventory_history"), Lines{"5"});
  EXPECT_EQ(ask("SELECT substr(exported_at, 18, 2) FROM inventory_exports"), Lines{"40"});
}

TEST_F(SqliteSinkTest, RowThatComesBack) {
  const RowSet with = rows({{"a"}});
  const RowSet without = rows({});
  must_write(make(with, 0));
  must_write(make(without, 1));
  must_write(make(with, 2));
  EXPECT_EQ(ask("SELECT change FROM inventory_changes ORDER BY at"),
            (Lines{"appeared", "went", "appeared"}));
  EXPECT_EQ(ask("SELECT count(*) FROM inventory"), Lines{"1"});
}

TEST_F(SqliteSinkTest, OtherClustersAndInventoriesStay) {  // K-43
  const RowSet set = rows({{"a"}});
  const RowSet none = rows({});
  Export other = make(set, 0);
  other.inventory.name = "other";
  must_write(make(set, 0, "pier-7"));
  must_write(make(set, 0, "pier-8"));
  must_write(other);
  must_write(make(none, 1, "pier-7"));
  EXPECT_EQ(ask("SELECT cluster, inventory_name FROM inventory ORDER BY 1, 2"),
            (Lines{"pier-7|other", "pier-8|ledger"}));
}

TEST_F(SqliteSinkTest, UnreadNamespacesStay) {  // P-9
  must_write(make(rows({{"a"}, {"b", "{}", "lab"}, {"c", "{}", ""}}), 0));
  const RowSet none = rows({});
  Export exp = make(none, 1);
  exp.keep_namespaces = {"lab", "harbor"};
  const ExportReport report = must_write(exp);
  EXPECT_EQ(report.removed, 2U);  // the cluster-scoped one is in no namespace
  EXPECT_EQ(ask("SELECT source_uid FROM inventory"), Lines{"uid-b"});
}

TEST_F(SqliteSinkTest, OneKeyTwiceInASet) {  // field-one-key-twice-in-a-batch
  const RowSet set = rows({{"a", R"({"n":1})", "quay", "u", "t", "ns-1"},
                           {"a", R"({"n":2})", "quay", "u", "t", "ns-2"}});
  const ExportReport report = must_write(make(set, 0));
  EXPECT_EQ(report.written, 1U);
  ASSERT_EQ(report.warnings.size(), 1U);
  must_write(make(set, 1));
  EXPECT_EQ(ask("SELECT payload ->> '$.attributes.n' FROM inventory"), Lines{"2"});
  EXPECT_EQ(ask("SELECT count(*) FROM inventory_history"), Lines{"1"});
}

TEST_F(SqliteSinkTest, DryRunWritesNothing) {
  const RowSet first = rows({{"a", R"({"n":1})"}, {"b"}});
  const RowSet second = rows({{"a", R"({"n":2})"}, {"c"}});
  using What = ExportReport::Change::What;
  EXPECT_EQ(must_write(make(first, 0), true).changes.at(0).what, What::kCreate);
  EXPECT_FALSE(std::filesystem::exists(file_));
  must_write(make(first, 0));
  const ExportReport report = must_write(make(second, 1), true);
  EXPECT_EQ(report.written, 2U);
  EXPECT_EQ(report.removed, 1U);
  EXPECT_EQ(report.changes.at(0).what, What::kUpdate);
  EXPECT_EQ(must_write(make(first, 1), true).changes.at(0).what, What::kUnchanged);
  EXPECT_EQ(ask("SELECT count(*) FROM inventory_history"), Lines{"2"});
}

TEST_F(SqliteSinkTest, ClockSetBack) {
  must_write(make(rows({{"a", R"({"n":1})"}}), 100));
  must_write(make(rows({{"a", R"({"n":2})"}}), 0));
  EXPECT_EQ(ask("SELECT valid_to > valid_from FROM inventory_history WHERE valid_to IS NOT NULL"),
            Lines{"1"});
}

TEST_F(SqliteSinkTest, OwnTableName) {
  options_.table = "odd \"name\"";
  must_write(make(rows({{"a"}}), 0));
  EXPECT_EQ(ask("SELECT name FROM \"odd \"\"name\"\"_rows\""), Lines{"a"});
}

TEST_F(SqliteSinkTest, ForeignTableIsRefused) {
  {
    auto database = Database::open(file_, Database::Mode::kReadWrite, std::chrono::seconds(1));
    ASSERT_TRUE(database->execute("CREATE TABLE inventory (id INTEGER)").has_value());
  }
  const auto report = write(make(rows({{"a"}}), 0));
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kConfiguration);
  EXPECT_EQ(report.error().message,
            "table inventory exists but has no column cluster; choose another file or table");
  EXPECT_EQ(ask("SELECT count(*) FROM sqlite_master"), Lines{"1"});
}

TEST_F(SqliteSinkTest, FileThatIsNoDatabase) {
  ASSERT_TRUE(base::write_file_atomic(file_, std::string(5000, 'x')).has_value());
  const auto report = write(make(rows({{"a"}}), 0));
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kConfiguration);
  EXPECT_EQ(report.error().message, file_.string() + " is no SQLite database");
  EXPECT_FALSE(SqliteSink(file_).probe(context_).has_value());
  EXPECT_TRUE(SqliteSink(dir_.path() / "new" / "x.db").probe(context_).has_value());
  EXPECT_FALSE(SqliteSink(dir_.path()).export_all(context_, {}, false).has_value());
  EXPECT_FALSE(SqliteSink(file_ / "below.db").probe(context_).has_value());
}

RowSet many(int generation, int count) {
  std::vector<TestRow> list;
  for (int i = 0; i < count; ++i) {
    list.push_back({fmt::format("row-{:05}", i), fmt::format(R"({{"generation":{},"text":"{}"}})",
                                                             generation, std::string(200, 'x'))});
  }
  return rows(list);
}

TEST_F(SqliteSinkTest, FullDiskKeepsTheOldState) {
  must_write(make(many(1, 100), 0));
  options_.max_bytes = std::filesystem::file_size(file_) + 40'960;
  const auto report = write(make(many(2, 2000), 1));
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().reason, "disk-full");
  EXPECT_EQ(report.error().message,
            "cannot write " + file_.string() + ": no space left; its last state is kept");
  EXPECT_EQ(ask("SELECT count(*), min(payload ->> '$.attributes.generation') FROM inventory"),
            Lines{"100|1"});
  EXPECT_EQ(ask("SELECT count(*) FROM inventory_history"), Lines{"100"});
  options_.max_bytes = 0;
  EXPECT_EQ(must_write(make(many(2, 2000), 2)).written, 2000U);
}

TEST_F(SqliteSinkTest, LockedByAnotherProcess) {
  must_write(make(rows({{"a"}}), 0));
  auto other = Database::open(file_, Database::Mode::kReadWrite, std::chrono::seconds(0));
  ASSERT_TRUE(other->execute("BEGIN IMMEDIATE").has_value());
  options_.busy_timeout = std::chrono::milliseconds(0);
  const auto report = write(make(rows({{"b"}}), 1));
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kRetryable);
}

TEST_F(SqliteSinkTest, CancelledInTheMiddle) {
  must_write(make(many(1, 600), 0));
  /// Cancels at its n-th look at the clock.
  class CountingClock final : public base::Clock {
   public:
    base::WallTime now() const override { return {}; }
    base::SteadyTime steady_now() const override {
      return base::SteadyTime(std::chrono::seconds(++looks_ > 4 ? 100 : 0));
    }

   private:
    mutable int looks_ = 0;
  };
  const CountingClock clock;
  SqliteSink sink(file_);
  const RowSet set = many(2, 600);
  const auto report = sink.export_all(
      base::Context(clock, {}).with_timeout(std::chrono::seconds(50)), {make(set, 1)}, false);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().reason, "timeout");
  EXPECT_EQ(ask("SELECT count(*) FROM inventory_history"), Lines{"600"});
  EXPECT_TRUE(sink.export_all(context_, {make(set, 2)}, false).has_value());
}

/// Kills the process at its n-th look at the clock.
class KillingClock final : public base::Clock {
 public:
  explicit KillingClock(int looks) : left_(looks) {}
  base::WallTime now() const override { return {}; }
  base::SteadyTime steady_now() const override {
    if (--left_ == 0) {
      ::kill(::getpid(), SIGKILL);
    }
    return {};
  }

 private:
  mutable int left_;
};

TEST_F(SqliteSinkTest, KilledInTheMiddle) {
  const RowSet old_rows = many(1, 1500);
  const RowSet new_rows = many(2, 1500);
  must_write(make(old_rows, 0));
  int killed = 0;
  for (int looks = 2; looks < 100; looks += 3) {
    const pid_t child = ::fork();
    if (child == 0) {
      const KillingClock clock(looks);
      SqliteSink sink(file_);
      const auto report = sink.export_all(
          base::Context(clock, {}).with_timeout(std::chrono::hours(1)), {make(new_rows, 1)}, false);
      ::_exit(report.has_value() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const bool was_killed = WIFSIGNALED(status);
    killed += was_killed ? 1 : 0;
    ASSERT_TRUE(was_killed || WEXITSTATUS(status) == 0);
    const std::string generation = was_killed ? "1" : "2";
    ASSERT_EQ(ask("SELECT count(*), min(payload ->> '$.attributes.generation'), "
                  "max(payload ->> '$.attributes.generation') FROM inventory"),
              Lines{"1500|" + generation + "|" + generation});
    ASSERT_EQ(ask("PRAGMA integrity_check"), Lines{"ok"});
    if (!was_killed) {
      break;
    }
  }
  EXPECT_GT(killed, 3);
  EXPECT_EQ(must_write(make(new_rows, 2)).unchanged + must_write(make(new_rows, 3)).unchanged,
            3000U);
}

}  // namespace
}  // namespace kollect::sinks
