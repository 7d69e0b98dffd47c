// The export document (spec: sinks 2.3).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "inventory/row_set.h"

namespace kollect::inventory {

struct EnvelopeMeta {
  std::int64_t generation = 0;  ///< left out when 0
  std::optional<std::uint32_t> part_index;
  std::optional<std::uint32_t> part_total;
  base::WallTime exported_at{};
  std::string cluster;  ///< left out when empty
};

/// Canonical envelope of rows [first, last), one line without a newline.
std::string envelope_json(const RowSet& rows, std::size_t first, std::size_t last,
                          const EnvelopeMeta& meta);
std::string envelope_json(const RowSet& rows, const EnvelopeMeta& meta);

/// The same envelope of all rows in pieces of some 64 KiB, so that a large one is never in memory.
/// The first error of `write` ends it and is returned.
base::Result<> stream_envelope(const RowSet& rows, const EnvelopeMeta& meta,
                               const std::function<base::Result<>(std::string_view)>& write);

/// Rows [first, last) of each part under `ceiling` bytes (spec: sinks 5.1). Linear. Error
/// (terminal): a row that alone exceeds the ceiling, named. An export time with a fraction counts
/// with nine digits, so that equal rows are cut alike whenever they are exported.
struct Part {
  std::size_t first = 0;
  std::size_t last = 0;
};
base::Result<std::vector<Part>> cut_parts(const RowSet& rows, const EnvelopeMeta& meta,
                                          std::size_t ceiling);

/// The same cut from the sizes of the rows' JSON alone, given in canonical order. Takes only the
/// lengths of what `meta` says.
class PartCutter {
 public:
  /// `rows`: how many will be added. Ceiling 0: everything is one part.
  PartCutter(const EnvelopeMeta& meta, std::size_t ceiling, std::size_t rows);
  /// False when the row alone exceeds the ceiling.
  bool add(std::size_t row_bytes);
  [[nodiscard]] std::vector<Part> finish();

 private:
  std::size_t ceiling_;
  std::size_t frame_;    ///< bytes of a part's envelope without rows and count
  std::size_t unsplit_;  ///< bytes of one envelope of all rows so far
  std::vector<Part> parts_;
  Part part_;
  std::size_t part_bytes_ = 0;  ///< rows and commas of the open part
};
/// Set checksum of a split export (spec: sinks 5.1).
std::string set_checksum(const std::vector<std::string>& part_checksums);

}  // namespace kollect::inventory
