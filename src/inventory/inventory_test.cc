// Row sets, envelopes and parts against the examples of spec sinks 18.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "base/files.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "inventory/envelope.h"
#include "inventory/row_set.h"

namespace kollect::inventory {
namespace {

using base::json::Document;
using base::json::View;

std::string read_case(const std::string& name) {
  auto text = base::read_file(KOLLECT_SOURCE_DIR "/tests/cases/inventory/" + name);
  EXPECT_TRUE(text.has_value()) << name;
  return text.value_or("");
}

RowSet read_rows(const std::string& name) {
  auto rows = read_export(read_case("rows/" + name + ".json"));
  EXPECT_TRUE(rows.has_value()) << name;
  return rows ? std::move(*rows) : RowSet();
}

EnvelopeMeta example_meta() {
  return {.generation = 5,
          .part_index = {},
          .part_total = {},
          .exported_at = *base::parse_rfc3339("2026-02-03T04:05:06.789Z"),
          .cluster = "pier-7"};
}

std::vector<std::string> uids(const RowSet& rows, std::size_t first, std::size_t last) {
  std::vector<std::string> uids;
  EXPECT_TRUE(rows.for_range(first, last,
                             [&](const RowView& row) -> base::Result<> {
                               uids.emplace_back(row.uid);
                               return {};
                             })
                  .has_value());
  return uids;
}

RowView row(std::string_view name, std::string_view uid, std::string_view attributes = "{}") {
  return {.target_namespace = "x",
          .target_name = "t",
          .ns = "shop",
          .name = name,
          .group = "",
          .version = "v1",
          .kind = "ConfigMap",
          .uid = uid,
          .attributes = attributes};
}

TEST(Envelope, ExampleFiles) {
  EnvelopeMeta meta = example_meta();
  EXPECT_EQ(envelope_json(read_rows("rows"), meta), read_case("envelope/rows.envelope.json"));
  EXPECT_EQ(envelope_json(read_rows("manifests"), meta),
            read_case("envelope/manifests.envelope.json"));
  EXPECT_EQ(envelope_json(read_rows("empty"), meta), read_case("envelope/empty.envelope.json"));
}

TEST(Envelope, RowsInFileOrderForPartsOfAnUnsortedSet) {
  // These two examples take rows in the order of rows.json, before sorting.
  const auto document = Document::parse(read_case("rows/rows.json"));
  RowSet one;
  ASSERT_TRUE(add_row_json(one, document->root().at(0)).has_value());
  RowSet two;
  ASSERT_TRUE(add_row_json(two, document->root().at(0)).has_value());
  ASSERT_TRUE(add_row_json(two, document->root().at(1)).has_value());
  one.seal();
  two.seal();
  EnvelopeMeta meta = example_meta();
  meta.generation = 0;
  meta.cluster.clear();
  EXPECT_EQ(envelope_json(one, meta), read_case("envelope/no-generation-no-cluster.envelope.json"));
  meta.generation = 5;
  meta.part_index = 2;
  meta.part_total = 3;
  const auto want = Document::parse(read_case("envelope/part-2-of-3.envelope.json"));
  const std::string text = envelope_json(two, meta);
  const auto got = Document::parse(text);
  for (const char* key : {"schemaVersion", "generation", "partIndex", "partTotal", "itemCount"}) {
    EXPECT_TRUE(base::json::equal(*got->root().find(key), *want->root().find(key))) << key;
  }
}

TEST(Checksum, OfTheExampleSets) {
  const auto facts = Document::parse(read_case("envelope/facts.json"));
  for (const auto& [name, checksum] : facts->root().find("itemsSha256")->members()) {
    EXPECT_EQ(read_rows(std::string(name)).checksum(), checksum.as_string()) << name;
  }
}

TEST(ReadExport, DecodeExamples) {
  const auto cases = Document::parse(read_case("envelope/decode.json"));
  for (const View c : cases->root().items()) {
    const auto rows = read_export(c.text("payload"));
    EXPECT_EQ(rows.has_value(), !c.find("error")->as_bool()) << c.text("payload");
    if (rows) {
      EXPECT_EQ(rows->size(), static_cast<std::size_t>(c.find("count")->number().i));
    }
  }
}

TEST(ReadExport, WrongTypesAreRefused) {
  EXPECT_FALSE(read_export(R"([{"name":1}])").has_value());
  EXPECT_FALSE(read_export(R"([{"attributes":[]}])").has_value());
  EXPECT_FALSE(read_export(R"([1])").has_value());
  EXPECT_TRUE(read_export(R"([{"attributes":null}])").has_value());
}

TEST(ReadExport, EnvelopesComeBackByteForByte) {
  const std::string text = read_case("envelope/manifests.envelope.json");
  EXPECT_EQ(envelope_json(*read_export(text), example_meta()), text);
}

TEST(Envelope, StreamedOneIsTheSame) {
  RowSet rows;
  for (int i = 0; i < 2000; ++i)
    rows.add(row("n" + std::to_string(i), "u", R"({"k":"vvvvvvvvvvv"})"));
  rows.seal();
  std::string text;
  int pieces = 0;
  ASSERT_TRUE(stream_envelope(rows, example_meta(), [&](std::string_view piece) -> base::Result<> {
                text += piece;
                ++pieces;
                return {};
              }).has_value());
  EXPECT_EQ(text, envelope_json(rows, example_meta()));
  EXPECT_GT(pieces, 2);
}

TEST(CutParts, MultipartExamples) {
  for (const char* name : {"document-json", "document-yaml", "one-part", "per-resource", "split"}) {
    SCOPED_TRACE(name);
    const auto example = Document::parse(read_case(std::string("multipart/") + name + ".json"));
    const View root = example->root();
    const RowSet rows = read_rows(std::string(root.text("rows")));
    EnvelopeMeta meta = example_meta();
    meta.generation = root.at_path({"inventory", "generation"})->number().i;
    meta.cluster = root.find("sink")->text("cluster");
    const auto parts =
        cut_parts(rows, meta, static_cast<std::size_t>(root.find("maxExportBytes")->number().i));
    ASSERT_TRUE(parts.has_value()) << parts.error().message;
    const View want = *root.find("parts");
    ASSERT_EQ(parts->size(), want.size());
    std::vector<std::string> checksums;
    for (std::size_t i = 0; i < parts->size(); ++i) {
      const Part& part = (*parts)[i];
      std::vector<std::string> want_uids;
      for (const View uid : want.at(i).find("uids")->items()) {
        want_uids.emplace_back(uid.as_string());
      }
      EXPECT_EQ(uids(rows, part.first, part.last), want_uids);
      if (parts->size() > 1) {
        meta.part_index = static_cast<std::uint32_t>(i + 1);
        meta.part_total = static_cast<std::uint32_t>(parts->size());
      }
      const std::string text = envelope_json(rows, part.first, part.last, meta);
      EXPECT_EQ(static_cast<std::int64_t>(text.size()), want.at(i).find("bytes")->number().i);
      checksums.emplace_back(Document::parse(text)->root().text("checksum"));
      EXPECT_EQ(checksums.back(), want.at(i).text("checksum"));
    }
    EXPECT_EQ(set_checksum(checksums), root.text("partsChecksum"));
  }
}

TEST(CutParts, ARowTooLargeIsNamed) {
  RowSet rows;
  rows.add(row("small", "u1"));
  rows.add(row("large", "u2", R"({"k":")" + std::string(500, 'x') + R"("})"));
  rows.seal();
  const auto parts = cut_parts(rows, {}, 400);
  ASSERT_FALSE(parts.has_value());
  EXPECT_EQ(parts.error().kind, base::ErrorKind::kTerminal);
  EXPECT_NE(parts.error().message.find("shop/large"), std::string::npos);
}

TEST(CutParts, EveryPartStaysBelowTheCeilingAndHoldsAllItCan) {
  RowSet rows;
  for (int i = 0; i < 300; ++i) {
    rows.add(row("n" + std::to_string(i), "u" + std::to_string(i),
                 R"({"k":")" + std::string(static_cast<std::size_t>(i * 7 % 90), 'x') + R"("})"));
  }
  rows.seal();
  constexpr std::size_t kCeiling = 3000;
  EnvelopeMeta meta = example_meta();
  meta.exported_at = std::chrono::floor<std::chrono::seconds>(meta.exported_at) +
                     std::chrono::nanoseconds(123'456'789);
  const auto parts = cut_parts(rows, meta, kCeiling);
  ASSERT_TRUE(parts.has_value());
  ASSERT_GT(parts->size(), 3U);
  meta.part_index = meta.part_total = 300;
  std::size_t next = 0;
  for (const Part& part : *parts) {
    EXPECT_EQ(part.first, next);
    next = part.last;
    EXPECT_LE(envelope_json(rows, part.first, part.last, meta).size(), kCeiling);
    if (part.last < rows.size()) {
      EXPECT_GT(envelope_json(rows, part.first, part.last + 1, meta).size(), kCeiling);
    }
  }
  EXPECT_EQ(next, rows.size());
}

TEST(CutParts, DoesNotDependOnTheDigitsOfTheTime) {
  RowSet rows;
  for (int i = 0; i < 100; ++i) rows.add(row("n" + std::to_string(i), "u" + std::to_string(i)));
  rows.seal();
  const auto cut = [&](std::chrono::nanoseconds fraction, std::size_t ceiling) {
    EnvelopeMeta meta = example_meta();
    meta.exported_at = std::chrono::floor<std::chrono::seconds>(meta.exported_at) + fraction;
    std::vector<std::pair<std::size_t, std::size_t>> out;
    const auto parts = cut_parts(rows, meta, ceiling);
    EXPECT_TRUE(parts.has_value());
    for (const Part& part : *parts) {
      out.emplace_back(part.first, part.last);
      EXPECT_LE(envelope_json(rows, part.first, part.last, meta).size(), ceiling);
    }
    return out;
  };
  for (std::size_t ceiling = 2000; ceiling < 2200; ++ceiling) {
    EXPECT_EQ(cut(std::chrono::milliseconds(500), ceiling),
              cut(std::chrono::nanoseconds(123'456'789), ceiling));
  }
}

TEST(RowSet, OrderOfArrivalDoesNotMatter) {
  std::vector<int> order(5000);
  std::iota(order.begin(), order.end(), 0);
  std::string first;
  for (unsigned seed : {1U, 2U, 3U}) {
    std::mt19937 random(seed);
    std::ranges::shuffle(order, random);
    RowSet rows;
    for (const int i : order) {
      const std::string uid =
          i % 2 == 0 ? "u" + std::to_string(i)
                     : "5f1c8a60-0000-4000-8000-00000000" + std::to_string(1000 + i % 9000);
      rows.add(row("n" + std::to_string(i % 1000), uid,
                   R"({"image":"registry.example/app:)" + std::to_string(i) + R"("})"));
    }
    rows.seal();
    const std::string sum = rows.checksum();
    if (first.empty()) first = sum;
    EXPECT_EQ(sum, first);
    std::string last_name;
    ASSERT_TRUE(rows.for_each([&](const RowView& view) -> base::Result<> {
                      EXPECT_LE(last_name, view.name);
                      last_name = view.name;
                      return {};
                    })
                    .has_value());
  }
}

TEST(RowSet, TheLastOfEqualIdentityWins) {
  RowSet rows;
  rows.add(row("a", "u1", R"({"k":1})"));
  rows.add(row("a", "u2", R"({"k":2})"));
  rows.add(row("a", "u1", R"({"k":3})"));
  rows.seal();
  std::string text;
  ASSERT_TRUE(rows.for_each([&](const RowView& view) -> base::Result<> {
                    text += fmt::format("{}{};", view.uid, view.attributes);
                    return {};
                  })
                  .has_value());
  EXPECT_EQ(text, R"(u1{"k":3};u2{"k":2};)");
}

TEST(RowSet, UidsComeBackAsTheyWere) {
  const std::vector<std::string> spellings = {
      "5F1C8A60-0000-4000-8000-00000000B001", "5f1c8a60-0000-4000-8000-00000000b001",
      "5f1c8a60-0000-4000-8000-00000000b00", "5f1c8a60x0000-4000-8000-00000000b001", ""};
  RowSet rows;
  for (const std::string& uid : spellings) rows.add(row("a", uid));
  rows.seal();
  std::vector<std::string> sorted = spellings;
  std::ranges::sort(sorted);
  EXPECT_EQ(uids(rows, 0, rows.size()), sorted);
}

TEST(RowSet, FiftyThousandRowsOfSixAttributesAreSmall) {
  RowSet rows;
  for (int i = 0; i < 50000; ++i) {
    rows.add(row("deployment-number-" + std::to_string(i),
                 fmt::format("5f1c8a60-0000-4000-8000-{:012x}", i),
                 fmt::format(R"({{"created":"2026-01-01T00:00:{:02}Z","image":"registry.example/)"
                             R"(team/app-{}:1.{}","labels":{{"app":"app-{}"}},"name":"d{}",)"
                             R"("namespace":"shop","replicas":{}}})",
                             i % 60, i % 40, i % 7, i % 40, i, i % 5)));
  }
  rows.seal();
  EXPECT_EQ(rows.size(), 50000U);
  EXPECT_LT(rows.memory_bytes(), 8U << 20U);
}

TEST(RowSet, AddAllTakesEveryRow) {
  RowSet a = read_rows("rows");
  RowSet b;
  b.add_all(a);
  b.seal();
  EXPECT_EQ(a.checksum(), b.checksum());
  EXPECT_EQ(a.size(), b.size());
}

TEST(RowSet, TheFirstErrorOfAVisitorEndsTheWalk) {
  const RowSet rows = read_rows("rows");
  int seen = 0;
  const auto result = rows.for_each([&](const RowView&) -> base::Result<> {
    ++seen;
    return base::terminal("enough");
  });
  EXPECT_FALSE(result.has_value());
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace kollect::inventory
