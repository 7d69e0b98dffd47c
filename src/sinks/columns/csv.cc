#include "sinks/columns/csv.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "base/json/write.h"

namespace kollect::sinks::columns {

namespace {

constexpr std::size_t kPiece = 64UL << 10;

/// Text without quotes is never empty: that is a value that is not there.
void append_text(std::string& out, std::string_view text) {
  const bool plain =
      !text.empty() && !base::csv_needs_quotes(text) && text.front() != ' ' && text.back() != ' ';
  if (plain) {
    out += text;
  } else {
    base::append_csv_quoted(out, text);
  }
}

void append_time(std::string& out, std::int64_t since_1970) {
  const std::chrono::sys_time<std::chrono::microseconds> time{
      std::chrono::microseconds(since_1970)};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  fmt::format_to(std::back_inserter(out), "{:%Y-%m-%dT%H:%M:%S}.{:06}Z",
                 fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                 (time - seconds).count());
}

void append_cell(std::string& out, Type type, const Cell& cell) {
  if (cell.null) return;
  switch (type) {
    case Type::kText:
    case Type::kJson:
      append_text(out, cell.text);
      break;
    case Type::kInteger:
      out += fmt::to_string(cell.integer);
      break;
    case Type::kDouble:
      base::json::append_double(out, cell.number);
      break;
    case Type::kBoolean:
      out += cell.truth ? "true" : "false";
      break;
    case Type::kTime:
      append_time(out, cell.integer);
      break;
  }
}

base::Error bad_text(std::string_view what) {
  return base::configuration(fmt::format("no CSV of an inventory: {}", what), "bad-payload");
}

/// Takes a text apart into lines of fields.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text) {}

  /// False at the end.
  base::Result<bool> next(std::vector<std::string>& fields) {
    fields.clear();
    if (at_ == text_.size()) return false;
    for (;;) {
      KL_ASSIGN(auto field, take());
      fields.push_back(std::move(field));
      if (at_ == text_.size()) return true;
      const char end = text_[at_++];
      if (end == '\n') return true;
      if (end != ',') return bad_text("a quote is followed by more text");
    }
  }

 private:
  base::Result<std::string> take() {
    if (at_ == text_.size() || text_[at_] != '"') {
      const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
      std::string out(text_.substr(at_, end - at_));
      at_ = end;
      return out;
    }
    std::string out;
    for (++at_;;) {
      const std::size_t quote = text_.find('"', at_);
      if (quote == std::string_view::npos) return bad_text("a quote does not end");
      out += text_.substr(at_, quote - at_);
      at_ = quote + 1;
      if (at_ == text_.size() || text_[at_] != '"') return out;
      out += '"';
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

base::Result<> write_csv(const Table& table, const ChunkFn& out) {
  std::string piece;
  piece.reserve(kPiece + 4096);
  for (const Column& column : table.columns) {
    if (!piece.empty()) piece += ',';
    append_text(piece, column.name);
  }
  piece += '\n';
  CellReader reader(table);
  KL_TRY(table.rows->for_range(table.first, table.last,
                               [&](const inventory::RowView& row) -> base::Result<> {
                                 const auto& cells = reader.fill(row);
                                 for (std::size_t i = 0; i < cells.size(); ++i) {
                                   if (i > 0) piece += ',';
                                   append_cell(piece, table.columns[i].type, cells[i]);
                                 }
                                 piece += '\n';
                                 if (piece.size() < kPiece) return {};
                                 KL_TRY(out(piece));
                                 piece.clear();
                                 return {};
                               }));
  return piece.empty() ? base::Result<>{} : out(piece);
}

base::Result<> read_csv(std::string_view text, inventory::RowSet& into) {
  LineReader lines(text);
  std::vector<std::string> fields;
  KL_ASSIGN(const bool any, lines.next(fields));
  if (!any) return bad_text("no header line");
  std::array<std::size_t, kRowColumns.size()> places{};
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto found = std::find(fields.begin(), fields.end(), kRowColumns[i]);
    if (found == fields.end()) return bad_text(fmt::format("no column {}", kRowColumns[i]));
    places[i] = static_cast<std::size_t>(found - fields.begin());
  }
  const std::size_t width = fields.size();
  for (;;) {
    KL_ASSIGN(const bool more, lines.next(fields));
    if (!more) return {};
    if (fields.size() != width) return bad_text("lines differ in length");
    RowCells cells;
    for (std::size_t i = 0; i < places.size(); ++i) cells[i] = fields[places[i]];
    into.add(row_of(cells));
  }
}

}  // namespace kollect::sinks::columns
