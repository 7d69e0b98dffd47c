// The module: Parquet files by Apache Arrow's library (format: parquet.apache.org, file
// format 2.6). Built for itself; nothing of Arrow leaves it, neither types nor exceptions.
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/io/memory.h>
#include <arrow/memory_pool.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/column_reader.h>
#include <parquet/column_writer.h>
#include <parquet/file_reader.h>
#include <parquet/file_writer.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parquet_module/abi.h"
#include "parquet_module/crew.h"

namespace {

/// Encoded values wait for their page, one page a column: small ones keep the sum small.
constexpr std::int64_t kPageBytes = 256L << 10;

std::string_view view(const KollectParquetText& text) {
  return {text.data, text.size};
}

/// The program's receiver as Arrow wants it.
class Output final : public arrow::io::OutputStream {
 public:
  explicit Output(KollectParquetOutput out) : out_(out) {}

  arrow::Status Write(const void* data, std::int64_t bytes) override {
    if (silent_) return arrow::Status::IOError("given up");
    if (out_.write(out_.self, static_cast<const char*>(data), static_cast<std::size_t>(bytes)) !=
        0) {
      silent_ = true;
      return arrow::Status::IOError("the receiver failed");
    }
    position_ += bytes;
    return arrow::Status::OK();
  }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  bool closed() const override { return closed_; }
  /// The library closes what it forgets; nobody shall receive that.
  void give_up() { silent_ = true; }

 private:
  KollectParquetOutput out_;
  std::int64_t position_ = 0;
  bool silent_ = false;
  bool closed_ = false;
};

parquet::schema::NodePtr node_of(const KollectParquetColumn& column) {
  using parquet::LogicalType;
  const auto repetition =
      column.nullable ? parquet::Repetition::OPTIONAL : parquet::Repetition::REQUIRED;
  const auto make = [&](const std::shared_ptr<const LogicalType>& logical,
                        parquet::Type::type physical) {
    return parquet::schema::PrimitiveNode::Make(std::string(view(column.name)), repetition, logical,
                                                physical);
  };
  switch (column.type) {
    case kKollectParquetText:
      return make(LogicalType::String(), parquet::Type::BYTE_ARRAY);
    case kKollectParquetJson:
      return make(LogicalType::JSON(), parquet::Type::BYTE_ARRAY);
    case kKollectParquetInteger:
      return make(LogicalType::Int(64, true), parquet::Type::INT64);
    case kKollectParquetDouble:
      return make(LogicalType::None(), parquet::Type::DOUBLE);
    case kKollectParquetBoolean:
      return make(LogicalType::None(), parquet::Type::BOOLEAN);
    case kKollectParquetTime:
      return make(LogicalType::Timestamp(true, LogicalType::TimeUnit::MICROS),
                  parquet::Type::INT64);
  }
  throw parquet::ParquetException("a column of an unknown type");
}

parquet::Compression::type codec_of(KollectParquetCodec codec) {
  switch (codec) {
    case kKollectParquetNone:
      return parquet::Compression::UNCOMPRESSED;
    case kKollectParquetGzip:
      return parquet::Compression::GZIP;
    case kKollectParquetSnappy:
      return parquet::Compression::SNAPPY;
    case kKollectParquetZstd:
      return parquet::Compression::ZSTD;
  }
  throw parquet::ParquetException("an unknown codec");
}

std::shared_ptr<parquet::WriterProperties> properties_of(const KollectParquetSettings& settings) {
  parquet::WriterProperties::Builder builder;
  // The program's own allocator gives memory back when a file is done.
  builder.memory_pool(arrow::system_memory_pool());
  builder.version(parquet::ParquetVersion::PARQUET_2_6);
  builder.data_pagesize(kPageBytes);
  builder.compression(codec_of(settings.codec));
  for (std::size_t i = 0; i < settings.column_count; ++i) {
    const auto& column = settings.columns[i];
    const std::string name(view(column.name));
    if (!column.dictionary) builder.disable_dictionary(name);
    if (!column.statistics) builder.disable_statistics(name);
  }
  return builder.build();
}

}  // namespace

