#include "readapi/page_body.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/hash.h"
#include "base/json/write.h"
#include "inventory/row.h"

namespace kollect::readapi {
namespace {

constexpr std::size_t kPiece = 64U << 10U;
/// More attributes than these share one column.
constexpr std::size_t kMostAttributeColumns = 500;

void log_cut(const base::Logger* log, const base::Error& error) {
  if (log != nullptr) {
    log->warn("an answer of the read API is cut short", {{"error", error.message}});
  }
}

}  // namespace

/// As RowSet::checksum() (spec: sinks 2.3), of rows that come one by one.
class PageChecksum {
 public:
  void add(const inventory::RowView& row, std::string_view json) {
    text_ = first_ ? "[" : ",";
    first_ = false;
    if (json.empty()) {
      inventory::append_row_json(text_, row);
    } else {
      text_ += json;
    }
    hash_.update(text_);
  }
  std::string finish() {
    hash_.update(first_ ? "[]" : "]");
    return hash_.finish_hex();
  }

 private:
  base::Sha256 hash_;
  std::string text_;
  bool first_ = true;
};

SummaryWriter::SummaryWriter(std::unique_ptr<RowCursor> rows, SummaryFrame frame,
                             std::vector<std::string> fields)
    : rows_(std::move(rows)),
      frame_(std::move(frame)),
      items_(std::move(fields)),
      checksum_(std::make_unique<PageChecksum>()) {}
SummaryWriter::~SummaryWriter() = default;
SummaryWriter::SummaryWriter(SummaryWriter&&) noexcept = default;

void SummaryWriter::head(std::string& out) const {
  out += "{\"schemaVersion\":\"kollect.dev/v1alpha1\"";
  if (!frame_.ns.empty()) {
    out += ",\"namespace\":";
    base::json::append_string(out, frame_.ns);
  }
  if (!frame_.inventory.empty()) {
    out += ",\"inventory\":";
    base::json::append_string(out, frame_.inventory);
  }
  out += ",\"items\":[";
}

void SummaryWriter::tail(std::string& out) {
  out += fmt::format("],\"itemCount\":{},\"updatedAt\":\"{}\"", count_,
                     base::format_rfc3339_seconds(rows_->updated_at()));
  const std::uint64_t total = rows_->total();
  if (total > 0) {
    // Not by a sum: an offset may be as large as numbers go.
    const bool more = frame_.offset < total && total - frame_.offset > count_;
    out += fmt::format(
        ",\"pagination\":{{\"limit\":{},\"offset\":{},\"total\":{}{},\"hasMore\":{}}}",
        frame_.limit, frame_.offset, total, rows_->at_least() ? ",\"atLeast\":true" : "", more);
  }
  if (!frame_.exports.empty()) out += ",\"exportStatus\":" + frame_.exports;
  out += ",\"checksum\":\"" + checksum_->finish() + "\"}";
}

base::Result<bool> SummaryWriter::next(std::string& out) {
  const std::size_t before = out.size();
  if (!begun_) head(out);
  begun_ = true;
  while (out.size() - before < kPiece) {
    KL_ASSIGN(const std::optional<SourceRow> row, rows_->next());
    if (!row) {
      tail(out);
      return false;
    }
    if (count_++ > 0) out += ',';
    const std::size_t at = out.size();
    items_.append(out, *row);
    checksum_->add(row->row,
                   items_.plain(*row) ? std::string_view(out).substr(at) : std::string_view());
  }
  return true;
}

namespace {

class SummaryBody final : public http::BodySource {
 public:
  SummaryBody(SummaryWriter writer, const base::Logger* log)
      : writer_(std::move(writer)), log_(log) {}

  Pull pull(std::string& out) override {
    const auto more = writer_.next(out);
    if (!more) {
      log_cut(log_, more.error());
      return {.next = Next::kCut};
    }
    if (*more) return {.next = Next::kMore};
    out += '\n';
    return {.next = Next::kEnd};
  }

