// An inventory as a Parquet file (format: parquet.apache.org, file format 2.6; spec: sinks 10).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "parquet_module/abi.h"
#include "sinks/columns/parquet_module.h"
#include "sinks/columns/table.h"
#include "sinks/layout.h"

namespace kollect::sinks::columns {

struct ParquetSettings {
  KollectParquetCodec codec = kKollectParquetZstd;
  /// A row group ends with so many rows, or with so many encoded bytes; it is in memory until then.
  std::int64_t group_rows = std::int64_t{1} << 20;
  std::int64_t group_bytes = std::int64_t{16} << 20;
  std::vector<std::filesystem::path> places = ParquetModule::standard_places();
};

/// Codec of serialization.compression: none, gzip, snappy, zstd; "" is zstd. Error: configuration.
base::Result<KollectParquetCodec> parquet_codec(std::string_view compression);

/// Hands the file out as it grows. Memory: a row group and some megabytes, however many rows there
/// are. The footer says which inventory this is (keys "kollect.cluster", "kollect.inventory",
/// "kollect.generation", "kollect.checksum" of the rows as in the export document, ...). Errors:
/// the first one of `out`; configuration, "parquet-missing"; terminal, "parquet", for what the
/// writer refuses.
base::Result<> write_parquet(const Table& table, const ParquetSettings& settings,
                             const ChunkFn& out);

/// Adds the rows of a file that write_parquet() made. Errors: configuration, when it is something
/// else; "parquet-missing".
base::Result<> read_parquet(std::string_view bytes, const ParquetSettings& settings,
                            inventory::RowSet& into);

}  // namespace kollect::sinks::columns