struct KollectParquetFile {
  KollectParquetFile(const KollectParquetSettings& settings, KollectParquetOutput out)
      : output(std::make_shared<Output>(out)),
        types(settings.column_count),
        group_rows(settings.group_rows),
        group_bytes(settings.group_bytes) {
    parquet::schema::NodeVector fields;
    texts.resize(settings.column_count);
    for (std::size_t i = 0; i < settings.column_count; ++i) {
      types[i] = settings.columns[i].type;
      order.push_back(i);
      fields.push_back(node_of(settings.columns[i]));
    }
    std::stable_partition(order.begin(), order.end(),
                          [&](std::size_t i) { return !settings.columns[i].dictionary; });
    const auto root =
        parquet::schema::GroupNode::Make("inventory", parquet::Repetition::REQUIRED, fields);
    writer = parquet::ParquetFileWriter::Open(
        output, std::static_pointer_cast<parquet::schema::GroupNode>(root),
        properties_of(settings));
  }

  /// The columns are encoded while the caller goes on: the group grows with settle().
  void add(const KollectParquetValues* columns, std::int64_t rows) {
    if (rows == 0) return;
    settle();
    if (group != nullptr && rows_in_group + rows > group_rows) close_group();
    if (group == nullptr) group = writer->AppendBufferedRowGroup();
    rows_in_group += rows;
    batch.assign(columns, columns + types.size());
    crew.start(order.size(), [this, rows](std::size_t job) {
      const std::size_t column = order[job];
      add_column(column, batch[column], rows);
    });
  }

  /// What was added last is encoded then.
  void settle() {
    crew.finish();
    if (group == nullptr) return;
    if (group->total_compressed_bytes() + group->total_compressed_bytes_written() >= group_bytes) {
      close_group();
    }
  }

  void add_column(std::size_t number, const KollectParquetValues& values, std::int64_t rows) {
    parquet::ColumnWriter* column = group->column(static_cast<int>(number));
    switch (types[number]) {
      case kKollectParquetText:
      case kKollectParquetJson: {
        auto& copied = texts[number];
        copied.resize(values.count);
        std::transform(
            values.texts, values.texts + values.count, copied.begin(),
            [](const KollectParquetText& text) { return parquet::ByteArray(view(text)); });
        static_cast<parquet::ByteArrayWriter*>(column)->WriteBatch(rows, values.present, nullptr,
                                                                   copied.data());
        break;
      }
      case kKollectParquetInteger:
      case kKollectParquetTime:
        static_cast<parquet::Int64Writer*>(column)->WriteBatch(rows, values.present, nullptr,
                                                               values.integers);
        break;
      case kKollectParquetDouble:
        static_cast<parquet::DoubleWriter*>(column)->WriteBatch(rows, values.present, nullptr,
                                                                values.doubles);
        break;
      case kKollectParquetBoolean:
        static_cast<parquet::BoolWriter*>(column)->WriteBatch(rows, values.present, nullptr,
                                                              values.booleans);
        break;
    }
  }

  void close_group() {
    if (group != nullptr) group->Close();
    group = nullptr;
    rows_in_group = 0;
  }

  std::shared_ptr<Output> output;
  std::vector<KollectParquetType> types;
  std::int64_t group_rows;
  std::int64_t group_bytes;
  std::unique_ptr<parquet::ParquetFileWriter> writer;
  parquet::RowGroupWriter* group = nullptr;  // the writer's
  std::int64_t rows_in_group = 0;
  std::vector<KollectParquetValues> batch;  // being encoded
  std::vector<std::size_t> order;           // of columns, those with the most work first
  std::vector<std::vector<parquet::ByteArray>> texts;
  Crew crew;  // last: its thread uses all of this
};

