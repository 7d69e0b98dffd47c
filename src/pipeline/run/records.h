// Records on stdout (spec: pipeline 8.2).
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/result.h"
#include "inventory/envelope.h"

namespace kollect::pipeline {

enum class RecordFormat { kNdjson, kYaml, kJson, kRows };
/// "ndjson", "yaml", "json", "rows", exact.
base::Result<RecordFormat> parse_record_format(std::string_view text);

/// One context and target. Borrowed for the call.
struct Record {
  std::string_view context;
  std::string_view target_namespace;
  std::string_view target_name;
  std::string_view path;
  const inventory::RowSet* rows = nullptr;
  inventory::EnvelopeMeta meta;
  const std::vector<std::string>* denied_namespaces = nullptr;  ///< left out when empty
};

/// Writes records as they come; `json` holds them back until finish(), since it is one array.
class RecordWriter {
 public:
  RecordWriter(std::FILE* out, RecordFormat format) : out_(out), format_(format) {}
  /// Error with reason "stdout-closed" (nobody reads on) or "stdout" (full disk and the like).
  base::Result<> write(const Record& record);
  base::Result<> finish();

 private:
  base::Result<> put(std::string_view text);
  base::Result<> write_rows(const Record& record);
  base::Result<> write_compact(const Record& record);

  std::FILE* out_;
  RecordFormat format_;
  std::string array_;  ///< json: the records so far, compact
};

}  // namespace kollect::pipeline
