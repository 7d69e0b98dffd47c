// What the tests of this room share. Only for *test.cc files.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "api/codec.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "inventory/row_set.h"
#include "sinks/layout.h"

namespace kollect::sinks::testing {

namespace json = base::json;

inline std::filesystem::path case_path(const std::string& relative) {
  return std::filesystem::path(KOLLECT_SOURCE_DIR) / "tests/cases/sinks" / relative;
}

inline std::string read_text(const std::filesystem::path& path) {
  const std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline json::Value parse_json(const std::string& text) {
  auto document = json::Document::parse(text);
  EXPECT_TRUE(document.has_value()) << text.substr(0, 200);
  return document.has_value() ? json::to_value(document->root()) : json::Value();
}

inline json::Value read_case(const std::string& relative) {
  return parse_json(read_text(case_path(relative)));
}

inline inventory::RowSet rows_of(const json::Value& array) {
  inventory::RowSet rows;
  for (const auto& row : array.as_array()) {
    const auto document = json::Document::from_value(row);
    const auto added = inventory::add_row_json(rows, document.root());
    EXPECT_TRUE(added.has_value()) << (added.has_value() ? "" : added.error().message);
  }
  rows.seal();
  return rows;
}

/// Rows from JSON text with single quotes for double ones.
inline inventory::RowSet rows_of(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return rows_of(parse_json(text));
}

inline inventory::RowSet named_rows(const std::string& name) {
  return rows_of(read_case("rows/" + name + ".json"));
}

inline api::SnapshotSink sink_of(const json::Value& spec, const std::string& name = "ledger-git") {
  json::Object metadata;
  metadata.set("name", name);
  json::Object object;
  object.set("apiVersion", api::kApiVersion);
  object.set("kind", "KollectSnapshotSink");
  object.set("metadata", std::move(metadata));
  object.set("spec", spec);
  auto sink = api::decode<api::SnapshotSink>(json::Value(std::move(object)));
  EXPECT_TRUE(sink.has_value()) << (sink.has_value() ? "" : sink.error().message);
  return sink.has_value() ? *sink : api::SnapshotSink{};
}

inline base::WallTime time_of(std::string_view text) {
  const auto time = base::parse_rfc3339(text);
  EXPECT_TRUE(time.has_value()) << text;
  return time.has_value() ? *time : base::WallTime{};
}

/// The export that a case file describes (inventory, exportedAt, sink.cluster, maxExportBytes).
inline Export export_of(const json::Value& the_case, const inventory::RowSet& rows) {
  Export exp;
  exp.rows = &rows;
  const auto* inventory = the_case.find("inventory");
  exp.inventory = {std::string(inventory->text("namespace")), std::string(inventory->text("name"))};
  exp.generation = inventory->find("generation")->as_int();
  if (the_case.find("exportedAt") != nullptr)
    exp.exported_at = time_of(the_case.text("exportedAt"));
  exp.cluster = the_case.find("sink")->text("cluster");
  if (const auto* most = the_case.find("maxExportBytes")) {
    exp.max_bytes = static_cast<std::size_t>(most->as_int());
  }
  return exp;
}

inline std::vector<std::string> texts_of(const json::Value& array) {
  std::vector<std::string> out;
  for (const auto& text : array.as_array()) out.push_back(text.as_string());
  return out;
}

/// Pods by namespace and name, target "x"/"t", with one attribute.
inline inventory::RowSet pods(const std::vector<std::pair<std::string, std::string>>& objects,
                              const std::string& value = "1") {
  inventory::RowSet rows;
  for (const auto& [ns, name] : objects) {
    const auto uid = ns + "-" + name;
    rows.add({"x", "t", ns, name, "", "v1", "Pod", uid, fmt::format(R"({{"v":"{}"}})", value)});
  }
  rows.seal();
  return rows;
}

/// What a consumer finds who holds a set of files against its manifest (spec: sinks 5.3).
struct SetCheck {
  std::vector<std::string> missing;  ///< listed, not there
  std::vector<std::string> stale;    ///< there, not listed; manifests do not count
  bool generation_mismatch = false;
  [[nodiscard]] bool complete() const {
    return missing.empty() && stale.empty() && !generation_mismatch;
  }
};

/// The consumer's check. `expected_generation` 0: any will do.
inline SetCheck check_set(const json::Value& manifest, std::vector<std::string> present,
                          std::int64_t expected_generation) {
  auto listed = texts_of(*manifest.find("paths"));
  std::sort(listed.begin(), listed.end());
  std::erase_if(present, [](const auto& path) { return path.ends_with(".manifest.json"); });
  std::sort(present.begin(), present.end());
  SetCheck out;
  std::set_difference(listed.begin(), listed.end(), present.begin(), present.end(),
                      std::back_inserter(out.missing));
  std::set_difference(present.begin(), present.end(), listed.begin(), listed.end(),
                      std::back_inserter(out.stale));
  out.generation_mismatch =
      expected_generation != 0 && manifest.find("generation")->as_int() != expected_generation;
  return out;
}

/// An export of an inventory "x"/"t" of cluster "c".
inline Export plain_export(const inventory::RowSet& rows, const std::string& name = "t") {
  Export exp;
  exp.rows = &rows;
  exp.inventory = {"x", name};
  exp.cluster = "c";
  exp.exported_at = time_of("2026-02-03T04:05:06Z");
  exp.max_bytes = 0;
  return exp;
}

/// All files below a folder by relative path; hidden folders (.git) left out.
inline std::map<std::string, std::string> files_below(const std::filesystem::path& folder) {
  std::map<std::string, std::string> out;
  if (!std::filesystem::exists(folder)) return out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    out[entry.path().lexically_relative(folder).string()] = read_text(entry.path());
  }
  return out;
}

}  // namespace kollect::sinks::testing
