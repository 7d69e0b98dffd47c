#include "pipeline/diff/snapshot.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/json/document.h"
#include "base/strings.h"
#include "base/yaml/read.h"
#include "sinks/sqlite/database.h"
#include "sinks/sqlite/sqlite_sink.h"

namespace kollect::pipeline {

namespace {

namespace fs = std::filesystem;
using base::json::Value;
using sinks::sqlite::Database;
using sinks::sqlite::Statement;

constexpr std::string_view kSqliteMagic{"SQLite format 3\0", 16};

std::string member(const Value& object, std::string_view key) {
  return std::string(object.text(key));
}

bool is_row(const Value& value) {
  const Value* attributes = value.find("attributes");
  return attributes != nullptr && (attributes->is_object() || attributes->is_null()) &&
         value.find("targetName") != nullptr && value.find("kind") != nullptr &&
         value.find("name") != nullptr;
}

SnapshotRow row_of(const Value& value, const std::string& cluster) {
  SnapshotRow row;
  row.cluster = cluster;
  for (const char* key : {"cluster", "context"}) {  // lines of `collect --output - --format rows`
    if (row.cluster.empty()) {
      row.cluster = member(value, key);
    }
  }
  row.target_namespace = member(value, "targetNamespace");
  row.target_name = member(value, "targetName");
  row.ns = member(value, "namespace");
  row.name = member(value, "name");
  row.group = member(value, "group");
  row.version = member(value, "version");
  row.kind = member(value, "kind");
  row.uid = member(value, "uid");
  row.attributes = *value.find("attributes");
  return row;
}

/// A whole object, as trees of manifests hold it.
bool is_manifest(const Value& value) {
  return !value.text("apiVersion").empty() && !value.text("kind").empty() &&
         value.find("metadata") != nullptr;
}

SnapshotRow manifest_of(const Value& value, const std::string& path) {
  SnapshotRow row;
  const std::string api_version = member(value, "apiVersion");
  const auto slash = api_version.find('/');
  row.group = slash == std::string::npos ? std::string() : api_version.substr(0, slash);
  row.version = slash == std::string::npos ? api_version : api_version.substr(slash + 1);
  row.kind = member(value, "kind");
  const Value& metadata = *value.find("metadata");
  row.ns = member(metadata, "namespace");
  row.name = member(metadata, "name");
  row.uid = member(metadata, "uid");
  row.path = path;
  row.attributes = value;
  return row;
}

/// Split index or set manifest: says where the rows are, holds none.
bool is_index(const Value& value) {
  return !value.text("schemaVersion").empty() && value.find("items") == nullptr &&
         value.find("paths") != nullptr;
}

/// What `collect --output -` writes per target.
bool is_record(const Value& value) {
  const Value* envelope = value.find("envelope");
  return envelope != nullptr && envelope->is_object() && value.find("context") != nullptr;
}

/// Collects the rows of files and databases.
class Loader {
 public:
  explicit Loader(const base::Context& context) : context_(context) {}

  base::Result<> file(const fs::path& path, const std::string& relative, bool in_folder);
  base::Result<> folder(const fs::path& root);
  base::Result<> database(const fs::path& path, const std::string& table,
                          std::optional<base::WallTime> at);
  std::vector<SnapshotRow> take() { return std::move(rows_); }

 private:
  base::Result<> value(const Value& value, const std::string& where, bool in_folder);
  base::Result<> items(const Value& list, const std::string& cluster, const std::string& where);
  base::Result<> payload(std::string_view text, std::string_view cluster);

  const base::Context& context_;
  std::vector<SnapshotRow> rows_;
};

base::Result<> Loader::items(const Value& list, const std::string& cluster,
                             const std::string& where) {
  if (!list.is_array()) {
    return {};
  }
  for (const Value& item : list.as_array()) {
    if (is_row(item)) {
      rows_.push_back(row_of(item, cluster));
    } else if (is_record(item)) {
      KL_TRY(value(*item.find("envelope"), where, false));
    } else {
      return base::configuration(
          fmt::format("{}: an element of the list is no inventory row", where));
    }
  }
  return {};
}

base::Result<> Loader::value(const Value& value, const std::string& where, bool in_folder) {
  if (value.is_null()) {
    return {};
  }
  if (value.is_array()) {
    return items(value, {}, where);
  }
  if (!value.is_object()) {
    return base::configuration(fmt::format("{}: neither rows nor an export envelope", where));
  }
  if (is_row(value)) {
    rows_.push_back(row_of(value, {}));
    return {};
  }
  if (is_index(value)) {
    return {};
  }
  if (is_record(value)) {
    return this->value(*value.find("envelope"), where, false);
  }
  if (const Value* list = value.find("items");
      list != nullptr && !value.text("schemaVersion").empty()) {
    return items(*list, member(value, "cluster"), where);
  }
  if (is_manifest(value)) {
    rows_.push_back(manifest_of(value, where));
    return {};
  }
  if (!in_folder) {
    return base::configuration(fmt::format("{}: neither rows nor an export envelope", where));
  }
  SnapshotRow row;
  row.path = where;
  row.attributes = value;
  rows_.push_back(std::move(row));
  return {};
}

base::Result<> Loader::file(const fs::path& path, const std::string& relative, bool in_folder) {
  KL_TRY(context_.check());
  KL_ASSIGN(const std::string text, base::read_file(path));
  base::yaml::Limits limits = base::yaml::limits_of_dump(text);
  limits.max_depth = base::json::Document::kMaxDepth;
  std::optional<base::Error> broken;
  KL_TRY(base::yaml::read_stream(
      text, limits,
      [&](base::yaml::Document&& document) { return value(document.value, relative, in_folder); },
      [&](const base::yaml::Problem& problem) {
        if (!broken) {
          broken = base::configuration(fmt::format(
              "{}: document {}, line {}, column {}: {}", path.string(), problem.document,
              problem.place.line, problem.place.column, problem.message));
        }
      }));
  if (broken) {
    return *broken;
  }
  return {};
}

base::Result<> Loader::folder(const fs::path& root) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator at(root, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.')) {  // .git, our own manifest
      if (at->is_directory(error)) {
        at.disable_recursion_pending();
      }
      continue;
    }
    const std::string extension = at->path().extension().string();
    const bool data = extension == ".yaml" || extension == ".yml" || extension == ".json" ||
                      extension == ".ndjson";
    if (data && at->is_regular_file(error)) {
      files.push_back(at->path());
    }
  }
  if (error) {
    return base::terminal(fmt::format("cannot read folder {}: {}", root.string(), error.message()));
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& path : files) {
    KL_TRY(file(path, path.lexically_relative(root).generic_string(), true));
  }
  return {};
}

