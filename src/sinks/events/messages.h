// Texts of messages: documents and change events (spec: sinks 14.1, 14.4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "inventory/row.h"
#include "sinks/events/transport.h"
#include "sinks/sink.h"

namespace kollect::sinks::events {

/// A document as one message: keys schemaVersion, timestamp, cluster, namespace, payload; when rows
/// of the set could not be read also `incomplete`, which names them as marks of brackets do.
/// `envelope` is the canonical envelope of `rows` rows; part 0 of 0: it is no part.
struct Document {
  std::string envelope;
  std::size_t rows = 0;
  std::uint32_t part = 0;  ///< counts from 1
  std::uint32_t parts = 0;
};
Message document_message(const Export& head, base::WallTime at, const Document& document);

/// Change events of one inventory. Every event has the keys schemaVersion, timestamp, cluster,
/// namespace, inventory, type, generation; then what its type adds.
class ChangeEvents {
 public:
  /// `head` is borrowed.
  explicit ChangeEvents(const Export& head);

  /// "upsert" with the row. A body of more than `limit` bytes is replaced: the row has no
  /// attributes and `tooLarge` tells size and SHA-256 of the row's JSON; `replaced` says so.
  Message upsert(const inventory::RowView& row, base::WallTime at, std::size_t limit,
                 bool& replaced);
  /// "delete" with the row's identity.
  Message erase(const inventory::RowView& row, base::WallTime at);
  /// No body; the key of the row.
  Message tombstone(const inventory::RowView& row) const;
  /// Opens or closes a bracket: `type`, itemCount and checksum of the set, and what was not read.
  Message mark(std::string_view type, base::WallTime at, std::size_t items,
               const std::string& checksum);

 private:
  Message event(std::string_view type, base::WallTime at, std::string_view rest);
  Message of_row(std::string_view type, base::WallTime at, const inventory::RowView& row,
                 std::string_view rest, std::string_view items, std::size_t count);

  const Export* head_;
  std::string place_;  ///< "<cluster>/<namespace>/<inventory>"
  std::string row_;    ///< reused
};

/// Identity fields of a row as JSON.
void append_identity_json(std::string& out, const inventory::RowView& row);

}  // namespace kollect::sinks::events
