// A row as a document (spec: sinks 12).
//
// Form: inventory_namespace, inventory_name, target_name, source_uid, cluster, resource_namespace,
// payload (the row, keys sorted at every level), exported_at (date, milliseconds). Integers are
// int64, those above it Decimal128, other numbers doubles (K-3); a number beyond doubles is its
// text. Keys with dots and dollars stay. Texts may hold U+0000; keys of BSON end at one, so U+FFFD
// stands in its place there.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json/document.h"
#include "base/result.h"
#include "inventory/row.h"
#include "sinks/mongo/handles.h"
#include "sinks/rows/rows.h"

namespace kollect::sinks::mongo {

/// The rows of one inventory in one cluster.
struct Partition {
  std::string cluster;
  std::string inventory_namespace;
  std::string inventory_name;
  std::int64_t at = 0;  ///< exported_at of what is written, milliseconds since 1970
};

/// First 16 bytes of a SHA-256.
using Digest = std::array<unsigned char, 16>;

/// Hash of what a document says: numbers by value, so that 3 as int32, int64 or double is the same;
/// order of keys counts. Rows written by other programs are thus recognised as unchanged.
Digest digest_of(std::string_view resource_namespace, const bson_iter_t& payload);

/// Writes one row after the other. One thread.
class RowDocument {
 public:
  /// Error: configuration, when the attributes are no JSON; terminal, when the document is larger
  /// than the server takes (the row is named).
  base::Result<> write(const inventory::RowView& row, const Partition& partition);
  /// The last row's document; dies with the next call.
  [[nodiscard]] const bson_t* get() const { return document_.get(); }
  [[nodiscard]] std::size_t size() const { return document_.size(); }
  [[nodiscard]] Digest digest() const;
  /// True when a key of the last row held a U+0000.
  [[nodiscard]] bool replaced() const { return replaced_; }

 private:
  void value(bson_t* to, std::string_view key, base::json::View view);
  void number(bson_t* to, std::string_view key, base::json::View view);
  void object(bson_t* to, base::json::View view);
  void payload(bson_t* to, const inventory::RowView& row);

  Bson document_;
  base::json::Document attributes_;
  bool replaced_ = false;
};

/// Columns that identify a row, as they are stored.
struct RowColumns {
  std::string target_name;
  std::string source_uid;
  std::string target_namespace;
  [[nodiscard]] rows::KeyHash key() const { return rows::key_hash(target_name, source_uid); }
};
RowColumns columns_of(const inventory::RowView& row);

/// {cluster, inventory_namespace, inventory_name}: all rows of the partition.
void append_partition(bson_t* filter, const Partition& partition);

}  // namespace kollect::sinks::mongo
