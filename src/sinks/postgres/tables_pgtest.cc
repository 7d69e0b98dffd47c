// Provisioning, table shapes and privileges (spec: sinks 11.2, K-13, K-43), odd characters (K-46).
#include <thread>

#include "base/strings.h"
#include "sinks/postgres/payload.h"
#include "sinks/postgres/pg_fixture.h"
#include "sinks/testing.h"

namespace kollect::sinks::postgres {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Tables : public PostgresFixture {
 protected:
  static constexpr const char* kColumns =
      "inventory_namespace text NOT NULL, inventory_name text NOT NULL, target_name text NOT NULL, "
      "source_uid text NOT NULL, cluster text NOT NULL DEFAULT '', resource_namespace text NOT "
      "NULL DEFAULT '', payload jsonb NOT NULL, exported_at timestamptz NOT NULL";
  void create(const std::string& more, const std::string& columns = kColumns) const {
    ask("CREATE TABLE inventory (" + columns + more + ")");
  }
  Lines relations() const {
    return ask(
        "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname "
        "NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND relkind IN ('r', 'v') AND "
        "relpersistence = 'p' ORDER BY 1");
  }
  const inventory::RowSet one_ = set_of({{"a", R"({"n":1})"}});
};

TEST_F(Tables, EnsureCreatesTheTableAsPromised) {
  write(one_);
  EXPECT_THAT(relations(), ElementsAre("inventory", "inventory_exports"));
  EXPECT_EQ(ask("SELECT string_agg(column_name || ' ' || data_type || ' ' || is_nullable, ', ' "
                "ORDER BY ordinal_position) FROM information_schema.columns WHERE table_name = "
                "'inventory'"),
            Lines{"inventory_namespace text NO, inventory_name text NO, target_name text NO, "
                  "source_uid text NO, cluster text NO, resource_namespace text NO, payload jsonb "
                  "NO, exported_at timestamp with time zone NO"});
  EXPECT_EQ(ask("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'p' AND "
                "conrelid = 'inventory'::regclass"),
            Lines{"PRIMARY KEY (cluster, inventory_namespace, inventory_name, target_name, "
                  "source_uid)"});
}

TEST_F(Tables, ContentsAsRecorded) {  // but for the key, K-43
  const auto recorded = testing::read_case("database/postgres.json");
  const auto& steps = recorded.find("steps")->as_array();
  const auto rows = testing::named_rows("rows");
  const auto export_of = [&](const inventory::RowSet& set) {
    auto exp = head(0);
    exp.inventory = {"harbor-ops", "dock-ledger"};
    exp.rows = &set;
    const auto report = new_sink()->export_all(context_, {exp}, false);
    ASSERT_TRUE(report.has_value()) << report.error().message;
  };
  /// The whole table, as the recorded rows are written.
  const auto table = [&] {
    base::json::Array out;
    for (const auto& line :
         ask("SELECT to_jsonb(i) - 'exported_at' FROM inventory i ORDER BY source_uid")) {
      out.push_back(testing::parse_json(line));
    }
    return base::json::canonical(base::json::Value(std::move(out)));
  };
  export_of(rows);
  auto expected = steps[0].find("table")->as_array();
  std::ranges::sort(expected, {}, [](const auto& row) { return row.text("source_uid"); });
  EXPECT_EQ(table(), base::json::canonical(base::json::Value(std::move(expected))));

  base::json::Array two;
  const auto document =
      base::json::Document::parse(inventory::envelope_json(rows, 0, 2, inventory::EnvelopeMeta{}));
  ASSERT_TRUE(document.has_value());
  export_of(testing::rows_of(base::json::to_value(*document->root().find("items"))));
  EXPECT_EQ(ask("SELECT json_agg(source_uid ORDER BY source_uid) FROM inventory"),
            Lines{std::string(steps[1].text("sourceUIDs"))});

  ask("INSERT INTO inventory VALUES ('other', 'inv', 't', 'u', 'elsewhere', 'x', '{}', now())");
  export_of(inventory::RowSet());
  EXPECT_EQ(table(), base::json::canonical(*steps[2].find("left")));

  std::string columns;
  for (const auto& column : recorded.find("columns")->as_array()) {
    columns += fmt::format("{}{} {} {} {}", columns.empty() ? "" : "\n", column.text("column"),
                           column.text("type"), column.find("nullable")->as_bool() ? "YES" : "NO",
                           column.text("default"));
  }
  EXPECT_EQ(base::join(ask("SELECT column_name || ' ' || data_type || ' ' || is_nullable || ' ' || "
                           "coalesce(column_default, '') FROM information_schema.columns WHERE "
                           "table_name = 'inventory' ORDER BY ordinal_position"),
                       "\n"),
            columns);
}

TEST_F(Tables, NamesAreQuoted) {
  options_.table.schema = "odd \"schema\"; --";
  options_.table.table = "In Ventory'$1";
  options_.table.create_schema = true;
  options_.table.history = true;
  write(one_);
  EXPECT_EQ(ask("SELECT uid FROM \"odd \"\"schema\"\"; --\".\"In Ventory'$1_rows\""),
            Lines{"uid-a"});
}

TEST_F(Tables, LongNamesStayApart) {
  options_.table.table = std::string(60, 't');
  options_.table.history = true;
  write(one_);
  write(one_, 1);
  EXPECT_EQ(
      ask("SELECT count(*) FROM pg_class WHERE relname LIKE 'ttt%' AND relkind IN ('r', 'v')"),
      Lines{"6"});
  EXPECT_EQ(companion_name("t", "_exports"), "t_exports");
  EXPECT_EQ(companion_name(std::string(60, 't'), "_exports").size(), 63U);
}

TEST_F(Tables, SchemaIsCreatedOnlyWhenAsked) {
  options_.table.schema = "cmdb";
  const auto error = must_fail(one_);
  EXPECT_EQ(error.kind, base::ErrorKind::kConfiguration);
  EXPECT_THAT(error.message, HasSubstr("options.createSchema"));
  options_.table.create_schema = true;
  EXPECT_EQ(write(one_).written, 1U);
  EXPECT_EQ(write(one_).unchanged, 1U);
}

TEST_F(Tables, ExistingCreatesNothing) {
  options_.table.ensure = false;
  for (const bool probe : {false, true}) {
    const auto sink = make_postgres_sink(options_);
    const auto error = probe ? sink->probe(context_).error() : must_fail(one_);
    EXPECT_EQ(error.kind, base::ErrorKind::kTerminal);
    EXPECT_EQ(error.reason, "table-missing");
    EXPECT_THAT(error.message, HasSubstr("public.inventory"));
  }
  EXPECT_THAT(relations(), IsEmpty());
  create(", PRIMARY KEY (cluster, inventory_namespace, inventory_name, target_name, source_uid)");
  EXPECT_TRUE(make_postgres_sink(options_)->probe(context_).has_value());
  EXPECT_EQ(write(one_).written, 1U);
  EXPECT_THAT(relations(), ElementsAre("inventory"));
  options_.table.history = true;
  EXPECT_THAT(must_fail(one_).message, HasSubstr("inventory_history does not exist"));
}

TEST_F(Tables, ProbeOfEnsureCreatesNothing) {
  EXPECT_TRUE(make_postgres_sink(options_)->probe(context_).has_value());
  EXPECT_THAT(relations(), IsEmpty());
}

TEST_F(Tables, AUserWithoutTheRightToCreate) {
  ask("DO $$ BEGIN CREATE ROLE clerk LOGIN PASSWORD 'secret'; EXCEPTION WHEN duplicate_object THEN "
      "NULL; END $$");
  create(", PRIMARY KEY (cluster, inventory_namespace, inventory_name, target_name, source_uid)");
  ask("GRANT SELECT, INSERT, UPDATE, DELETE ON inventory TO clerk");
  auto text = options_.dsn.dsn.reveal();
  text.replace(text.find("test:"), 5, "clerk:");
  options_.dsn.dsn = base::Secret(text);
  EXPECT_EQ(write(one_).written, 1U);
  EXPECT_THAT(relations(), ElementsAre("inventory"));
  ask("REVOKE DELETE, INSERT ON inventory FROM clerk");
  const auto error = must_fail(set_of({{"b"}}));
  EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
  EXPECT_EQ(error.reason, "forbidden");
  options_.table.table = "another";
  EXPECT_EQ(must_fail(one_).kind, base::ErrorKind::kDenied);
}

TEST_F(Tables, FourColumnKeyOfEarlierInstallations) {
  create(", PRIMARY KEY (inventory_namespace, inventory_name, target_name, source_uid)");
  write(set_of({{"a", R"({"n":1})"}, {"b"}}), 0, "east");
  EXPECT_EQ(write(set_of({{"a", R"({"n":1})"}}), 1, "west").written, 1U);
  EXPECT_EQ(ask("SELECT source_uid, cluster FROM inventory ORDER BY 1"),
            (Lines{"uid-a|west", "uid-b|east"}));
  EXPECT_EQ(write(set_of({{"a", R"({"n":1})"}}), 2, "west").unchanged, 1U);
  options_.table.history = true;
  EXPECT_EQ(must_fail(one_).reason, "table-shape");
}

TEST_F(Tables, UniqueIndexesServeAsWell) {
  create(
      ", id bigserial PRIMARY KEY, note text DEFAULT 'owner', UNIQUE (source_uid, target_name, "
      "inventory_name, inventory_namespace, cluster) INCLUDE (exported_at)");
  ask("ALTER TABLE inventory ALTER cluster TYPE varchar(100)");
  write(one_);
  ask("UPDATE inventory SET note = 'kept'");
  EXPECT_EQ(write(set_of({{"a", R"({"n":2})"}})).written, 1U);
  EXPECT_EQ(ask("SELECT note, payload #>> '{attributes,n}' FROM inventory"), Lines{"kept|2"});
}

TEST_F(Tables, OtherShapesAreRefusedWithTheColumnsWanted) {
  const std::string key =
      ", PRIMARY KEY (cluster, inventory_namespace, inventory_name, target_name, "
      "source_uid)";
  const auto refused = [&](const std::string& ddl, const std::string& problem) {
    ask(ddl);
    const auto error = must_fail(one_);
    EXPECT_EQ(error.kind, base::ErrorKind::kTerminal);
    EXPECT_EQ(error.reason, "table-shape");
    EXPECT_THAT(error.message, HasSubstr("postgres: table public.inventory " + problem));
    EXPECT_THAT(error.message, HasSubstr("wanted are the columns cluster text, exported_at "
                                         "timestamptz, inventory_name text"));
    ask("DROP " + std::string(ddl.find("VIEW") != std::string::npos ? "VIEW" : "TABLE") +
        " inventory");
  };
  const std::string columns = kColumns;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string out = columns;
    out.replace(out.find(from), from.size(), to);
    return "CREATE TABLE inventory (" + out;
  };
  refused("CREATE TABLE inventory (id int)", "has no column cluster");
  refused("CREATE VIEW inventory AS SELECT 1 AS a", "is no table");
  refused(with("payload jsonb", "payload json") + key + ")",
          "has the column payload with type json");
  refused(with("exported_at timestamptz", "exported_at timestamp") + key + ")",
          "has the column exported_at with type timestamp");
  refused("CREATE TABLE inventory (" + columns + ", owner text NOT NULL" + key + ")",
          "has the column owner that must be given");
  refused("CREATE TABLE inventory (" + columns + ", PRIMARY KEY (source_uid))", "has another key");
  refused("CREATE TABLE inventory (" + columns +
              "); CREATE UNIQUE INDEX ON inventory (cluster, inventory_namespace, inventory_name, "
              "target_name, source_uid) WHERE cluster <> ''",
          "has another key");
  EXPECT_THAT(relations(), ::testing::Not(Contains("inventory")));
}

