#include "sinks/columns/parquet.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::sinks::columns {

namespace {

constexpr std::size_t kBatchRows = 4096;
constexpr std::size_t kBatchBytes = 2UL << 20;

KollectParquetText text_of(std::string_view text) {
  return {text.data(), text.size()};
}

KollectParquetType type_of(Type type) {
  switch (type) {
    case Type::kJson:
      return kKollectParquetJson;
    case Type::kInteger:
      return kKollectParquetInteger;
    case Type::kDouble:
      return kKollectParquetDouble;
    case Type::kBoolean:
      return kKollectParquetBoolean;
    case Type::kTime:
      return kKollectParquetTime;
    default:
      return kKollectParquetText;
  }
}

/// The same for all rows.
bool is_constant(Source source) {
  return source == Source::kCluster || source == Source::kInventoryNamespace ||
         source == Source::kInventoryName;
}

/// Of a row's own texts and of JSON hardly one is there twice.
bool is_unique(const Column& column) {
  return column.source == Source::kUid || column.source == Source::kName ||
         column.type == Type::kJson;
}

KollectParquetColumn describe(const Column& column) {
  return {.name = text_of(column.name),
          .type = type_of(column.type),
          .nullable = column.nullable,
          .dictionary = !is_unique(column),
          // Nobody looks for a range of JSON.
          .statistics = column.type != Type::kJson};
}

/// Some rows, column by column. Texts are copied into one block that does not move as long as the
/// batch has rows.
class Batch {
 public:
  explicit Batch(const std::vector<Column>& schema) : columns_(schema.size()) {
    bytes_.reserve(kBatchBytes);
    for (std::size_t i = 0; i < schema.size(); ++i) {
      make_room(columns_[i], schema[i].type);
      columns_[i].nullable = schema[i].nullable;
      columns_[i].lasts = is_constant(schema[i].source);
      columns_[i].alike = !is_unique(schema[i]);
    }
  }

  /// False when these cells need a batch of their own: flush first.
  bool take(const std::vector<Cell>& cells) {
    const std::size_t wanted = text_bytes(cells);
    if (rows_ == kBatchRows || (rows_ > 0 && bytes_.size() + wanted > bytes_.capacity())) {
      return false;
    }
    if (wanted > bytes_.capacity()) bytes_.reserve(wanted);
    for (std::size_t i = 0; i < cells.size(); ++i) add(columns_[i], cells[i]);
    ++rows_;
    return true;
  }

  [[nodiscard]] std::vector<KollectParquetValues> values() const {
    std::vector<KollectParquetValues> out;
    for (const Values& column : columns_) {
      out.push_back({.present = column.nullable ? column.present.data() : nullptr,
                     .count = column.count,
                     .texts = column.texts.data(),
                     .integers = column.integers.data(),
                     .doubles = column.doubles.data(),
                     .booleans = column.booleans.get()});
    }
    return out;
  }

  void clear() {
    for (auto& column : columns_) column.count = 0;
    bytes_.clear();
    rows_ = 0;
  }
  [[nodiscard]] std::size_t rows() const { return rows_; }

 private:
  struct Values {
    Type type = Type::kText;
    bool nullable = false;
    bool lasts = false;  ///< texts outlive the batch
    bool alike = false;  ///< neighbours often are
    std::size_t count = 0;
    std::vector<std::int16_t> present = std::vector<std::int16_t>(kBatchRows);
    // Of these the one of the type has room.
    std::vector<KollectParquetText> texts;
    std::vector<std::int64_t> integers;
    std::vector<double> doubles;
    std::unique_ptr<bool[]> booleans;
  };

  static void make_room(Values& column, Type type) {
    column.type = type;
    switch (type) {
      case Type::kText:
      case Type::kJson:
        column.texts.resize(kBatchRows);
        break;
      case Type::kInteger:
      case Type::kTime:
        column.integers.resize(kBatchRows);
        break;
      case Type::kDouble:
        column.doubles.resize(kBatchRows);
        break;
      case Type::kBoolean:
        column.booleans = std::make_unique<bool[]>(kBatchRows);
        break;
    }
  }

