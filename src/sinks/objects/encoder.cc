#include "sinks/objects/encoder.h"

#include <fmt/format.h>

#include "base/json/document.h"
#include "base/strings.h"
#include "inventory/envelope_items.h"
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
    const auto& rows = *document.exp->rows;
    auto known = document;
    if (known.rows_checksum.empty()) {
      known.rows_checksum = inventory::items_checksum(rows, document.first, document.last);
    }
    KL_TRY(out(head(known)));
    KL_TRY(inventory::repeat_items(rows, document.first, document.last, out));
    return out(inventory::kEnvelopeEnd);
  }

  [[nodiscard]] bool has_head() const override { return true; }
  [[nodiscard]] std::string head(const Document& document) const override {
    auto meta = envelope_meta(*document.exp);
    meta.exported_at = document.exported_at;
    meta.part_index = document.part_index;
    meta.part_total = document.part_total;
    return inventory::envelope_head(document.rows_checksum, document.last - document.first, meta);
  }
  base::Result<std::string> write_rows(const Document& document,
                                       const ChunkFn& out) const override {
    KL_ASSIGN(auto checksum,
              inventory::write_items(*document.exp->rows, document.first, document.last, out));
    KL_TRY(out(inventory::kEnvelopeEnd));
    return checksum;
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
