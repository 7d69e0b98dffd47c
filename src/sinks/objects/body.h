// The bytes of a document on their way into a bucket.
#pragma once

#include <optional>
#include <string>

#include "sinks/objects/bucket.h"
#include "sinks/objects/compression.h"
#include "sinks/objects/encoder.h"

namespace kollect::sinks::objects {

struct Body {
  std::string checksum;              ///< hex SHA-256 of the bytes before compression
  std::optional<std::string> bytes;  ///< compressed; none when they are more than the limit
};

/// Renders once. Memory: `limit` bytes and what the encoder needs.
base::Result<Body> render(const Encoder& encoder, const Document& document, Compression compression,
                          std::size_t limit);
/// The checksum alone.
base::Result<std::string> checksum_of(const Encoder& encoder, const Document& document);
/// Renders into an upload; bytes written.
base::Result<std::uint64_t> render_into(const base::Context& context, Upload& upload,
                                        const Encoder& encoder, const Document& document,
                                        Compression compression);

}  // namespace kollect::sinks::objects
