// Parquet files as other programs read them: pyarrow and DuckDB (scripts/parquet_readers.sh).
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "base/process.h"
#include "sinks/columns/encoders.h"
#include "sinks/testing.h"

namespace kollect::sinks::columns {
namespace {

using namespace testing;  // NOLINT: the room's own helpers
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Where the build puts the module: beside the program, two folders above this one.
ParquetSettings built() {
  ParquetSettings settings;
  settings.places = {std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../.."};
  return settings;
}

std::string run(const std::string& program, const std::vector<std::string>& args) {
  base::Command command;
  command.program = program;
  command.args = args;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text(*one);
    command.env[std::string(text.substr(0, text.find('=')))] = text.substr(text.find('=') + 1);
  }
  const auto limit = base::Context::background().with_timeout(std::chrono::minutes(10));
  const auto ran = base::run(limit, command);
  EXPECT_TRUE(ran.has_value()) << ran.error().message;
  if (!ran.has_value()) return {};
  EXPECT_EQ(ran->exit_code, 0) << ran->err;
  return ran->out;
}

Export ledger(const inventory::RowSet& rows) {
  Export out;
  out.inventory = {"harbor-ops", "dock-ledger"};
  out.rows = &rows;
  out.generation = 5;
  out.exported_at = time_of("2026-02-03T04:05:06.789Z");
  out.cluster = "pier-7";
  return out;
}

objects::Document whole(const Export& exp) {
  objects::Document out;
  out.exp = &exp;
  out.last = exp.rows->size();
  out.exported_at = exp.exported_at;
  return out;
}

objects::EncoderSettings compressed(const std::string& how) {
  objects::EncoderSettings out;
  out.compression = how;
  return out;
}

class Parquet : public ::testing::Test {
 protected:
  Parquet() {
    std::string pattern = std::filesystem::temp_directory_path() / "parquet-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Parquet() override { std::filesystem::remove_all(folder_); }

  std::string encode(const inventory::RowSet& rows, const ParquetSettings& settings,
                     const objects::EncoderSettings& chosen = {}) {
    const auto exp = ledger(rows);
    const auto encoder = make_parquet_encoder(chosen, settings);
    EXPECT_TRUE(encoder.has_value());
    std::string bytes;
    const auto written =
        (*encoder)->write(whole(exp), [&](std::string_view piece) -> base::Result<> {
          bytes += piece;
          return {};
        });
    EXPECT_TRUE(written.has_value()) << written.error().message;
    return bytes;
  }
  json::Value readers(const std::string& what, const std::string& bytes) {
    const auto path = folder_ / "file.parquet";
    std::ofstream(path, std::ios::binary) << bytes;
    return parse_json(
        run("scripts/parquet_readers.sh", {"tests/support/read_parquet.py", what, path}));
  }

  std::filesystem::path folder_;
};

/// The recorded columns, with what we annotate beyond them.
json::Value expected_columns(const json::Value& recorded) {
  json::Array out = recorded.find("columns")->as_array();
  for (auto& column : out) {
    if (column.text("name") == "attributes") column.as_object().set("logical", "JSON");
  }
  return out;
}

class ParquetCase : public Parquet, public ::testing::WithParamInterface<std::string> {};

TEST_P(ParquetCase, ColumnsAndRowsAsRecorded) {
  const auto the_case = read_case("parquet/" + GetParam() + ".case.json");
  const auto expected = read_case("parquet/" + GetParam() + ".expected.json");
  const auto rows = named_rows(std::string(the_case.text("rows")));
  objects::EncoderSettings chosen;
  if (const auto* hot = the_case.find("hotAttributes"); hot->is_array()) {
    chosen.hot_attributes = texts_of(*hot);
  }
  const auto found = readers("rows", encode(rows, built(), chosen));
  EXPECT_EQ(json::compact(*found.find("columns")), json::compact(expected_columns(expected)));
  EXPECT_EQ(*found.find("arrow"), *expected.find("rows"));
  EXPECT_EQ(*found.find("duckdb"), *expected.find("rows"));
}

TEST_P(ParquetCase, FilesOfOthersCanBeReadBack) {
  const auto the_case = read_case("parquet/" + GetParam() + ".case.json");
  const auto wanted = named_rows(std::string(the_case.text("rows")));
  inventory::RowSet found;
  const auto read =
      read_parquet(read_text(case_path("parquet/" + GetParam() + ".parquet")), built(), found);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  found.seal();
  EXPECT_EQ(inventory::envelope_json(found, {}), inventory::envelope_json(wanted, {}));
}

INSTANTIATE_TEST_SUITE_P(Recorded, ParquetCase, ::testing::Values("default-hot", "own-hot"));

TEST_F(Parquet, FooterAndStatistics) {
  const auto rows = named_rows("rows");
  const auto found = readers("rows", encode(rows, built()));
  const auto& words = *found.find("words");
  EXPECT_EQ(words.text("kollect.schemaVersion"), "kollect.dev/v1alpha1");
  EXPECT_EQ(words.text("kollect.cluster"), "pier-7");
  EXPECT_EQ(words.text("kollect.inventory"), "harbor-ops/dock-ledger");
  EXPECT_EQ(words.text("kollect.generation"), "5");
  EXPECT_EQ(words.text("kollect.itemCount"), "5");
  EXPECT_EQ(words.text("kollect.checksum"), rows.checksum());
  EXPECT_EQ(words.text("kollect.exportedAt"), "2026-02-03T04:05:06.789Z");
  ASSERT_THAT(found.find("groups")->as_array(), SizeIs(1));
  const auto& columns = *found.find("groups")->as_array()[0].find("columns");
  EXPECT_EQ(columns.find("kind")->text("codec"), "ZSTD");
  EXPECT_EQ(columns.find("kind")->text("least"), "Deployment");
  EXPECT_EQ(columns.find("kind")->text("greatest"), "Vessel");
  EXPECT_TRUE(columns.find("kind")->find("dictionary")->as_bool());
  EXPECT_EQ(columns.find("exported_at")->text("least"), "2026-02-03T04:05:06.789000Z");
  EXPECT_EQ(columns.find("uid")->text("codec"), "ZSTD");
}

TEST_F(Parquet, EveryCodec) {
  const auto rows = named_rows("rows");
  const std::map<std::string, std::string> codecs = {
      {"none", "UNCOMPRESSED"}, {"gzip", "GZIP"}, {"snappy", "SNAPPY"}, {"zstd", "ZSTD"}};
  for (const auto& [word, shown] : codecs) {
    const auto found = readers("rows", encode(rows, built(), compressed(word)));
    EXPECT_EQ(
        found.find("groups")->as_array()[0].at_path({"columns", "name", "codec"})->as_string(),
        shown);
    EXPECT_EQ(*found.find("arrow"), *found.find("duckdb"));
    EXPECT_THAT(found.find("arrow")->as_array(), SizeIs(rows.size()));
  }
}

TEST_F(Parquet, EmptySetHasItsColumns) {
  inventory::RowSet rows;
  rows.seal();
  const auto found = readers("rows", encode(rows, built()));
  EXPECT_THAT(found.find("columns")->as_array(), SizeIs(15));
  EXPECT_THAT(found.find("arrow")->as_array(), SizeIs(0));
  EXPECT_THAT(found.find("duckdb")->as_array(), SizeIs(0));
  EXPECT_EQ(found.find("words")->text("kollect.checksum"), rows.checksum());
}

TEST_F(Parquet, OddTextsComeBackByteForByte) {
  inventory::RowSet rows;
  const std::vector<std::string> texts = {"",
                                          "null",
                                          "🚢⚓ größe",
                                          "a\tb\r\nc",
                                          "\"quoted\" 'too'",
                                          "\xef\xbf\xbd",
                                          "0755",
                                          "\x7f",
                                          "comma,",
                                          std::string(300000, 'x'),
                                          std::string("nul\0inside", 10)};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::string attributes = "{\"image\":";
    json::append_string(attributes, texts[i]);
    attributes += "}";
    const auto name = fmt::format("row-{:02}", i);
    rows.add({"t", "n", "", name, "", "v1", "Pod", name, attributes});
  }
  rows.seal();
  const auto found = readers("rows", encode(rows, built()));
  for (const auto* reader : {"arrow", "duckdb"}) {
    const auto& read = found.find(reader)->as_array();
    ASSERT_THAT(read, SizeIs(texts.size())) << reader;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto* image = read[i].find("attr_image");
      if (texts[i].empty()) {
        EXPECT_TRUE(image->is_null());
      } else {
        EXPECT_EQ(image->as_string(), texts[i]) << reader << " " << i;
      }
      EXPECT_EQ(parse_json(std::string(read[i].text("attributes"))).text("image"), texts[i]);
    }
  }
}

TEST_F(Parquet, QueriesOfTheDocumentationWork) {
  // Two clusters; of one of them an older generation too, which the view leaves out.
  const auto rows = named_rows("rows");
  const auto put = [&](const std::string& cluster, int generation, std::string_view time) {
    auto exp = ledger(rows);
    exp.cluster = cluster;
    exp.generation = generation;
    exp.exported_at = time_of(time);
    const auto place =
        folder_ / fmt::format("inventory/cluster={}/ns=harbor-ops/name=dock-ledger", cluster);
    std::filesystem::create_directories(place);
    std::ofstream out(place / fmt::format("generation={}.parquet", generation), std::ios::binary);
    EXPECT_TRUE((*make_parquet_encoder({}, built()))
                    ->write(whole(exp),
                            [&](std::string_view piece) -> base::Result<> {
                              out << piece;
                              return {};
                            })
                    .has_value());
  };
  put("pier-7", 4, "2026-02-03T04:05:06Z");
  put("pier-7", 5, "2026-02-03T05:05:06Z");
  put("pier-8", 1, "2026-02-03T04:00:00Z");
  const auto counts =
      parse_json(run("scripts/parquet_readers.sh",
                     {"tests/support/read_parquet.py", "page", "docs/parquet.md", folder_}));
  // The view gives nothing; images: two and none in two clusters; three replicas in two; seven
  // words in three files; two Deployments in three files.
  EXPECT_EQ(json::compact(counts), "[0,6,2,21,6]");
}

TEST_F(Parquet, DeclaredTypesAreColumnTypes) {
  inventory::RowSet rows;
  const auto add = [&rows](const std::string& name, const std::string& attributes) {
    rows.add({"t", "n", "ns", name, "", "v1", "Pod", name, attributes});
  };
  add("a",
      R"({"cpu":0.5,"list":[1],"ready":true,"replicas":9007199254740993,"since":"2026-01-02T03:04:05Z"})");
  add("b", R"({"cpu":"half","list":{"a":1},"ready":"yes","replicas":1.5,"since":"yesterday"})");
  add("c", R"({"cpu":2,"ready":false,"replicas":-3})");
  rows.seal();
  const auto exp = ledger(rows);
  Table table = table_of(whole(exp), {});
  table.columns = schema({"replicas", "ready", "cpu", "since", "list"}, {{"replicas", "int"},
                                                                         {"ready", "bool"},
                                                                         {"cpu", "float"},
                                                                         {"since", "time"},
                                                                         {"list", "list"}});
  std::string bytes;
  ASSERT_TRUE(write_parquet(table, built(), [&](std::string_view piece) -> base::Result<> {
                bytes += piece;
                return {};
              }).has_value());
  const auto found = readers("rows", bytes);
  const auto& read = found.find("arrow")->as_array();
  EXPECT_EQ(json::compact(*read[0].find("attr_replicas")), "9007199254740993");
  EXPECT_EQ(json::compact(*read[0].find("attr_ready")), "true");
  EXPECT_EQ(json::compact(*read[0].find("attr_cpu")), "0.5");
  EXPECT_EQ(read[0].text("attr_since"), "2026-01-02T03:04:05.000000Z");
  EXPECT_EQ(read[0].text("attr_list"), "[1]");
  for (const auto* name : {"attr_replicas", "attr_ready", "attr_cpu", "attr_since"}) {
    EXPECT_TRUE(read[1].find(name)->is_null()) << name;
  }
  EXPECT_EQ(json::compact(*read[2].find("attr_replicas")), "-3");
  EXPECT_EQ(json::compact(*read[2].find("attr_ready")), "false");
  EXPECT_EQ(*found.find("duckdb"), *found.find("arrow"));
  const auto column = [&](const std::string& name) {
    for (const auto& one : found.find("columns")->as_array()) {
      if (one.text("name") == name) return one.text("physical");
    }
    return std::string_view("none");
  };
  EXPECT_EQ(column("attr_replicas"), "INT64");
  EXPECT_EQ(column("attr_ready"), "BOOLEAN");
  EXPECT_EQ(column("attr_cpu"), "DOUBLE");
  EXPECT_EQ(column("attr_list"), "BYTE_ARRAY");
}

/// Text that no codec makes small.
std::string noise(std::size_t seed, std::size_t bytes) {
  std::string out;
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  while (out.size() < bytes) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    out += "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[state >> 58U];
  }
  return out;
}

