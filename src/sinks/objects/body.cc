#include "sinks/objects/body.h"

#include <algorithm>

#include "base/hash.h"
#include "base/hash_beside.h"
#include "inventory/envelope_items.h"

namespace kollect::sinks::objects {

Document Rendering::at(base::WallTime exported_at) const {
  auto out = document_;
  out.exported_at = exported_at;
  return out;
}

/// How many bytes the rows are likely to be, told from some in the middle. A wrong guess costs
/// memory for a while, or one more rendering, and changes nothing else.
base::Result<std::size_t> Rendering::guess() const {
  constexpr std::size_t kSample = 256;
  const std::size_t count = document_.last - document_.first;
  if (count < 4 * kSample) return 0;
  auto some = document_;
  some.first += count / 2;
  some.last = some.first + kSample;
  std::size_t bytes = 0;
  KL_TRY(encoder_.write_rows(some, [&](std::string_view data) -> base::Result<> {
    bytes += data.size();
    return {};
  }));
  return bytes * (count / kSample + 1);
}

/// False, and nothing kept, when it becomes more than the limit.
bool Rendering::keep(std::string_view data) {
  if (kept_.size() + data.size() > limit_) {
    kept_ = std::string();
    return false;
  }
  kept_ += data;
  return true;
}

/// For formats with a head: the checksum of the rows, and the bytes as long as they fit.
base::Result<> Rendering::render_rows() {
  if (!encoder_.has_head() || !document_.rows_checksum.empty()) return {};
  if (compression_ == Compression::kNone) {
    KL_ASSIGN(const std::size_t bytes, guess());
    is_kept_ = bytes / 10 * 9 <= limit_;
    // Room for all of it at once: growing would copy it several times.
    if (is_kept_) kept_.reserve(std::min(limit_, bytes + bytes / 16));
  }
  auto draft = document_;
  draft.rows_checksum = inventory::kNoChecksum;
  head_bytes_ = encoder_.head(draft).size();
  is_kept_ = is_kept_ && keep(encoder_.head(draft));
  KL_ASSIGN(document_.rows_checksum,
            encoder_.write_rows(document_, [&](std::string_view data) -> base::Result<> {
              is_kept_ = is_kept_ && keep(data);
              return {};
            }));
  if (is_kept_) kept_.replace(0, head_bytes_, encoder_.head(document_));
  return {};
}

base::Result<> Rendering::write(base::WallTime exported_at, const ChunkFn& out) {
  KL_TRY(render_rows());
  if (!is_kept_) return encoder_.write(at(exported_at), out);
  if (exported_at == document_.exported_at) return out(kept_);
  KL_TRY(out(encoder_.head(at(exported_at))));
  return out(std::string_view(kept_).substr(head_bytes_));
}

base::Result<std::string> Rendering::checksum(base::WallTime exported_at) {
  base::Sha256 hash;
  KL_TRY(write(exported_at, [&](std::string_view data) -> base::Result<> {
    hash.update(data);
    return {};
  }));
  return hash.finish_hex();
}

base::Result<Rendering::Body> Rendering::body() {
  KL_TRY(render_rows());
  Body out;
  if (encoder_.has_head() && compression_ == Compression::kNone) {
    KL_ASSIGN(out.checksum, checksum(document_.exported_at));
    if (is_kept_) out.bytes = kept_;
    return out;
  }
  kept_.clear();
  bool fits = true;
  KL_ASSIGN(const auto compressor,
            make_compressor(compression_, [&](std::string_view data) -> base::Result<> {
              fits = fits && keep(data);
              return {};
            }));
  base::Sha256Beside hash;
  KL_TRY(write(document_.exported_at, [&](std::string_view data) -> base::Result<> {
    hash.update(data);
    return fits ? compressor->write(data) : base::Result<>();
  }));
  if (fits) KL_TRY(compressor->finish());
  out.checksum = hash.finish_hex();
  if (fits) out.bytes = kept_;
  return out;
}

base::Result<std::uint64_t> Rendering::write_into(const base::Context& context, Upload& upload) {
  std::uint64_t bytes = 0;
  KL_ASSIGN(const auto compressor,
            make_compressor(compression_, [&](std::string_view data) -> base::Result<> {
              bytes += data.size();
              return upload.write(context, data);
            }));
  KL_TRY(
      write(document_.exported_at, [&](std::string_view data) { return compressor->write(data); }));
  KL_TRY(compressor->finish());
  return bytes;
}

}  // namespace kollect::sinks::objects
