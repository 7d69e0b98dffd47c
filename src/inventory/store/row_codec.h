// Rows to records and back.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "inventory/row_store.h"
#include "inventory/store/dictionary.h"
#include "inventory/store/kinds.h"
#include "inventory/store/packer.h"
#include "inventory/store/record.h"

namespace kollect::inventory {

/// What all tables of a store have in common. Thread-safe.
struct Common {
  explicit Common(RowStoreOptions given) : options(given) {}
  const RowStoreOptions options;
  Kinds kinds;
  Dictionary namespaces;
  Workshop workshop;
  std::atomic<Version> clock = 0;  ///< the last version given
};

/// Encodes rows of one owner; remembers kind and shape of the last one. One thread at a time.
///
/// Attributes of a record, by its Body:
///   kColumns  a value for each column of the shape: size n * 4 + form, then
///               form 0: n bytes of JSON · 1: n bytes of a string without its quotes
///               · 2: nothing, n is a number in the column's dictionary
///               · 3: nothing; n = 0: the row's name as string, n = 1: its namespace
///   kPlain    size, the JSON
///   kPacked   hash of the row (16 bytes), size unpacked, size packed, zstd frame
class RowEncoder {
 public:
  explicit RowEncoder(Common& common) : common_(common) {}

  /// Fields without version; they live in `bench` and in the row. The record holds a use of its
  /// namespace and of each dictionary text (release_texts).
  Record::Fields encode(const RowView& row, const UidKey& uid, const base::Hash128& hash,
                        Workbench& bench);
  Kind& kind_of(const RowView& row);

 private:
  void append_value(const Shape::Column& column, const RowView& row, std::string_view value,
                    std::string& out);

  Common& common_;
  Kind* kind_ = nullptr;
  const Shape* shape_ = nullptr;
  std::vector<Member> members_;
};

/// Decodes records of one owner, with room of its own. One thread.
class RowReader {
 public:
  RowReader(const Common& common, const Owner& owner, Workbench& bench)
      : common_(common), owner_(owner), bench_(bench) {}
  /// Valid until the next call, while the record and the owner stay.
  RowView read(const Record& record);
  /// The same without attributes.
  RowView read_key(const Record& record);
  /// The row's hash: kept in packed records, else computed.
  base::Hash128 hash(const Record& record);

 private:
  std::string_view attributes(const Record& record, std::string_view name, std::string_view ns);

  const Common& common_;
  const Owner& owner_;
  Workbench& bench_;
  UuidText uid_{};
};

/// True when the record holds this row.
bool holds_row(const Record& record, const RowView& row, Workbench& bench, RowReader& reader);

/// Uses of shared texts by a record: once more, for a copy of it, and given back.
void retain_texts(Common& common, const Record& record);
void release_texts(Common& common, const Record& record);

}  // namespace kollect::inventory