inventory::RowSet many(std::size_t count, std::size_t noise_bytes) {
  inventory::RowSet rows;
  for (std::size_t i = 0; i < count; ++i) {
    const auto name = fmt::format("row-{:07}", i);
    const auto attributes =
        fmt::format(R"({{"image":"registry.pier.example/app:{}","noise":"{}","replicas":{}}})",
                    i % 500, noise(i, noise_bytes), i % 7);
    rows.add({"harbor-ops", "workloads", fmt::format("quay-{:03}", i / 1000), name, "apps", "v1",
              "Deployment", name, attributes});
  }
  rows.seal();
  return rows;
}

TEST_F(Parquet, FiftyThousandRowsInSeveralGroups) {
  const auto rows = many(50000, 20);
  base::Sha256 digest;
  ASSERT_TRUE(rows.for_each([&](const inventory::RowView& row) -> base::Result<> {
                    digest.update(fmt::format("{}\t{}\n", row.uid, row.attributes));
                    return {};
                  })
                  .has_value());
  const auto wanted = digest.finish_hex();
  auto settings = built();
  settings.group_rows = 20000;
  const auto bytes = encode(rows, settings);
  const auto found = readers("digest", bytes);
  for (const auto* reader : {"arrow", "duckdb"}) {
    EXPECT_EQ(json::compact(*found.at_path({reader, "rows"})), "50000");
    EXPECT_EQ(found.find(reader)->text("digest"), wanted) << reader;
  }
  EXPECT_EQ(found.find("groupRows")->as_array().size(), 3U);
  // And by ourselves, for rows that must stay.
  inventory::RowSet back;
  const auto read = read_parquet(bytes, settings, back);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  back.seal();
  EXPECT_EQ(back.size(), rows.size());
  EXPECT_EQ(back.checksum(), rows.checksum());
}