 private:
  SummaryWriter writer_;
  const base::Logger* log_;
};

void append_cell(std::string& out, std::string_view text) {
  if (base::csv_needs_quotes(text)) {
    base::append_csv_quoted(out, text);
  } else {
    out += text;
  }
}

class ExportBody final : public http::BodySource {
 public:
  ExportBody(std::unique_ptr<RowCursor> rows, ExportPlan plan, const base::Logger* log)
      : rows_(std::move(rows)), plan_(std::move(plan)), items_(plan_.fields), log_(log) {}

  Pull pull(std::string& out) override {
    const auto more = next(out);
    if (more) return {.next = *more ? Next::kMore : Next::kEnd};
    log_cut(log_, more.error());
    return {.next = Next::kCut};
  }

 private:
  using Format = ExportPlan::Format;

  base::Result<bool> next(std::string& out) {
    if (!begun_) KL_TRY(begin(out));
    begun_ = true;
    while (out.size() < kPiece) {
      KL_ASSIGN(const std::optional<SourceRow> row, rows_->next());
      if (!row) {
        if (plan_.format == Format::kJson) out += "]\n";
        return false;
      }
      append(out, *row);
      any_ = true;
    }
    return true;
  }

  base::Result<> begin(std::string& out) {
    if (plan_.format == Format::kJson) out += '[';
    if (plan_.format != Format::kCsv) return {};
    KL_TRY(find_columns());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) out += ',';
      append_cell(out, columns_[i]);
    }
    out += "\r\n";
    return {};
  }

  /// The columns that were asked for; else those of the rows, and of all their attributes.
  base::Result<> find_columns() {
    if (!plan_.fields.empty()) {
      columns_ = plan_.fields;
      return {};
    }
    KL_ASSIGN(const std::unique_ptr<RowCursor> rows, plan_.again());
    std::set<std::string, std::less<>> attributes;
    bool origin = false;
    while (true) {
      KL_ASSIGN(const std::optional<SourceRow> row, rows->next());
      if (!row) break;
      origin = origin || !row->cluster.empty() || !row->inventory.empty();
      reader_.at(*row);
      const auto all = reader_.attributes();
      if (!all || attributes.size() > kMostAttributeColumns) continue;
      for (const auto& member : all->members()) {
        if (!attributes.contains(member.key)) attributes.emplace(member.key);
      }
    }
    if (origin) columns_ = {"cluster", "inventoryNamespace", "inventory", "exportedAt"};
    for (const char* column : {"targetNamespace", "targetName", "namespace", "name", "group",
                               "version", "kind", "uid"}) {
      columns_.emplace_back(column);
    }
    if (attributes.size() > kMostAttributeColumns) {
      columns_.emplace_back("attributes");
      return {};
    }
    for (const std::string& name : attributes) columns_.push_back("attributes." + name);
    return {};
  }

  void append(std::string& out, const SourceRow& row) {
    switch (plan_.format) {
      case Format::kJson:
        if (any_) out += ',';
        items_.append(out, row);
        return;
      case Format::kNdjson:
        items_.append(out, row);
        out += '\n';
        return;
      case Format::kCsv:
        break;
    }
    reader_.at(row);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) out += ',';
      append_cell(out, reader_.text(columns_[i]));
    }
    out += "\r\n";
  }

  std::unique_ptr<RowCursor> rows_;
  ExportPlan plan_;
  ItemWriter items_;
  ColumnReader reader_;
  std::vector<std::string> columns_;
  const base::Logger* log_;
  bool begun_ = false;
  bool any_ = false;
};

}  // namespace

std::shared_ptr<http::BodySource> summary_body(std::unique_ptr<RowCursor> rows, SummaryFrame frame,
                                               std::vector<std::string> fields,
                                               const base::Logger* log) {
  return std::make_shared<SummaryBody>(
      SummaryWriter(std::move(rows), std::move(frame), std::move(fields)), log);
}

std::shared_ptr<http::BodySource> export_body(std::unique_ptr<RowCursor> rows, ExportPlan plan,
                                              const base::Logger* log) {
  return std::make_shared<ExportBody>(std::move(rows), std::move(plan), log);
}

}  // namespace kollect::readapi
