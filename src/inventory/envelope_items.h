// The export document in two pieces: what depends on the rows alone, and what stands before it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "inventory/envelope.h"
#include "inventory/row_set.h"

namespace kollect::inventory {

using WriteFn = std::function<base::Result<>(std::string_view)>;

/// An envelope is a head, the items array and kEnvelopeEnd. The head holds the checksum of the
/// items and all that `meta` says; its length does not depend on the checksum.
inline constexpr std::string_view kEnvelopeEnd = "}";
std::string envelope_head(std::string_view items_checksum, std::size_t item_count,
                          const EnvelopeMeta& meta);
/// As long as every checksum.
inline constexpr std::string_view kNoChecksum =
    "0000000000000000000000000000000000000000000000000000000000000000";

/// The items array of rows [first, last) in pieces of some 64 KiB; returns its checksum, which a
/// second thread makes meanwhile. The first error of `write` ends it and is returned.
base::Result<std::string> write_items(const RowSet& rows, std::size_t first, std::size_t last,
                                      const WriteFn& write);
/// The same pieces without the checksum.
base::Result<> repeat_items(const RowSet& rows, std::size_t first, std::size_t last,
                            const WriteFn& write);
/// The checksum alone.
std::string items_checksum(const RowSet& rows, std::size_t first, std::size_t last);

}  // namespace kollect::inventory