TEST_F(Tables, ExportsTableOfSomebodyElseIsLeftAlone) {
  ask("CREATE TABLE inventory_exports (id int)");
  write(one_);
  EXPECT_EQ(ask("SELECT count(*) FROM inventory_exports"), Lines{"0"});
}

TEST_F(Tables, TableThatVanishesIsMadeAgain) {
  const auto sink = make_postgres_sink(options_);
  ASSERT_TRUE(try_write(*sink, one_).has_value());
  ask("DROP TABLE inventory");
  EXPECT_EQ(try_write(*sink, one_).error().reason, "table-missing");
  EXPECT_EQ(try_write(*sink, one_)->written, 1U);
}

TEST_F(Tables, SeveralProcessesStartAtOnce) {
  options_.table.history = true;
  options_.table.schema = "fresh";
  options_.table.create_schema = true;
  std::vector<std::jthread> threads;
  std::vector<base::Result<ExportReport>> reports(6, base::terminal("not run"));
  for (std::size_t i = 0; i < reports.size(); ++i) {
    threads.emplace_back([&, i] { reports[i] = try_write(one_, static_cast<int>(i)); });
  }
  threads.clear();
  std::uint64_t written = 0;
  for (const auto& report : reports) {
    ASSERT_TRUE(report.has_value()) << report.error().message;
    written += report->written;
  }
  EXPECT_EQ(written, 1U);
}

