#include "pipeline/query.h"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "base/csv.h"
#include "base/hash.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "sinks/sqlite/database.h"

namespace kollect::pipeline {

namespace {

using sinks::sqlite::Database;
using sinks::sqlite::Statement;

/// So many rows decide the widths of a table's columns; later ones may stand out.
constexpr std::size_t kRowsForWidths = 1000;

constexpr std::string_view kOverview = R"sql(
SELECT m.type, m.name, group_concat(c.name, ', ') AS columns
FROM sqlite_master m JOIN pragma_table_info(m.name) c
WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%'
GROUP BY m.type, m.name ORDER BY m.type DESC, m.name)sql";

class Output {
 public:
  explicit Output(std::FILE* file) : file_(file) {}
  base::Result<> write(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) {
      return base::terminal("cannot write the output");
    }
    return {};
  }

 private:
  std::FILE* file_;
};

std::string real_text(double value) {
  std::string text;
  if (std::isfinite(value)) {
    base::json::append_double(text, value);
  } else {
    text = value > 0 ? "Inf" : "-Inf";
  }
  return text;
}

std::string cell_text(const Statement& statement, int column) {
  switch (statement.type(column)) {
    case Statement::Type::kNull:
      return {};
    case Statement::Type::kInteger:
      return std::to_string(statement.integer(column));
    case Statement::Type::kReal:
      return real_text(statement.real(column));
    case Statement::Type::kText:
      return std::string(statement.text(column));
    case Statement::Type::kBlob:
      return base::base64_encode(statement.text(column));
  }
  return {};
}

/// Columns on a terminal: wide characters of East Asian scripts and emoji take two, combining marks
/// none.
std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    const std::string_view bytes = text.substr(at, length);
    at += length;
    const bool combining = bytes >= "\xCC\x80" && bytes <= "\xCD\xAF";
    const bool wide = (length == 3 && ((bytes >= "\xE1\x84\x80" && bytes <= "\xE1\x85\x9F") ||
                                       (bytes >= "\xE2\xBA\x80" && bytes <= "\xEA\x93\x8F") ||
                                       (bytes >= "\xEA\xB0\x80" && bytes <= "\xED\x9E\xA3") ||
                                       (bytes >= "\xEF\xBC\x80" && bytes <= "\xEF\xBD\xA0"))) ||
                      (length == 4 && bytes >= "\xF0\x9F\x8C\x80");
    width += combining ? 0 : wide ? 2 : 1;
  }
  return width;
}

/// One line of printable text, cut to the width.
std::string table_cell(std::string_view text, std::size_t most) {
  std::string clean;
  for (const char c : base::sanitize_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      clean += "\\n";
    } else if (c == '\t') {
      clean += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      clean += fmt::format("\\x{:02x}", byte);
    } else {
      clean += c;
    }
  }
  if (most == 0 || display_width(clean) <= most) {
    return clean;
  }
  std::string_view cut = clean;
  while (display_width(cut) + 1 > most) {
    cut = base::cut_utf8(cut, cut.size() - 1);
  }
  return std::string(cut) + "\xE2\x80\xA6";
}

using Row = std::vector<std::string>;

class TableWriter {
 public:
  TableWriter(Output out, const Statement& statement, std::size_t max_cell_width)
      : out_(out), statement_(statement), max_cell_width_(max_cell_width) {}

  base::Result<> row() {
    Row cells;
    for (int i = 0; i < statement_.columns(); ++i) {
      const auto type = statement_.type(i);
      number_.resize(static_cast<std::size_t>(statement_.columns()), true);
      number_[static_cast<std::size_t>(i)] = number_[static_cast<std::size_t>(i)] &&
                                             type != Statement::Type::kText &&
                                             type != Statement::Type::kBlob;
      cells.push_back(table_cell(cell_text(statement_, i), max_cell_width_));
    }
    ++count_;
    if (widths_.empty() && waiting_.size() < kRowsForWidths) {
      waiting_.push_back(std::move(cells));
      return {};
    }
    KL_TRY(flush());
    return line(cells);
  }

  base::Result<> finish() {
    KL_TRY(flush());
    return out_.write(fmt::format("({} {})\n", count_, count_ == 1 ? "row" : "rows"));
  }

 private:
  /// Head and the rows that waited for the widths.
  base::Result<> flush() {
    if (!widths_.empty()) {
      return {};
    }
    Row head;
    for (int i = 0; i < statement_.columns(); ++i) {
      head.push_back(table_cell(statement_.column_name(i), max_cell_width_));
      widths_.push_back(display_width(head.back()));
    }
    for (const Row& row : waiting_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        widths_[i] = std::max(widths_[i], display_width(row[i]));
      }
    }
    number_.resize(widths_.size(), true);
    KL_TRY(line(head));
    Row rule;
    for (const std::size_t width : widths_) {
      rule.emplace_back(width, '-');
    }
    KL_TRY(line(rule));
    for (const Row& row : waiting_) {
      KL_TRY(line(row));
    }
    waiting_.clear();
    return {};
  }

  base::Result<> line(const Row& cells) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::size_t width = display_width(cells[i]);
      const std::string pad(widths_[i] > width ? widths_[i] - width : 0, ' ');
      text += i == 0 ? "" : "  ";
      text += number_[i] ? pad + cells[i] : cells[i] + pad;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return out_.write(text + "\n");
  }

  Output out_;
  const Statement& statement_;
  std::size_t max_cell_width_;
  std::vector<Row> waiting_;
  std::vector<std::size_t> widths_;
  std::vector<bool> number_;
  std::uint64_t count_ = 0;
};