TEST_F(Parquet, EqualRowsGiveEqualBytes) {
  const auto rows = many(3000, 30);
  EXPECT_EQ(encode(rows, built()), encode(rows, built()));
}

TEST_F(Parquet, OtherBytesAreNoInventory) {
  for (const std::string bytes : {"", "PAR1", "{\"items\":[]}"}) {
    inventory::RowSet rows;
    const auto read = read_parquet(bytes, built(), rows);
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().kind, base::ErrorKind::kConfiguration);
    EXPECT_THAT(read.error().message, HasSubstr("no Parquet file of an inventory"));
  }
}

TEST_F(Parquet, AnErrorOfTheReceiverIsTheErrorAndNothingFollowsIt) {
  const auto rows = many(20000, 100);
  const auto exp = ledger(rows);
  const Table table = table_of(whole(exp), {});
  auto settings = built();
  settings.group_bytes = 100000;
  std::size_t after = 0;
  bool failed = false;
  std::size_t calls = 0;
  const auto written = write_parquet(table, settings, [&](std::string_view) -> base::Result<> {
    if (failed) ++after;
    if (++calls < 5) return {};
    failed = true;
    return base::retryable("the bucket went away", "gone");
  });
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().message, "the bucket went away");
  EXPECT_EQ(written.error().kind, base::ErrorKind::kRetryable);
  EXPECT_EQ(after, 0U);
}