TEST_F(Tables, OneTablePerInventoryByTemplate) {
  options_.naming_template = "inv_{cluster}_{namespace}_{name}";
  write(one_);
  options_.naming_template = "inv_{cluster}_" + std::string(70, 'x');
  write(one_, 0, "east");
  write(one_, 0, "west");
  EXPECT_EQ(ask("SELECT count(*) FROM \"inv_pier-7_harbor_ledger\""), Lines{"1"});
  EXPECT_EQ(ask("SELECT count(*) FROM pg_class WHERE relname LIKE 'inv_east%' OR relname LIKE "
                "'inv_west%' AND relkind = 'r'"),
            Lines{"6"});
}

TEST_F(Tables, HistoryThatIsSwitchedOnLaterAndOffInBetween) {
  write(set_of({{"a", R"({"n":1})"}, {"b"}}), 0);
  options_.table.history = true;
  write(set_of({{"a", R"({"n":2})"}, {"b"}}), 10);
  options_.table.history = false;
  write(set_of({{"a", R"({"n":3})"}, {"c"}}), 20);
  options_.table.history = true;
  write(set_of({{"a", R"({"n":3})"}, {"c"}}), 30);
  EXPECT_EQ(ask("SELECT source_uid, payload #>> '{attributes,n}', began, ended, "
                "extract(epoch FROM date_trunc('second', valid_from))::bigint - 1700000000 FROM "
                "inventory_history ORDER BY source_uid, valid_from"),
            (Lines{"uid-a|1|appeared|changed|10", "uid-a|2|changed|changed|10",
                   "uid-a|3|changed||30", "uid-b||appeared|went|10", "uid-c||appeared||30"}));
  EXPECT_EQ(ask("SELECT count(*) FROM inventory_history WHERE valid_to <= valid_from"), Lines{"0"});
}

