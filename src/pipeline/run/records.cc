#include "pipeline/run/records.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/json/document.h"
#include "base/json/write.h"
#include "base/yaml/write.h"

namespace kollect::pipeline {
namespace {

using base::json::append_string;

using Piece = std::function<base::Result<>(std::string_view)>;

std::string head_of(const Record& record) {
  std::string out;
  const auto member = [&](std::string_view key, std::string_view value) {
    out += key;
    append_string(out, value);
  };
  member("{\"context\":", record.context);
  member(",\"targetNamespace\":", record.target_namespace);
  member(",\"targetName\":", record.target_name);
  member(",\"path\":", record.path);
  return out + ",\"envelope\":";
}

std::string tail_of(const Record& record) {
  if (record.denied_namespaces == nullptr || record.denied_namespaces->empty()) return "}";
  std::string out = ",\"incomplete\":{\"deniedNamespaces\":[";
  for (std::size_t i = 0; i < record.denied_namespaces->size(); ++i) {
    if (i > 0) out += ',';
    append_string(out, (*record.denied_namespaces)[i]);
  }
  return out + "]}}";
}

base::Result<> compact_record(const Record& record, const Piece& put) {
  KL_TRY(put(head_of(record)));
  KL_TRY(inventory::stream_envelope(*record.rows, record.meta, put));
  return put(tail_of(record));
}

}  // namespace

base::Result<RecordFormat> parse_record_format(std::string_view text) {
  if (text == "ndjson") return RecordFormat::kNdjson;
  if (text == "yaml") return RecordFormat::kYaml;
  if (text == "json") return RecordFormat::kJson;
  if (text == "rows") return RecordFormat::kRows;
  return base::configuration(fmt::format("--format {} is none of ndjson, yaml, json, rows", text));
}

namespace {

/// Reason "stdout-closed" when nobody reads on, which is no trouble worth a line.
base::Error write_error() {
  const int code = errno;
  return base::terminal(fmt::format("stdout: {}", std::strerror(code)),
                        code == EPIPE ? "stdout-closed" : "stdout");
}

}  // namespace

base::Result<> RecordWriter::put(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), out_) == text.size()) return {};
  return write_error();
}

base::Result<> RecordWriter::write_rows(const Record& record) {
  std::string line = "{\"context\":";
  append_string(line, record.context);
  const std::size_t head = line.size();
  return record.rows->for_each([&](const inventory::RowView& row) -> base::Result<> {
    line.resize(head);
    inventory::append_row_json(line, row);
    line[head] = ',';  // in place of the row's own brace
    line += '\n';
    return put(line);
  });
}

base::Result<> RecordWriter::write_compact(const Record& record) {
  KL_TRY(compact_record(record, [&](std::string_view piece) { return put(piece); }));
  return put("\n");
}

base::Result<> RecordWriter::write(const Record& record) {
  if (format_ == RecordFormat::kRows) {
    KL_TRY(write_rows(record));
  } else if (format_ == RecordFormat::kNdjson) {
    KL_TRY(write_compact(record));
  } else {
    std::string text;
    KL_TRY(compact_record(record, [&](std::string_view piece) -> base::Result<> {
      text += piece;
      return {};
    }));
    if (format_ == RecordFormat::kJson) {
      array_ += (array_.empty() ? "[" : ",") + text;
      return {};
    }
    KL_ASSIGN(const auto document, base::json::Document::parse_borrowed(text));
    KL_TRY(put("---\n"));
    KL_TRY(put(base::yaml::write(document.root())));
  }
  // A reader sees each record as soon as it is complete.
  if (std::fflush(out_) != 0) {
    return write_error();
  }
  return {};
}

base::Result<> RecordWriter::finish() {
  if (format_ != RecordFormat::kJson) return {};
  const std::string array = array_.empty() ? "[]" : array_ + "]";
  KL_ASSIGN(const auto document, base::json::Document::parse_borrowed(array));
  KL_TRY(put(base::json::pretty(document.root())));
  if (std::fflush(out_) != 0) {
    return write_error();
  }
  return {};
}

}  // namespace kollect::pipeline
