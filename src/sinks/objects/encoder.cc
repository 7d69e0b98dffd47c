#include "sinks/objects/encoder.h"

#include <fmt/format.h>

#include "base/json/document.h"
#include "base/strings.h"
#include "inventory/envelope.h"
#include "sinks/columns/encoders.h"
#include "sinks/layout/run_layout.h"

namespace kollect::sinks::objects {

namespace {

constexpr std::size_t kPiece = 64U << 10U;

class JsonEncoder final : public Encoder {
 public:
  [[nodiscard]] std::string_view extension() const override { return ".json"; }
  [[nodiscard]] std::string_view content_type() const override { return "application/json"; }
  [[nodiscard]] bool timed() const override { return true; }

  base::Result<> write(const Document& document, const ChunkFn& out) const override {
    auto meta = envelope_meta(*document.exp);
    meta.exported_at = document.exported_at;
    meta.part_index = document.part_index;
    meta.part_total = document.part_total;
    const auto& rows = *document.exp->rows;
    const bool whole = document.first == 0 && document.last == rows.size();
    // Below the ceiling of documents the rows are rendered once; without one they are not held.
    if (whole && document.exp->max_bytes == 0) {
      return inventory::stream_envelope(rows, meta, out);
    }
    return out(inventory::envelope_json(rows, document.first, document.last, meta));
  }

  base::Result<> read(std::string_view bytes, inventory::RowSet& into) const override {
    KL_ASSIGN(const auto rows, inventory::read_export(bytes));
    into.add_all(rows);
    return {};
  }
};

class NdjsonEncoder final : public Encoder {
 public:
  [[nodiscard]] std::string_view extension() const override { return ".ndjson"; }
  [[nodiscard]] std::string_view content_type() const override { return "application/x-ndjson"; }
  [[nodiscard]] bool timed() const override { return false; }

  base::Result<> write(const Document& document, const ChunkFn& out) const override {
    std::string piece;
    KL_TRY(document.exp->rows->for_range(document.first, document.last,
                                         [&](const inventory::RowView& row) -> base::Result<> {
                                           inventory::append_row_json(piece, row);
                                           piece += '\n';
                                           if (piece.size() < kPiece) return {};
                                           KL_TRY(out(piece));
                                           piece.clear();
                                           return {};
                                         }));
    return piece.empty() ? base::Result<>() : out(piece);
  }

  base::Result<> read(std::string_view bytes, inventory::RowSet& into) const override {
    for (const auto line : base::split(bytes, '\n')) {
      if (base::trim(line).empty()) continue;
      KL_ASSIGN(const auto row, base::json::Document::parse(line));
      KL_TRY(inventory::add_row_json(into, row.root()));
    }
    return {};
  }
};

}  // namespace

std::shared_ptr<const Encoder> make_json_encoder() {
  return std::make_shared<JsonEncoder>();
}

std::shared_ptr<const Encoder> make_ndjson_encoder() {
  return std::make_shared<NdjsonEncoder>();
}

base::Result<std::shared_ptr<const Encoder>> make_encoder(std::string_view format,
                                                          const EncoderSettings& settings) {
  const auto word = base::to_lower(base::trim(format));
  if (word.empty() || word == "json") return make_json_encoder();
  if (word == "ndjson") return make_ndjson_encoder();
  if (word == "csv") return columns::make_csv_encoder(settings);
  if (word == "parquet") return columns::make_parquet_encoder(settings);
  return base::configuration(
      fmt::format("format \"{}\" is not known; use json, csv or parquet", base::trim(format)),
      "bad-format");
}

}  // namespace kollect::sinks::objects
