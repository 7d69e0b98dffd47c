// The generated CRDs against the field list of the specification: every row equal, and no field
// beyond it.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "api/codec.h"
#include "base/json/write.h"

namespace kollect::api {
namespace {

using base::json::Value;

/// Rows as they stand in the file: "kind<tab>path" to
/// "type<tab>required<tab>default<tab>constraints".
using Rows = std::map<std::string, std::string>;

Rows expected_rows() {
  std::ifstream in(KOLLECT_SOURCE_DIR "/tests/cases/admission/crd-fields.tsv");
  Rows rows;
  std::string line;
  std::getline(in, line);  // head
  while (std::getline(in, line)) {
    const std::size_t kind_end = line.find('\t');
    const std::size_t path_end = line.find('\t', kind_end + 1);
    rows[line.substr(0, path_end)] = line.substr(path_end + 1);
  }
  return rows;
}

std::string type_of(const Value& schema) {
  if (schema.text("type") == "array") {
    return "array<" + type_of(*schema.find("items")) + ">";
  }
  if (schema.find("additionalProperties") != nullptr) {
    return "map<string," + type_of(*schema.find("additionalProperties")) + ">";
  }
  // Sink references have no type so that a name alone may stand for them; the list calls them
  // objects.
  return schema.find("x-kubernetes-preserve-unknown-fields") != nullptr
             ? "object"
             : std::string(schema.text("type"));
}

std::string plain(const Value& value) {
  return value.is_string() ? value.as_string() : base::json::compact(value);
}

std::string constraints_of(const Value& schema, const std::string& prefix = "") {
  std::vector<std::string> parts;
  if (const Value* values = schema.find("enum")) {
    std::string text;
    for (const Value& value : values->as_array()) {
      text += (text.empty() ? "" : "|") + plain(value);
    }
    parts.push_back("enum=" + text);
  }
  const std::pair<const char*, const char*> names[] = {
      {"pattern", "pattern"},     {"minimum", "minimum"},
      {"maximum", "maximum"},     {"minLength", "minLength"},
      {"maxLength", "maxLength"}, {"maxItems", "maxItems"},
      {"format", "format"},       {"x-kubernetes-list-type", "listType"}};
  for (const auto& [json_name, short_name] : names) {
    if (const Value* value = schema.find(json_name)) {
      parts.push_back(std::string(short_name) + "=" + plain(*value));
    }
  }
  if (const Value* keys = schema.find("x-kubernetes-list-map-keys")) {
    parts.push_back("listMapKeys=" + plain(keys->as_array()[0]));
  }
  if (const Value* map_type = schema.find("x-kubernetes-map-type")) {
    parts.push_back("mapType=" + plain(*map_type));
  }
  std::string text;
  for (const std::string& part : parts) {
    text += (text.empty() ? "" : "; ") + prefix + part;
  }
  const Value* items = schema.find("items");
  if (items != nullptr && items->text("type") == "string") {
    const std::string inner = constraints_of(*items, "items.");
    text += (text.empty() || inner.empty() ? "" : "; ") + inner;
  }
  return text;
}

void collect(const std::string& kind, const Value& schema, const std::string& path, Rows& rows) {
  const Value* properties = schema.find("properties");
  if (properties == nullptr) {
    return;
  }
  for (const auto& [name, member] : properties->as_object()) {
    const std::string at = path.empty() ? name : path + "." + name;
    bool required = false;
    if (const Value* list = schema.find("required")) {
      for (const Value& one : list->as_array()) {
        required = required || one.as_string() == name;
      }
    }
    const Value* preset = member.find("default");
    rows[kind + "\t" + at] = type_of(member) + "\t" + (required ? "yes" : "no") + "\t" +
                             (preset != nullptr ? base::json::compact(*preset) : "") + "\t" +
                             constraints_of(member);
    collect(kind, member, at, rows);
    if (const Value* items = member.find("items")) {
      collect(kind, *items, at + "[]", rows);
    }
  }
}

Rows generated_rows() {
  Rows rows;
  for (const KindInfo& info : kinds()) {
    const Value definition = crd(info.kind);
    const Value& version = definition.at_path({"spec", "versions"})->as_array()[0];
    collect(info.kind, *version.at_path({"schema", "openAPIV3Schema"}), "", rows);
  }
  return rows;
}

/// What we have beyond the list: the embedded database (spec: crds 5.4), and the second phase of
/// mode Resource (spec: extraction 7).
const std::set<std::string> kAdditions = {"KollectClusterScope\tspec.allowResourceExport",
                                          "KollectDatabaseSink\tspec.sqlite",
                                          "KollectDatabaseSink\tspec.sqlite.path",
                                          "KollectDatabaseSink\tspec.sqlite.table",
                                          "KollectProfile\tspec.export.prune.jqPathExpressions",
                                          "KollectProfile\tspec.export.prune.preset",
                                          "KollectScope\tspec.allowResourceExport"};

TEST(CrdFields, EveryRowOfTheListIsGenerated) {
  Rows expected = expected_rows();
  ASSERT_EQ(expected.size(), 582U);
  std::string& types = expected["KollectDatabaseSink\tspec.type"];
  ASSERT_TRUE(types.ends_with("|mongodb")) << types;
  types += "|sqlite";
  std::string& stores = expected["KollectSnapshotSink\tspec.type"];
  ASSERT_TRUE(stores.ends_with("|gcs")) << stores;
  stores += "|azureblob";
  const Rows generated = generated_rows();
  for (const auto& [field, facts] : expected) {
    const auto found = generated.find(field);
    ASSERT_NE(found, generated.end()) << "missing: " << field;
    EXPECT_EQ(found->second, facts) << field;
  }
}

TEST(CrdFields, NothingBeyondTheList) {
  const Rows expected = expected_rows();
  for (const auto& [field, facts] : generated_rows()) {
    EXPECT_TRUE(expected.contains(field) || kAdditions.contains(field)) << field << ": " << facts;
  }
}

}  // namespace
}  // namespace kollect::api
