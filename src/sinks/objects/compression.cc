#include "sinks/objects/compression.h"

#include <zlib.h>
#include <zstd.h>

#include <utility>

namespace kollect::sinks::objects {

namespace {

constexpr std::size_t kRoom = 64U << 10U;
constexpr int kGzipWindow = 15 + 16;
constexpr int kGzipMemory = 8;
constexpr int kZstdLevel = 3;
constexpr std::string_view kGzipMark = "\x1f\x8b";
constexpr std::string_view kZstdMark = "\x28\xb5\x2f\xfd";

base::Error no_memory() {
  return base::terminal("no memory to compress with");
}

base::Error damaged(const char* why) {
  return base::retryable(std::string("a compressed object cannot be read: ") + why, "old-document");
}

class Plain final : public Compressor {
 public:
  explicit Plain(ChunkFn out) : out_(std::move(out)) {}
  base::Result<> write(std::string_view data) override { return out_(data); }
  base::Result<> finish() override { return {}; }

 private:
  ChunkFn out_;
};

class Gzip final : public Compressor {
 public:
  explicit Gzip(ChunkFn out) : out_(std::move(out)) {
    ready_ = deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, kGzipMemory,
                          Z_DEFAULT_STRATEGY) == Z_OK;
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() override {
    if (ready_) deflateEnd(&stream_);
  }
  [[nodiscard]] bool ready() const { return ready_; }

  base::Result<> write(std::string_view data) override {
    // zlib counts in 32 bits.
    for (constexpr std::size_t kMost = 1U << 30U; data.size() > kMost; data.remove_prefix(kMost)) {
      KL_TRY(run(data.substr(0, kMost), Z_NO_FLUSH));
    }
    return run(data, Z_NO_FLUSH);
  }
  base::Result<> finish() override { return run({}, Z_FINISH); }

 private:
  base::Result<> run(std::string_view data, int flush) {
    // zlib does not write to its input.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
    stream_.avail_in = static_cast<uInt>(data.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(room_.data());
      stream_.avail_out = static_cast<uInt>(room_.size());
      if (deflate(&stream_, flush) == Z_STREAM_ERROR) return no_memory();
      const std::size_t made = room_.size() - stream_.avail_out;
      if (made > 0) KL_TRY(out_(std::string_view(room_).substr(0, made)));
    } while (stream_.avail_out == 0);
    return {};
  }

  ChunkFn out_;
  z_stream stream_{};
  bool ready_ = false;
  std::string room_ = std::string(kRoom, '\0');
};

class Zstd final : public Compressor {
 public:
  explicit Zstd(ChunkFn out) : out_(std::move(out)), stream_(ZSTD_createCCtx()) {
    ready_ = stream_ != nullptr && ZSTD_isError(ZSTD_CCtx_setParameter(
                                       stream_.get(), ZSTD_c_compressionLevel, kZstdLevel)) == 0;
    if (ready_) ZSTD_CCtx_setParameter(stream_.get(), ZSTD_c_checksumFlag, 1);
  }
  [[nodiscard]] bool ready() const { return ready_; }
  base::Result<> write(std::string_view data) override { return run(data, ZSTD_e_continue); }
  base::Result<> finish() override { return run({}, ZSTD_e_end); }

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };

  base::Result<> run(std::string_view data, ZSTD_EndDirective directive) {
    ZSTD_inBuffer in{data.data(), data.size(), 0};
    while (true) {
      ZSTD_outBuffer out{room_.data(), room_.size(), 0};
      const std::size_t left = ZSTD_compressStream2(stream_.get(), &out, &in, directive);
      if (ZSTD_isError(left) != 0) return no_memory();
      if (out.pos > 0) KL_TRY(out_(std::string_view(room_).substr(0, out.pos)));
      const bool done = directive == ZSTD_e_end ? left == 0 : in.pos == in.size;
      if (done) return {};
    }
  }

  ChunkFn out_;
  std::unique_ptr<ZSTD_CCtx, Free> stream_;
  bool ready_ = false;
  std::string room_ = std::string(kRoom, '\0');
};

template <class T>
base::Result<std::unique_ptr<Compressor>> ready(ChunkFn out) {
  auto made = std::make_unique<T>(std::move(out));
  if (!made->ready()) return no_memory();
  return std::unique_ptr<Compressor>(std::move(made));
}

base::Result<std::string> gunzip(std::string_view bytes, std::size_t limit) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) return damaged("no memory");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> owner(&stream, &inflateEnd);
  std::string room(kRoom, '\0');
  std::string out;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = static_cast<uInt>(room.size());
    code = inflate(&stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END) return damaged("its gzip is damaged or cut");
    out.append(room, 0, room.size() - stream.avail_out);
    if (out.size() > limit) return damaged("it is too large");
  }
  return out;
}

base::Result<std::string> unzstd(std::string_view bytes, std::size_t limit) {
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  const std::unique_ptr<ZSTD_DCtx, Free> stream(ZSTD_createDCtx());
  if (!stream) return damaged("no memory");
  std::string room(kRoom, '\0');
  std::string out;
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  std::size_t left = 1;
  while (left != 0) {
    ZSTD_outBuffer made{room.data(), room.size(), 0};
    left = ZSTD_decompressStream(stream.get(), &made, &in);
    if (ZSTD_isError(left) != 0) return damaged("its zstd is damaged");
    out.append(room, 0, made.pos);
    if (out.size() > limit) return damaged("it is too large");
    if (left != 0 && in.pos == in.size && made.pos < room.size()) return damaged("its zstd is cut");
  }
  return out;
}

}  // namespace

std::string_view suffix_of(Compression compression) {
  return compression == Compression::kGzip   ? ".gz"
         : compression == Compression::kZstd ? ".zst"
                                             : "";
}

std::string_view encoding_of(Compression compression) {
  return compression == Compression::kGzip   ? "gzip"
         : compression == Compression::kZstd ? "zstd"
                                             : "";
}

base::Result<std::unique_ptr<Compressor>> make_compressor(Compression compression, ChunkFn out) {
  if (compression == Compression::kGzip) return ready<Gzip>(std::move(out));
  if (compression == Compression::kZstd) return ready<Zstd>(std::move(out));
  return std::unique_ptr<Compressor>(std::make_unique<Plain>(std::move(out)));
}

base::Result<std::string> decompress(std::string bytes, std::size_t limit) {
  if (bytes.starts_with(kGzipMark)) return gunzip(bytes, limit);
  if (bytes.starts_with(kZstdMark)) return unzstd(bytes, limit);
  return bytes;
}

}  // namespace kollect::sinks::objects
