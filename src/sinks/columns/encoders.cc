#include "sinks/columns/encoders.h"

#include <string_view>
#include <utility>

#include "sinks/columns/csv.h"

namespace kollect::sinks::columns {

namespace {

class CsvEncoder final : public objects::Encoder {
 public:
  explicit CsvEncoder(objects::EncoderSettings settings) : settings_(std::move(settings)) {}
  [[nodiscard]] std::string_view extension() const override { return ".csv"; }
  [[nodiscard]] std::string_view content_type() const override { return "text/csv; charset=utf-8"; }
  [[nodiscard]] bool timed() const override { return true; }

  base::Result<> write(const objects::Document& document, const ChunkFn& out) const override {
    return write_csv(table_of(document, settings_), out);
  }
  base::Result<> read(std::string_view bytes, inventory::RowSet& into) const override {
    return read_csv(bytes, into);
  }

 private:
  objects::EncoderSettings settings_;
};

class ParquetEncoder final : public objects::Encoder {
 public:
  ParquetEncoder(objects::EncoderSettings settings, ParquetSettings parquet)
      : settings_(std::move(settings)), parquet_(std::move(parquet)) {}
  [[nodiscard]] std::string_view extension() const override { return ".parquet"; }
  [[nodiscard]] std::string_view content_type() const override {
    return "application/vnd.apache.parquet";
  }
  [[nodiscard]] bool timed() const override { return true; }
  [[nodiscard]] bool compresses() const override { return true; }
  [[nodiscard]] std::string_view default_template() const override {
    return "inventory/cluster={cluster}/ns={namespace}/name={name}/generation={generation}.parquet";
  }

  base::Result<> write(const objects::Document& document, const ChunkFn& out) const override {
    return write_parquet(table_of(document, settings_), parquet_, out);
  }
  base::Result<> read(std::string_view bytes, inventory::RowSet& into) const override {
    return read_parquet(bytes, parquet_, into);
  }

 private:
  objects::EncoderSettings settings_;
  ParquetSettings parquet_;
};

}  // namespace

Table table_of(const objects::Document& document, const objects::EncoderSettings& settings) {
  const Export& exp = *document.exp;
  return {.rows = exp.rows,
          .first = document.first,
          .last = document.last,
          .cluster = exp.cluster,
          .inventory_namespace = exp.inventory.ns,
          .inventory_name = exp.inventory.name,
          .generation = exp.generation,
          .part_index = document.part_index.value_or(0),
          .part_total = document.part_total.value_or(0),
          .exported_at = document.exported_at,
          .columns = schema(
              settings.hot_attributes.empty() ? default_hot_attributes() : settings.hot_attributes,
              settings.typed ? exp.attribute_types : std::map<std::string, std::string>())};
}

std::shared_ptr<const objects::Encoder> make_csv_encoder(objects::EncoderSettings settings) {
  return std::make_shared<CsvEncoder>(std::move(settings));
}

base::Result<std::shared_ptr<const objects::Encoder>> make_parquet_encoder(
    objects::EncoderSettings settings, ParquetSettings parquet) {
  KL_ASSIGN(parquet.codec, parquet_codec(settings.compression));
  return std::make_shared<ParquetEncoder>(std::move(settings), std::move(parquet));
}

}  // namespace kollect::sinks::columns
