#include "base/gzip.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <zlib.h>

namespace kollect::base {
namespace {

constexpr int kGzipWindow = 15 + 16;
constexpr int kMemory = 8;
constexpr int kQuickLevel = 4;

}  // namespace

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return {};
  }
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  // zlib does not write to its input.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(done ? out.size() - stream.avail_out : 0);
  out.shrink_to_fit();
  deflateEnd(&stream);
  return out;
}

struct GzipStream::Impl {
  z_stream stream{};
  bool good = false;

  void run(std::string_view bytes, int flush, std::string& out) {
    std::array<char, 16U << 10U> room;
    // zlib does not write to its input.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(room.data());
      stream.avail_out = static_cast<uInt>(room.size());
      const int state = deflate(&stream, flush);
      out.append(room.data(), room.size() - stream.avail_out);
      if (state == Z_STREAM_END || state == Z_STREAM_ERROR) return;
    } while (stream.avail_out == 0);
  }
};

GzipStream::GzipStream() : impl_(std::make_unique<Impl>()) {
  impl_->good = deflateInit2(&impl_->stream, kQuickLevel, Z_DEFLATED, kGzipWindow, kMemory,
                             Z_DEFAULT_STRATEGY) == Z_OK;
}

GzipStream::~GzipStream() {
  if (impl_->good) deflateEnd(&impl_->stream);
}

bool GzipStream::good() const {
  return impl_->good;
}

void GzipStream::add(std::string_view bytes, std::string& out) {
  while (good() && !bytes.empty()) {
    const std::string_view part = bytes.substr(0, UINT32_MAX);
    impl_->run(part, Z_NO_FLUSH, out);
    bytes.remove_prefix(part.size());
  }
}

void GzipStream::finish(std::string& out) {
  if (good()) impl_->run({}, Z_FINISH, out);
}

}  // namespace kollect::base
