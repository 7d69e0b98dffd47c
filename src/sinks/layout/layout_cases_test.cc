// The recorded cases of layouts, names and parts (spec examples: sinks/layout, paths, multipart,
// envelope).
#include <gmock/gmock.h>

#include "base/hash.h"
#include "inventory/envelope.h"
#include "sinks/layout/run_layout.h"
#include "sinks/testing.h"

namespace kollect::sinks {
namespace {

using namespace testing;  // NOLINT: the room's own helpers

std::vector<std::string> case_names(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(case_path(folder))) {
    if (entry.is_directory()) out.push_back(entry.path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

struct Rendered {
  std::vector<std::string> order;  // manifest left out
  std::map<std::string, std::string> files;
};

base::Result<Rendered> render_all(const Export& exp, const LayoutSpec& spec) {
  Rendered out;
  KL_TRY(render(exp, spec, [&](File&& file) -> base::Result<> {
    KL_ASSIGN(out.files[file.path], file.text());
    if (!file.path.ends_with(".manifest.json")) out.order.push_back(file.path);
    return {};
  }));
  return out;
}

class LayoutCase : public ::testing::TestWithParam<std::string> {};

TEST_P(LayoutCase, FilesAndBytesAsRecorded) {
  const auto folder = "layout/" + GetParam();
  const auto the_case = read_case(folder + "/case.json");
  const auto rows = named_rows(std::string(the_case.text("rows")));
  const auto spec = layout_spec(sink_of(*the_case.find("sink")).spec);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  const auto exp = export_of(the_case, rows);
  const auto rendered = render_all(exp, *spec);
  if (the_case.find("refused") != nullptr) {
    ASSERT_FALSE(rendered.has_value());
    EXPECT_EQ(rendered.error().kind, base::ErrorKind::kTerminal) << rendered.error().message;
    return;
  }
  ASSERT_TRUE(rendered.has_value()) << rendered.error().message;
  EXPECT_THAT(rendered->order, ::testing::ElementsAreArray(texts_of(*the_case.find("files"))));
  for (const auto& path : rendered->order) {
    EXPECT_EQ(rendered->files.at(path), read_text(case_path(folder + "/tree/" + path))) << path;
  }
}

TEST_P(LayoutCase, ResolvedAsRecorded) {
  const auto the_case = read_case("layout/" + GetParam() + "/case.json");
  const auto rows = named_rows(std::string(the_case.text("rows")));
  const auto& want = *the_case.find("resolved");
  const auto spec = layout_spec(sink_of(*the_case.find("sink")).spec);
  ASSERT_TRUE(spec.has_value());
  const std::vector<Export> exports = {export_of(the_case, rows)};
  const auto layout = RunLayout::plan(exports, *spec);
  if (the_case.find("refused") != nullptr) {
    EXPECT_FALSE(layout.has_value());
    return;
  }
  ASSERT_TRUE(layout.has_value()) << layout.error().message;
  const auto& got = layout->exports().front();
  const std::map<std::string_view, LayoutMode> modes = {{"document", LayoutMode::kDocument},
                                                        {"perResource", LayoutMode::kPerResource},
                                                        {"split", LayoutMode::kSplit}};
  const std::map<std::string_view, LayoutContent> contents = {
      {"item", LayoutContent::kItem},
      {"attributes", LayoutContent::kAttributes},
      {"manifest", LayoutContent::kManifest}};
  EXPECT_EQ(got.mode, modes.at(want.text("mode")));
  EXPECT_EQ(got.content, contents.at(want.text("content")));
  EXPECT_EQ(got.rows_carry_objects, want.find("rowsCarryObject")->as_bool());
  EXPECT_EQ(got.prune, want.find("prune")->as_bool());
  EXPECT_EQ(!got.index_paths.empty(), want.find("indexEnabled")->as_bool());
  EXPECT_EQ(extension_of(spec->format).substr(1), want.text("format"));
  if (got.mode == LayoutMode::kDocument) {
    EXPECT_EQ(got.document_path, want.text("documentPath"));
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, LayoutCase, ::testing::ValuesIn(case_names("layout")),
                         [](const auto& one) {
                           auto name = one.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return "L" + name;
                         });

TEST(Sanitise, RecordedSegments) {
  const auto cases = read_case("paths/sanitise.json");
  for (const auto& entry : cases.as_array()) {
    const auto in = std::string(entry.text("in"));
    EXPECT_EQ(sanitise_segment(in, static_cast<std::size_t>(entry.find("max")->as_int())),
              entry.text("out"))
        << in;
  }
}

TEST(ObjectPaths, DocumentTemplatesWithParts) {
  const auto cases = read_case("paths/object-paths.json");
  for (const auto& entry : cases.as_array()) {
    const auto& sink = *entry.find("sink");
    if (sink.find("objectStore") != nullptr) continue;  // Parquet belongs to the object stores
    inventory::RowSet rows;
    rows.seal();
    auto exp = plain_export(rows);
    exp.inventory = {std::string(entry.text("namespace")), std::string(entry.text("name"))};
    exp.generation = entry.find("generation")->as_int();
    exp.cluster = sink.text("cluster");
    auto spec = layout_spec(sink_of(sink).spec);
    ASSERT_TRUE(spec.has_value());
    spec->format = Format::kJson;
    auto name = exp.inventory.name;
    if (const auto* part = entry.find("part")) {
      name = part_name(name, static_cast<std::size_t>(part->as_array()[0].as_int()),
                       static_cast<std::size_t>(part->as_array()[1].as_int()));
    }
    const auto path = document_path(exp, *spec, spec->document_template, name);
    ASSERT_TRUE(path.has_value()) << path.error().message;
    EXPECT_EQ(*path, entry.text("objectPath"));
  }
}

TEST(PartNames, Recorded) {
  const auto cases = read_case("multipart/part-paths.json");
  for (const auto& entry : cases.find("cases")->as_array()) {
    EXPECT_EQ(part_path(entry.text("base"), 1, 1), entry.text("one"));
    EXPECT_EQ(part_path(entry.text("base"), 3, 12), entry.text("three"));
    EXPECT_EQ(part_path(entry.text("base"), 12345, 20000), entry.text("big"));
  }
}

class MultipartCase : public ::testing::TestWithParam<std::string> {};

TEST_P(MultipartCase, PartsAndFilesAsRecorded) {
  const auto folder = "multipart/" + GetParam();
  const auto the_case = read_case(folder + "/case.json");
  const auto rows = named_rows(std::string(the_case.text("rows")));
  const auto spec = layout_spec(sink_of(*the_case.find("sink")).spec);
  ASSERT_TRUE(spec.has_value());
  const auto exp = export_of(the_case, rows);
  const std::vector<Export> exports = {exp};
  const auto layout = RunLayout::plan(exports, *spec);
  ASSERT_TRUE(layout.has_value()) << layout.error().message;
  const auto& parts = layout->exports().front().parts;
  const auto& want = the_case.find("parts")->as_array();
  ASSERT_EQ(parts.size(), want.size());
  std::vector<std::string> checksums;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].second - parts[i].first,
              static_cast<std::size_t>(want[i].find("items")->as_int()));
    inventory::EnvelopeMeta meta;
    meta.generation = exp.generation;
    meta.exported_at = exp.exported_at;
    meta.cluster = exp.cluster;
    if (parts.size() > 1) {
      meta.part_index = static_cast<std::uint32_t>(i + 1);
      meta.part_total = static_cast<std::uint32_t>(parts.size());
    }
    const auto text = inventory::envelope_json(rows, parts[i].first, parts[i].second, meta);
    EXPECT_EQ(text.size(), static_cast<std::size_t>(want[i].find("bytes")->as_int()));
    checksums.emplace_back(parse_json(text).text("checksum"));
    EXPECT_EQ(checksums.back(), want[i].text("checksum"));
    std::vector<std::string> uids;
    ASSERT_TRUE(rows.for_range(parts[i].first, parts[i].second,
                               [&](const inventory::RowView& row) -> base::Result<> {
                                 uids.emplace_back(row.uid);
                                 return {};
                               })
                    .has_value());
    EXPECT_EQ(uids, texts_of(*want[i].find("uids")));
  }
  EXPECT_EQ(inventory::set_checksum(checksums), the_case.text("partsChecksum"));
  const auto rendered = render_all(exp, *spec);
  ASSERT_TRUE(rendered.has_value());
  std::vector<std::string> paths;
  for (const auto& [path, text] : rendered->files) {
    // An unsplit tree holds a manifest here too ([+] of 5.3).
    if (parts.size() == 1 && path.ends_with(".manifest.json")) continue;
    paths.push_back(path);
  }
  EXPECT_EQ(paths, texts_of(*the_case.find("files")));
  for (const auto& [path, text] : rendered->files) {
    const auto recorded = case_path(folder + "/tree/" + path);
    if (std::filesystem::exists(recorded)) {
      EXPECT_EQ(text, read_text(recorded)) << path;
    }
  }
}

// Of documents the manifest is written with prune only; the check needs one.
TEST_P(MultipartCase, WhatIsWrittenPassesTheConsumersCheck) {
  const auto the_case = read_case("multipart/" + GetParam() + "/case.json");
  const auto rows = named_rows(std::string(the_case.text("rows")));
  auto spec = layout_spec(sink_of(*the_case.find("sink")).spec);
  ASSERT_TRUE(spec.has_value());
  spec->prune = true;
  const auto exp = export_of(the_case, rows);
  const auto rendered = render_all(exp, *spec);
  ASSERT_TRUE(rendered.has_value()) << rendered.error().message;
  std::vector<std::string> present;
  for (const auto& [path, text] : rendered->files) present.push_back(path);
  const auto manifest = parse_json(rendered->files.at(manifest_path(exp, false)));
  EXPECT_TRUE(check_set(manifest, present, exp.generation).complete());
  EXPECT_TRUE(check_set(manifest, present, exp.generation + 1).generation_mismatch);
  for (const auto& path : rendered->order) {
    auto torn = present;
    std::erase(torn, path);
    EXPECT_THAT(check_set(manifest, torn, exp.generation).missing, ::testing::ElementsAre(path));
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, MultipartCase, ::testing::ValuesIn(case_names("multipart")),
                         [](const auto& one) {
                           auto name = one.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Multipart, TheConsumersCheckAsRecorded) {
  const auto recorded = read_case("multipart/verify.json");
  const auto list = [](const json::Value& value) {
    return value.is_null() ? std::vector<std::string>() : texts_of(value);
  };
  for (const auto& entry : recorded.find("cases")->as_array()) {
    const auto check = check_set(*recorded.find("manifest"), texts_of(*entry.find("present")),
                                 entry.find("expectedGeneration")->as_int());
    EXPECT_EQ(check.missing, list(*entry.find("missing")));
    EXPECT_EQ(check.stale, list(*entry.find("stale")));
    EXPECT_EQ(check.generation_mismatch, entry.find("generationMismatch")->as_bool());
    EXPECT_EQ(check.complete(), entry.find("complete")->as_bool());
  }
}

TEST(Multipart, RowAboveTheCeilingIsRefused) {
  const auto rows = named_rows("bulk-a");
  auto exp = plain_export(rows);
  exp.max_bytes = 200;
  const auto rendered = render_all(exp, LayoutSpec{});
  ASSERT_FALSE(rendered.has_value());
  EXPECT_EQ(rendered.error().kind, base::ErrorKind::kTerminal);
}

}  // namespace
}  // namespace kollect::sinks