TEST_F(Tables, CharactersThatJsonbCannotHold) {  // K-46, field-nul-and-lone-surrogates-in-jsonb
  const auto set = set_of(
      {{"nul", R"({"data":{"k\u0000ey":"a\u0000b","literal":"C:\\u0000 is text"}})", "n", "21"},
       {"half", R"({"data":{"ok":"\ud83d\ude00","s":"\ud800 alone"}})", "n", "22"},
       {"fine", R"({"data":{"a":"b"}})", "n", "23"}});
  const auto report = write(set);
  EXPECT_EQ(report.written, 3U);
  EXPECT_EQ(report.replaced, 1U);
  EXPECT_THAT(report.warnings,
              ElementsAre(HasSubstr("1 rows hold U+0000, which the database cannot; U+FFFD stands "
                                    "in its place (first: n/nul, attribute data)")));
  EXPECT_EQ(
      ask("SELECT payload #>> '{attributes,data,literal}', payload #> '{attributes,data}' ->> "
          "U&'k\\FFFDey', payload #>> '{attributes,data,s}', payload #>> "
          "'{attributes,data,ok}' FROM inventory ORDER BY source_uid"),
      (Lines{"C:\\u0000 is text|a\xEF\xBF\xBD"
             "b||",
             "||\xEF\xBF\xBD alone|\xF0\x9F\x98\x80", "|||"}));
  const auto again = write(set, 1);
  EXPECT_EQ(again.written + again.bytes, 0U);
  EXPECT_THAT(again.warnings, IsEmpty());
}