void append_json_cell(std::string& out, const Statement& statement, int column, bool expand) {
  switch (statement.type(column)) {
    case Statement::Type::kNull:
      out += "null";
      return;
    case Statement::Type::kInteger:
      out += std::to_string(statement.integer(column));
      return;
    case Statement::Type::kReal:
      out += std::isfinite(statement.real(column)) ? real_text(statement.real(column)) : "null";
      return;
    case Statement::Type::kBlob:
      base::json::append_string(out, base::base64_encode(statement.text(column)));
      return;
    case Statement::Type::kText:
      break;
  }
  const std::string_view text = statement.text(column);
  if (expand && (text.starts_with('{') || text.starts_with('['))) {
    if (const auto document = base::json::Document::parse_borrowed(text)) {
      base::json::append_compact(out, document->root());
      return;
    }
  }
  base::json::append_string(out, text);
}

std::string csv_cell(std::string_view text) {
  if (!base::csv_needs_quotes(text)) return std::string(text);
  std::string out;
  base::append_csv_quoted(out, text);
  return out;
}

/// Calls `row` for every row of the result.
base::Result<std::uint64_t> for_each_row(Statement& statement,
                                         const std::function<base::Result<>()>& row) {
  std::uint64_t count = 0;
  while (true) {
    KL_ASSIGN(const bool more, statement.step());
    if (!more) {
      return count;
    }
    ++count;
    KL_TRY(row());
  }
}

base::Result<std::uint64_t> write_table(Statement& statement, const QueryOptions& options,
                                        Output out) {
  TableWriter table(out, statement, options.max_cell_width);
  KL_ASSIGN(const std::uint64_t count, for_each_row(statement, [&] { return table.row(); }));
  KL_TRY(table.finish());
  return count;
}

base::Result<std::uint64_t> write_json(Statement& statement, const QueryOptions& options,
                                       Output out) {
  bool first = true;
  KL_ASSIGN(const std::uint64_t count, for_each_row(statement, [&]() -> base::Result<> {
              std::string line = std::exchange(first, false) ? "[\n{" : ",\n{";
              for (int i = 0; i < statement.columns(); ++i) {
                line += i == 0 ? "" : ",";
                base::json::append_string(line, statement.column_name(i));
                line += ':';
                append_json_cell(line, statement, i, options.expand_json);
              }
              return out.write(line + "}");
            }));
  KL_TRY(out.write(first ? "[]\n" : "\n]\n"));
  return count;
}

base::Result<std::uint64_t> write_csv(Statement& statement, Output out) {
  const auto line = [&](auto&& cell) -> base::Result<> {
    std::string text;
    for (int i = 0; i < statement.columns(); ++i) {
      text += (i == 0 ? "" : ",") + csv_cell(cell(i));
    }
    return out.write(text + "\n");
  };
  KL_TRY(line([&](int i) { return statement.column_name(i); }));
  return for_each_row(statement,
                      [&] { return line([&](int i) { return cell_text(statement, i); }); });
}

base::Result<Statement> prepare(Database& database, std::string_view sql) {
  std::string_view rest;
  KL_ASSIGN(Statement statement, database.prepare(sql, &rest));
  if (statement.columns() == 0 || !statement.read_only()) {
    return base::configuration("the statement does not read: use SELECT");
  }
  std::string_view tail = base::trim(rest);
  while (tail.starts_with(';')) {
    tail = base::trim(tail.substr(1));
  }
  if (!tail.empty() && !tail.starts_with("--")) {
    return base::configuration(
        fmt::format("one statement at a time; \"{}\" is too much", base::cut_utf8(tail, 40)));
  }
  return statement;
}

}  // namespace

base::Result<QueryFormat> parse_query_format(std::string_view text) {
  if (text == "table") {
    return QueryFormat::kTable;
  }
  if (text == "json") {
    return QueryFormat::kJson;
  }
  if (text == "csv") {
    return QueryFormat::kCsv;
  }
  return base::configuration(
      fmt::format("\"{}\" is not an output format; use table, json or csv", text));
}

base::Result<std::uint64_t> run_query(const base::Context& context, const QueryOptions& options,
                                      std::FILE* out) {
  KL_ASSIGN(Database database, Database::open_for_reading(options.file, std::chrono::seconds(5)));
  database.watch(&context);
  const bool overview = base::trim(options.sql).empty();
  KL_ASSIGN(Statement statement,
            prepare(database, overview ? kOverview : std::string_view(options.sql)));
  base::Result<std::uint64_t> count = 0;
  switch (options.format) {
    case QueryFormat::kTable:
      count = write_table(statement, options, Output(out));
      break;
    case QueryFormat::kJson:
      count = write_json(statement, options, Output(out));
      break;
    case QueryFormat::kCsv:
      count = write_csv(statement, Output(out));
      break;
  }
  KL_TRY(context.check());
  return count;
}

}  // namespace kollect::pipeline
