// What the program and the module libkollect-parquet.so say to each other: plain C, so that neither
// sees the other's libraries. The module alone knows Apache Arrow; it is loaded when the first
// Parquet file is written.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// Grows with every change of this header; a module of another version is refused.
enum : std::uint32_t { kKollectParquetVersion = 2 };

enum KollectParquetType : std::uint32_t {
  kKollectParquetText = 0,
  kKollectParquetJson = 1,
  kKollectParquetInteger = 2,
  kKollectParquetDouble = 3,
  kKollectParquetBoolean = 4,
  kKollectParquetTime = 5,  ///< microseconds since 1970, UTC
};

enum KollectParquetCodec : std::uint32_t {
  kKollectParquetNone = 0,
  kKollectParquetGzip = 1,
  kKollectParquetSnappy = 2,
  kKollectParquetZstd = 3,
};

/// Borrowed bytes.
struct KollectParquetText {
  const char* data;
  std::size_t size;
};

struct KollectParquetColumn {
  KollectParquetText name;
  KollectParquetType type;
  bool nullable;
  bool dictionary;  ///< values repeat
  bool statistics;  ///< least and greatest are worth keeping
};

/// Values of one column, one after the other, those that are null left out. The array that belongs
/// to the column's type is set.
struct KollectParquetValues {
  const std::int16_t* present;  ///< 1 or 0 for each row; null for columns that have no nulls
  std::size_t count;            ///< values, nulls not counted
  const KollectParquetText* texts;
  const std::int64_t* integers;  ///< times too
  const double* doubles;
  const bool* booleans;
};

/// Where the file goes. `write` returns 0, or something else to end the file with an error.
struct KollectParquetOutput {
  void* self;
  int (*write)(void* self, const char* data, std::size_t size);
};

struct KollectParquetSettings {
  const KollectParquetColumn* columns;
  std::size_t column_count;
  KollectParquetCodec codec;
  std::int64_t group_rows;   ///< a row group has no more rows
  std::int64_t group_bytes;  ///< a row group of so many encoded bytes is closed
};

/// Error texts: cut to fit, ended by 0.
struct KollectParquetError {
  char text[512];
};

/// An open file; belongs to the module.
struct KollectParquetFile;

/// Receives one row's texts, a null one with no data; returns 0, or something else to end reading.
struct KollectParquetRows {
  void* self;
  int (*take)(void* self, const KollectParquetText* texts);
};

/// All functions but `abandon` return 0 or, with the error filled, something else; nothing is
/// thrown. A file is used by one thread at a time; different files know nothing of each other.
struct KollectParquetModule {
  std::uint32_t version;
  KollectParquetFile* (*open)(const KollectParquetSettings* settings, KollectParquetOutput output,
                              KollectParquetError* error);
  /// Adds rows, one KollectParquetValues for each column. What they point to is borrowed until the
  /// next call with this file has returned: it is encoded by a thread of the file's own, and the
  /// next call tells of its errors. The output is written to within calls alone.
  int (*add)(KollectParquetFile* file, const KollectParquetValues* columns, std::size_t rows,
             KollectParquetError* error);
  /// Writes what is left and the footer with these words about the whole. The file is gone
  /// afterwards, whatever comes back.
  int (*finish)(KollectParquetFile* file, const KollectParquetText* keys,
                const KollectParquetText* values, std::size_t words, KollectParquetError* error);
  /// Forgets a file that is not to be finished; what was written of it is worth nothing.
  void (*abandon)(KollectParquetFile* file);
  /// Reads these columns of a whole file in memory, texts or JSON; one that the file has not, or
  /// has with another type, is an error. A row group at a time is unpacked.
  int (*read)(KollectParquetText file, const KollectParquetText* columns, std::size_t column_count,
              KollectParquetRows rows, KollectParquetError* error);
};

/// The one symbol of the module: `kollect_parquet`.
using KollectParquetEntry = const KollectParquetModule* (*)();
}