TEST_F(Parquet, MissingModuleSaysWhatToDo) {
  auto settings = built();
  settings.places = {folder_, folder_ / "lib"};
  inventory::RowSet rows;
  rows.seal();
  const auto exp = ledger(rows);
  const auto write = [&] {
    return write_parquet(table_of(whole(exp), {}), settings,
                         [](std::string_view) -> base::Result<> { return {}; });
  };
  auto written = write();
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().kind, base::ErrorKind::kConfiguration);
  EXPECT_EQ(written.error().reason, "parquet-missing");
  EXPECT_THAT(written.error().message,
              HasSubstr("libkollect-parquet.so is not in " + folder_.string()));
  EXPECT_THAT(written.error().message, HasSubstr("docs/parquet.md"));
  std::ofstream(folder_ / "libkollect-parquet.so") << "no library";
  written = write();
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().reason, "parquet-missing");
  EXPECT_THAT(written.error().message, HasSubstr(folder_.string()));
}

TEST_F(Parquet, ModuleShowsOneSymbolAndNobodyLinksIt) {
  const auto symbols = run("nm", {"-D", "--defined-only", "--format=just-symbols",
                                  built().places[0] / "libkollect-parquet.so"});
  EXPECT_EQ(symbols, "kollect_parquet\n");
  EXPECT_THAT(run("readelf", {"-d", std::filesystem::read_symlink("/proc/self/exe")}),
              ::testing::Not(HasSubstr("arrow")));
}

