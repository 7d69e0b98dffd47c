// The bytes of a document on their way into a bucket.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sinks/objects/bucket.h"
#include "sinks/objects/compression.h"
#include "sinks/objects/encoder.h"

namespace kollect::sinks::objects {

/// A document that may be rendered with several export times. Rows are rendered as few times as the
/// memory allows: bytes up to `limit` are kept. Borrows the encoder and the rows.
class Rendering {
 public:
  Rendering(const Encoder& encoder, const Document& document, Compression compression,
            std::size_t limit)
      : encoder_(encoder), document_(document), compression_(compression), limit_(limit) {}
  Rendering(const Rendering&) = delete;
  Rendering& operator=(const Rendering&) = delete;

  /// Hex SHA-256 of the bytes before compression, with this export time in them.
  base::Result<std::string> checksum(base::WallTime exported_at);

  struct Body {
    std::string checksum;                   ///< as above
    std::optional<std::string_view> bytes;  ///< compressed; none when they are more than the limit
  };
  /// With the document's own export time. Valid as long as this object.
  base::Result<Body> body();

  /// Renders with the document's own export time into an upload; bytes written.
  base::Result<std::uint64_t> write_into(const base::Context& context, Upload& upload);

 private:
  base::Result<std::size_t> guess() const;
  base::Result<> render_rows();
  base::Result<> write(base::WallTime exported_at, const ChunkFn& out);
  bool keep(std::string_view data);
  [[nodiscard]] Document at(base::WallTime exported_at) const;

  const Encoder& encoder_;
  Document document_;
  Compression compression_;
  std::size_t limit_;
  std::string kept_;            ///< the bytes, with a head for the document's own time
  std::size_t head_bytes_ = 0;  ///< of kept_
  bool is_kept_ = false;        ///< kept_ is all of them, and not compressed
};

}  // namespace kollect::sinks::objects