/// What we take for the text of a jsonb value must be what the server prints, or nothing would be
/// recognised as unchanged without being sent.
TEST_F(Tables, PayloadTextIsTheServersOwn) {
  const std::vector<std::string> values = {
      R"({"b":1,"aa":2,"a":3,"":4,"é":5,"zz":{"y":[],"x":{}}})",
      R"([1,-1,0,18446744073709551615,-9223372036854775808,1.5,-0.25])",
      R"([1e+21,1.5e+21,1.234567890123e+25,1e-7,1.5e-7,5e-324,1.7976931348623157e+308,-2.5e-10])",
      R"(["\"\\\/\b\f\n\r\t\u0001\u001f\u007f","\u2028\u2029","\u003c\u003e\u0026","😀","C:\\u0041"])",
      R"([null,true,false,"",[[]],[{"a":[{}]}]])",
      R"({"a-1":1,"a1":1,"A1":1,"a.b/c":"x"})"};
  std::string query;
  Lines expected;
  Payload payload;
  for (const auto& value : values) {
    const std::string attributes = "{\"v\":" + value + "}";
    const auto text = payload.write({"tn", "t", "n\tx", "o\"", "g", "v1", "K", "u", attributes});
    ASSERT_TRUE(text.has_value());
    expected.emplace_back(*text);
    query += (query.empty() ? "VALUES " : ", ") +
             fmt::format(
                 "(($q${{\"targetNamespace\":\"tn\",\"targetName\":\"t\",\"namespace\":"
                 "\"n\\tx\",\"name\":\"o\\\"\",\"group\":\"g\",\"version\":\"v1\",\"kind\":"
                 "\"K\",\"uid\":\"u\",\"attributes\":{}}}$q$::jsonb)::text)",
                 attributes);
  }
  EXPECT_EQ(ask(query), expected);
}

TEST_F(Tables, NothingIsSentWhenNothingChanged) {
  const auto set =
      set_of({{"a", R"({"big":1e+21,"s":"\u0001 é 😀","small":1e-7,"z":{"aa":1,"b":2}})"},
              {"b", "{}", ""}});
  write(set);
  ask("CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''touched''; END'; "
      "CREATE TRIGGER no BEFORE INSERT OR UPDATE OR DELETE ON inventory FOR EACH STATEMENT EXECUTE "
      "FUNCTION no()");
  EXPECT_EQ(write(set, 1).unchanged, 2U);
  EXPECT_THAT(must_fail(set_of({{"a"}})).message,
              HasSubstr("a trigger of the table raised an error"));
}

}  // namespace
}  // namespace kollect::sinks::postgres