  [[nodiscard]] std::size_t text_bytes(const std::vector<Cell>& cells) const {
    std::size_t sum = 0;
    for (const Cell& cell : cells) sum += cell.null ? 0 : cell.text.size();
    return sum;
  }

  void add(Values& column, const Cell& cell) {
    column.present[rows_] = cell.null ? 0 : 1;
    if (cell.null) return;
    switch (column.type) {
      case Type::kText:
      case Type::kJson:
        column.texts[column.count] = keep(column, cell.text);
        break;
      case Type::kInteger:
      case Type::kTime:
        column.integers[column.count] = cell.integer;
        break;
      case Type::kDouble:
        column.doubles[column.count] = cell.number;
        break;
      case Type::kBoolean:
        column.booleans[column.count] = cell.truth;
        break;
    }
    ++column.count;
  }

  KollectParquetText keep(const Values& column, std::string_view text) {
    if (column.lasts) return text_of(text);
    if (column.alike && column.count > 0) {
      const auto& before = column.texts[column.count - 1];
      if (std::string_view(before.data, before.size) == text) return before;
    }
    const std::size_t place = bytes_.size();
    bytes_.append(text);  // take() saw to it that there is room
    return {bytes_.data() + place, text.size()};
  }

  std::vector<Values> columns_;
  std::string bytes_;
  std::size_t rows_ = 0;
};

/// The file in the module's hands.
class File {
 public:
  File(const KollectParquetModule& calls, const ChunkFn& out) : calls_(calls), out_(out) {}
  ~File() {
    if (file_ != nullptr) calls_.abandon(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  base::Result<> open(const Table& table, const ParquetSettings& settings) {
    std::vector<KollectParquetColumn> columns;
    for (const auto& column : table.columns) columns.push_back(describe(column));
    const KollectParquetSettings wanted = {.columns = columns.data(),
                                           .column_count = columns.size(),
                                           .codec = settings.codec,
                                           .group_rows = settings.group_rows,
                                           .group_bytes = settings.group_bytes};
    KollectParquetError error{};
    file_ = calls_.open(&wanted, {this, &File::receive}, &error);
    return file_ == nullptr ? base::Result<>(failed(error)) : base::Result<>{};
  }

  /// The batch must stay as it is until the next call has returned.
  base::Result<> add(const Batch& batch) {
    if (batch.rows() == 0) return {};
    KollectParquetError error{};
    if (calls_.add(file_, batch.values().data(), batch.rows(), &error) != 0) return failed(error);
    return {};
  }

  base::Result<> finish(const std::vector<std::pair<std::string, std::string>>& words) {
    std::vector<KollectParquetText> keys;
    std::vector<KollectParquetText> values;
    for (const auto& [key, value] : words) {
      keys.push_back(text_of(key));
      values.push_back(text_of(value));
    }
    KollectParquetError error{};
    if (calls_.finish(std::exchange(file_, nullptr), keys.data(), values.data(), words.size(),
                      &error) != 0) {
      return failed(error);
    }
    return {};
  }

 private:
  static int receive(void* self, const char* data, std::size_t size) {
    auto& file = *static_cast<File*>(self);
    auto taken = file.out_({data, size});
    if (taken) return 0;
    file.refused_ = taken.error();
    return 1;
  }

  base::Error failed(const KollectParquetError& error) const {
    if (refused_) return *refused_;
    return base::terminal(
        fmt::format("the Parquet file cannot be written: {}", base::sanitize_utf8(error.text)),
        "parquet");
  }

  const KollectParquetModule& calls_;
  const ChunkFn& out_;
  KollectParquetFile* file_ = nullptr;  // the module's; given back by finish or abandon
  std::optional<base::Error> refused_;
};

/// SHA-256 of the items array, as the export document of the same rows has it.
class ItemsChecksum {
 public:
  void add(const inventory::RowView& row) {
    text_.assign(any_ ? "," : "[");
    any_ = true;
    inventory::append_row_json(text_, row);
    hash_.update(text_);
  }
  std::string finish() {
    hash_.update(any_ ? "]" : "[]");
    return hash_.finish_hex();
  }

 private:
  base::Sha256 hash_;
  std::string text_;
  bool any_ = false;
};

std::vector<std::pair<std::string, std::string>> words_about(const Table& table,
                                                             std::string checksum) {
  std::vector<std::pair<std::string, std::string>> words = {
      {"kollect.schemaVersion", "kollect.dev/v1alpha1"},
      {"kollect.cluster", std::string(table.cluster_word())},
      {"kollect.inventory", table.inventory_namespace + "/" + table.inventory_name},
      {"kollect.generation", fmt::to_string(table.generation)},
      {"kollect.itemCount", fmt::to_string(table.last - table.first)},
      {"kollect.checksum", std::move(checksum)},
      {"kollect.exportedAt", base::format_rfc3339(table.exported_at)},
  };
  if (table.part_total > 1) {
    words.emplace_back("kollect.partIndex", fmt::to_string(table.part_index));
    words.emplace_back("kollect.partTotal", fmt::to_string(table.part_total));
  }
  return words;
}

}  // namespace

base::Result<KollectParquetCodec> parquet_codec(std::string_view compression) {
  static const std::map<std::string, KollectParquetCodec> kCodecs = {
      {"", kKollectParquetZstd},
      {"zstd", kKollectParquetZstd},
      {"none", kKollectParquetNone},
      {"gzip", kKollectParquetGzip},
      {"snappy", kKollectParquetSnappy}};
  const auto found = kCodecs.find(base::to_lower(base::trim(compression)));
  if (found != kCodecs.end()) return found->second;
  return base::configuration(
      fmt::format("serialization.compression: \"{}\" is none of none, gzip, snappy, zstd",
                  compression),
      "bad-compression");
}

base::Result<> write_parquet(const Table& table, const ParquetSettings& settings,
                             const ChunkFn& out) {
  KL_ASSIGN(const auto module, ParquetModule::load(settings.places));
  // One is filled while the other is encoded.
  Batch batches[] = {Batch(table.columns), Batch(table.columns)};
  std::size_t filling = 0;
  File file(module.calls(), out);
  KL_TRY(file.open(table, settings));
  CellReader reader(table);
  ItemsChecksum checksum;
  KL_TRY(table.rows->for_range(table.first, table.last,
                               [&](const inventory::RowView& row) -> base::Result<> {
                                 checksum.add(row);
                                 const auto& cells = reader.fill(row);
                                 if (batches[filling].take(cells)) return {};
                                 KL_TRY(file.add(batches[filling]));
                                 filling = 1 - filling;
                                 batches[filling].clear();
                                 batches[filling].take(cells);
                                 return {};
                               }));
  KL_TRY(file.add(batches[filling]));
  return file.finish(words_about(table, checksum.finish()));
}

base::Result<> read_parquet(std::string_view bytes, const ParquetSettings& settings,
                            inventory::RowSet& into) {
  KL_ASSIGN(const auto module, ParquetModule::load(settings.places));
  std::vector<KollectParquetText> names;
  for (const auto name : kRowColumns) names.push_back(text_of(name));
  const auto take = [](void* self, const KollectParquetText* texts) {
    RowCells cells;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i] = texts[i].data == nullptr ? "" : std::string_view(texts[i].data, texts[i].size);
    }
    static_cast<inventory::RowSet*>(self)->add(row_of(cells));
    return 0;
  };
  KollectParquetError error{};
  if (module.calls().read(text_of(bytes), names.data(), names.size(), {&into, take}, &error) != 0) {
    return base::configuration(
        fmt::format("no Parquet file of an inventory: {}", base::sanitize_utf8(error.text)),
        "bad-payload");
  }
  return {};
}

}  // namespace kollect::sinks::columns