namespace {

void tell(KollectParquetError* error, const char* what) {
  std::snprintf(error->text, sizeof error->text, "%s", what);
}

/// Runs `work`; what it throws ends here.
template <class Work>
int guarded(KollectParquetError* error, const Work& work) {
  try {
    work();
    return 0;
  } catch (const std::exception& thrown) {
    tell(error, thrown.what());
  } catch (...) {
    tell(error, "unknown failure");
  }
  return 1;
}

KollectParquetFile* open_file(const KollectParquetSettings* settings, KollectParquetOutput output,
                              KollectParquetError* error) {
  std::unique_ptr<KollectParquetFile> file;
  guarded(error, [&] { file = std::make_unique<KollectParquetFile>(*settings, output); });
  return file.release();
}

int add(KollectParquetFile* file, const KollectParquetValues* columns, std::size_t rows,
        KollectParquetError* error) {
  return guarded(error, [&] { file->add(columns, static_cast<std::int64_t>(rows)); });
}

void abandon(KollectParquetFile* file) {
  const std::unique_ptr<KollectParquetFile> owned(file);
  if (owned) owned->output->give_up();
}

int finish(KollectParquetFile* file, const KollectParquetText* keys,
           const KollectParquetText* values, std::size_t words, KollectParquetError* error) {
  const std::unique_ptr<KollectParquetFile> owned(file);
  const int failed = guarded(error, [&] {
    const auto about = std::make_shared<arrow::KeyValueMetadata>();
    for (std::size_t i = 0; i < words; ++i) {
      about->Append(std::string(view(keys[i])), std::string(view(values[i])));
    }
    owned->settle();
    owned->close_group();
    owned->writer->AddKeyValueMetadata(about);
    owned->writer->Close();
  });
  owned->output->give_up();
  return failed;
}

/// Values of one column of a row group; none: null.
using Texts = std::vector<std::optional<std::string>>;

Texts read_column(parquet::RowGroupReader& group, const parquet::SchemaDescriptor& schema,
                  std::string_view name) {
  const int number = schema.ColumnIndex(std::string(name));
  if (number < 0 || schema.Column(number)->physical_type() != parquet::Type::BYTE_ARRAY ||
      schema.Column(number)->max_repetition_level() != 0) {
    throw parquet::ParquetException("no column of texts is called " + std::string(name));
  }
  constexpr std::int64_t kStep = 1024;
  std::vector<std::int16_t> present(kStep);
  std::vector<parquet::ByteArray> values(kStep);
  const auto column = group.Column(number);
  auto& reader = static_cast<parquet::ByteArrayReader&>(*column);
  const bool nullable = schema.Column(number)->max_definition_level() > 0;
  Texts out;
  while (reader.HasNext()) {
    std::int64_t count = 0;
    const std::int64_t rows =
        reader.ReadBatch(kStep, present.data(), nullptr, values.data(), &count);
    std::size_t next = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      if (nullable && present[static_cast<std::size_t>(row)] == 0) {
        out.emplace_back();
      } else {
        out.emplace_back(std::string_view(values[next++]));
      }
    }
  }
  return out;
}

void read_group(parquet::RowGroupReader& group, const parquet::SchemaDescriptor& schema,
                const std::vector<std::string_view>& names, KollectParquetRows rows) {
  std::vector<Texts> columns;
  for (const auto name : names) columns.push_back(read_column(group, schema, name));
  const auto count = static_cast<std::size_t>(group.metadata()->num_rows());
  for (const auto& column : columns) {
    if (column.size() != count) throw parquet::ParquetException("columns differ in length");
  }
  std::vector<KollectParquetText> texts(columns.size());
  for (std::size_t row = 0; row < count; ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto& value = columns[i][row];
      texts[i] =
          value ? KollectParquetText{value->data(), value->size()} : KollectParquetText{nullptr, 0};
    }
    if (rows.take(rows.self, texts.data()) != 0) {
      throw parquet::ParquetException("the receiver failed");
    }
  }
}

int read_file(KollectParquetText bytes, const KollectParquetText* columns, std::size_t column_count,
              KollectParquetRows rows, KollectParquetError* error) {
  return guarded(error, [&] {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < column_count; ++i) names.push_back(view(columns[i]));
    const auto buffer = std::make_shared<arrow::Buffer>(view(bytes));
    parquet::ReaderProperties properties(arrow::system_memory_pool());
    const auto file = parquet::ParquetFileReader::Open(
        std::make_shared<arrow::io::BufferReader>(buffer), properties);
    const auto about = file->metadata();
    for (int i = 0; i < about->num_row_groups(); ++i) {
      read_group(*file->RowGroup(i), *about->schema(), names, rows);
    }
  });
}

constexpr KollectParquetModule kModule = {
    .version = kKollectParquetVersion,
    .open = open_file,
    .add = add,
    .finish = finish,
    .abandon = abandon,
    .read = read_file,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const KollectParquetModule* kollect_parquet() {
  return &kModule;
}
