// Bodies in gzip (RFC 1952) and zstd (RFC 8878), piece by piece (spec: sinks K-12).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sinks/layout.h"

namespace kollect::sinks::objects {

enum class Compression { kNone, kGzip, kZstd };

std::string_view suffix_of(Compression compression);    ///< "", ".gz", ".zst"
std::string_view encoding_of(Compression compression);  ///< Content-Encoding: "", "gzip", "zstd"

/// Compresses what is written and hands it to `out`. Equal pieces give equal bytes. Used once.
class Compressor {
 public:
  virtual ~Compressor() = default;
  virtual base::Result<> write(std::string_view data) = 0;
  virtual base::Result<> finish() = 0;
};
/// kNone passes through. Error: terminal, when there is no memory.
base::Result<std::unique_ptr<Compressor>> make_compressor(Compression compression, ChunkFn out);

/// Text of a body, told by its first bytes: gzip, zstd, or neither (returned as it is). Error
/// (retryable, "old-document"): damaged, or more than `limit` bytes.
base::Result<std::string> decompress(std::string bytes, std::size_t limit);

}  // namespace kollect::sinks::objects
