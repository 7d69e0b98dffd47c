// From rows to the bytes of one object (spec: sinks 2.3, 4, 10). One implementation per format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "inventory/row_set.h"
#include "sinks/layout.h"
#include "sinks/sink.h"

namespace kollect::sinks::objects {

/// One object of an export: rows [first, last) of it.
struct Document {
  const Export* exp = nullptr;  ///< borrowed; identity without part suffix, cluster, rows
  std::size_t first = 0;
  std::size_t last = 0;
  std::optional<std::uint32_t> part_index;  ///< from 1; of a set of two or more parts
  std::optional<std::uint32_t> part_total;
  base::WallTime exported_at{};    ///< counts, not that of `exp`
  std::string rows_checksum = {};  ///< what write_rows() returned for these rows; empty: not known
};

/// Immutable, may be used by many threads. Equal documents give equal bytes, in every process: an
/// object is left alone when its bytes did not change.
class Encoder {
 public:
  virtual ~Encoder() = default;
  /// With its dot: ".json".
  [[nodiscard]] virtual std::string_view extension() const = 0;
  /// Of the bytes before compression.
  [[nodiscard]] virtual std::string_view content_type() const = 0;
  /// True when the bytes hold the export time: they are compared with the time of the earlier ones.
  [[nodiscard]] virtual bool timed() const = 0;
  /// True when the format compresses by itself (pages of Parquet): the sink then does not.
  [[nodiscard]] virtual bool compresses() const { return false; }
  /// Path template of sinks without one; empty: inventory/{namespace}/{name}{extension}. Values of
  /// a template with "=" (inventory/cluster={cluster}/...) are cleaned as partition values.
  [[nodiscard]] virtual std::string_view default_template() const { return {}; }
  /// Hands the bytes out in pieces; the first error of `out` ends it and is returned. Memory does
  /// not grow with the number of rows beyond what the format itself demands.
  virtual base::Result<> write(const Document& document, const ChunkFn& out) const = 0;
  /// True for bytes that are a head and then something that depends on the rows alone: write() is
  /// then head(), for which the document must have its rows_checksum, and write_rows(), which
  /// returns that.
  [[nodiscard]] virtual bool has_head() const { return false; }
  [[nodiscard]] virtual std::string head(const Document& /*document*/) const { return {}; }
  virtual base::Result<std::string> write_rows(const Document& /*document*/,
                                               const ChunkFn& /*out*/) const {
    return std::string();
  }
  /// Adds the rows of bytes that write() made (or an earlier version of it). Error (configuration):
  /// they are something else.
  virtual base::Result<> read(std::string_view bytes, inventory::RowSet& into) const = 0;
};

struct EncoderSettings {
  std::vector<std::string> hot_attributes;  ///< as in the spec; of columns
  bool typed = false;       ///< hot attributes have the types that profiles declare; of columns
  std::string compression;  ///< "none", "gzip", "snappy", "zstd"; "" is the default
};

/// `format` is json, ndjson, csv or parquet (any case, trimmed; "" is json). Error (configuration):
/// another word, or one that this build has not.
base::Result<std::shared_ptr<const Encoder>> make_encoder(std::string_view format,
                                                          const EncoderSettings& settings);

std::shared_ptr<const Encoder> make_json_encoder();
std::shared_ptr<const Encoder> make_ndjson_encoder();

}  // namespace kollect::sinks::objects
