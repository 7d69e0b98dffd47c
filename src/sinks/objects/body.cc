#include "sinks/objects/body.h"

#include "base/hash.h"

namespace kollect::sinks::objects {

base::Result<Body> render(const Encoder& encoder, const Document& document, Compression compression,
                          std::size_t limit) {
  base::Sha256 hash;
  Body out;
  out.bytes.emplace();
  const auto keep = [&](std::string_view data) -> base::Result<> {
    if (!out.bytes) return {};
    if (out.bytes->size() + data.size() > limit) {
      out.bytes.reset();
    } else {
      *out.bytes += data;
    }
    return {};
  };
  KL_ASSIGN(const auto compressor, make_compressor(compression, keep));
  KL_TRY(encoder.write(document, [&](std::string_view data) -> base::Result<> {
    hash.update(data);
    return out.bytes ? compressor->write(data) : base::Result<>();
  }));
  if (out.bytes) KL_TRY(compressor->finish());
  out.checksum = hash.finish_hex();
  return out;
}

base::Result<std::string> checksum_of(const Encoder& encoder, const Document& document) {
  base::Sha256 hash;
  KL_TRY(encoder.write(document, [&](std::string_view data) -> base::Result<> {
    hash.update(data);
    return {};
  }));
  return hash.finish_hex();
}

base::Result<std::uint64_t> render_into(const base::Context& context, Upload& upload,
                                        const Encoder& encoder, const Document& document,
                                        Compression compression) {
  std::uint64_t bytes = 0;
  KL_ASSIGN(const auto compressor,
            make_compressor(compression, [&](std::string_view data) -> base::Result<> {
              bytes += data.size();
              return upload.write(context, data);
            }));
  KL_TRY(encoder.write(document, [&](std::string_view data) { return compressor->write(data); }));
  KL_TRY(compressor->finish());
  return bytes;
}

}  // namespace kollect::sinks::objects