base::Result<> Loader::payload(std::string_view text, std::string_view cluster) {
  KL_ASSIGN(const auto document, base::json::Document::parse_borrowed(text));
  const Value row = base::json::to_value(document.root());
  if (!is_row(row)) {
    return base::configuration("the table's payload is no inventory row");
  }
  rows_.push_back(row_of(row, std::string(cluster)));
  return {};
}

/// Fails when the history does not reach back to `at`.
base::Result<> check_begin(Database& database, const std::string& table, const std::string& at) {
  using sinks::sqlite::quote_name;
  KL_ASSIGN(Statement first,
            database.prepare("SELECT min(valid_from) FROM " + quote_name(table + "_history")));
  KL_ASSIGN(const bool found, first.step());
  if (found && at < first.text(0)) {
    return base::configuration(fmt::format("the history begins at {}", first.text(0)));
  }
  return {};
}

base::Result<> Loader::database(const fs::path& path, const std::string& table,
                                std::optional<base::WallTime> at) {
  using sinks::sqlite::quote_name;
  KL_ASSIGN(Database database, Database::open_for_reading(path, std::chrono::seconds(5)));
  database.watch(&context_);
  std::string sql = fmt::format("SELECT cluster, payload FROM {}", quote_name(table));
  std::string moment;
  if (at) {
    moment = sinks::sqlite_time(*at);
    KL_TRY(check_begin(database, table, moment));
    sql = fmt::format(
        "SELECT cluster, payload FROM {} WHERE valid_from <= ?1 AND (valid_to IS NULL OR valid_to "
        "> ?1)",
        quote_name(table + "_history"));
  }
  KL_ASSIGN(Statement rows, database.prepare(sql));
  if (at) {
    rows.bind(1, moment);
  }
  while (true) {
    KL_ASSIGN(const bool more, rows.step());
    if (!more) {
      return {};
    }
    KL_TRY(payload(rows.text(1), rows.text(0)));
  }
}

/// "…@MOMENT": time, date, or how long ago.
base::Result<base::WallTime> read_moment(const base::Context& context, const std::string& text) {
  if (const auto time = base::parse_rfc3339(text)) {
    return *time;
  }
  if (const auto date = base::parse_rfc3339(text + "T00:00:00Z")) {
    return *date;
  }
  if (const auto ago = base::parse_duration(text)) {
    return context.clock().now() - *ago;
  }
  return base::configuration(fmt::format(
      "\"{}\" is no moment; write a time (2024-05-06T07:08:09Z), a date or how long ago (24h)",
      text));
}

bool is_sqlite(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::array<char, 16> head{};
  in.read(head.data(), head.size());
  return in.gcount() == 16 && std::string_view(head.data(), head.size()) == kSqliteMagic;
}

}  // namespace

base::Result<std::vector<SnapshotRow>> load_snapshot(const base::Context& context,
                                                     const std::string& source,
                                                     const std::string& table) {
  Loader loader(context);
  std::error_code error;
  fs::path path = source;
  std::optional<base::WallTime> at;
  if (!fs::exists(path, error)) {
    const auto sign = source.rfind('@');
    if (sign == std::string::npos || !fs::exists(source.substr(0, sign), error)) {
      return base::not_found(fmt::format("there is no file or folder {}", source));
    }
    path = source.substr(0, sign);
    KL_ASSIGN(at, read_moment(context, source.substr(sign + 1)));
  }
  if (!fs::is_directory(path, error) && is_sqlite(path)) {
    auto loaded = loader.database(path, table, at);
    if (!loaded) {
      const bool has_name = loaded.error().message.find(path.string()) != std::string::npos;
      return has_name ? loaded.error() : loaded.error().with_prefix(source);
    }
    return loader.take();
  }
  if (at) {
    return base::configuration(fmt::format("{}: only SQLite files have a history", path.string()));
  }
  if (fs::is_directory(path, error)) {
    KL_TRY(loader.folder(path));
  } else {
    KL_TRY(loader.file(path, path.string(), false));
  }
  return loader.take();
}

}  // namespace kollect::pipeline