/// Kilobytes of a line of /proc/self/status.
std::int64_t status(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key + ":")) return std::atoll(line.c_str() + key.size() + 1);
  }
  return -1;
}

/// Most memory, in MiB, that writing needs beyond what was there before; measured in a process that
/// does nothing else.
std::int64_t growth(std::size_t count) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto rows = many(count, 300);
    const auto exp = ledger(rows);
    const Table table = table_of(whole(exp), {});
    auto settings = built();
    settings.codec = kKollectParquetNone;
    std::ofstream("/proc/self/clear_refs") << 5;  // the peak starts anew
    const auto before = status("VmRSS");
    std::size_t bytes = 0;
    const auto written =
        write_parquet(table, settings, [&](std::string_view piece) -> base::Result<> {
          bytes += piece.size();
          return {};
        });
    std::int64_t out = (status("VmHWM") - before) / 1024;
    if (!written || bytes < count * 300) out = -1;
    const bool told = ::write(ends[1], &out, sizeof out) == sizeof out;
    ::_exit(told ? 0 : 1);
  }
  std::int64_t out = -1;
  EXPECT_EQ(::read(ends[0], &out, sizeof out), static_cast<ssize_t>(sizeof out));
  ::close(ends[0]);
  ::close(ends[1]);
  int state = 0;
  EXPECT_EQ(::waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
  return out;
}

TEST_F(Parquet, MemoryDoesNotGrowWithTheRows) {
  const auto some = growth(100000);
  const auto four_times = growth(400000);
  ASSERT_GT(some, 0);
  ASSERT_GT(four_times, 0);
  // The larger file has 90 MiB more: a writer that kept what it wrote would need them.
  EXPECT_LT(four_times, some + 30) << some;
  EXPECT_LT(four_times, 120);
  RecordProperty("growth_mib", std::to_string(four_times));
}

}  // namespace
}  // namespace kollect::sinks::columns
