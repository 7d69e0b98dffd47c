#include "sinks/git/pack_writer.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>

#include "sinks/files/folder.h"

namespace kollect::sinks::git {

namespace {

constexpr int kLevel = 4;  // rows compress well at any level; git repacks for good anyway
constexpr std::size_t kCountAt = 8;

/// One deflate stream that is reset for every object.
class Deflater {
 public:
  Deflater() { ok_ = deflateInit(&stream_, kLevel) == Z_OK; }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void run(const Pieces& content, std::string& out) {
    deflateReset(&stream_);
    for (const auto& piece : content.all()) feed(piece, Z_NO_FLUSH, out);
    feed({}, Z_FINISH, out);
  }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  void feed(std::string_view text, int flush, std::string& out) {
    std::array<unsigned char, 16384> buffer{};
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      stream_.next_out = buffer.data();
      stream_.avail_out = buffer.size();
      deflate(&stream_, flush);
      out.append(reinterpret_cast<const char*>(buffer.data()), buffer.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
  bool ok_ = false;
};

/// Type and size as the pack format writes them: four bits, then seven a byte.
void append_head(std::string& out, ObjectType type, std::size_t size) {
  unsigned char byte =
      static_cast<unsigned char>((static_cast<unsigned>(type) << 4U) | (size & 0xfU));
  size >>= 4U;
  while (size > 0) {
    out += static_cast<char>(byte | 0x80U);
    byte = static_cast<unsigned char>(size & 0x7fU);
    size >>= 7U;
  }
  out += static_cast<char>(byte);
}

}  // namespace

struct PackWriter::Impl {
  std::filesystem::path path;
  std::function<bool(const Oid&)> exists;
  Fd fd;
  Deflater deflater;
  std::unordered_set<Oid, OidHash> added;
  std::string buffer;
  std::uint32_t count = 0;

  base::Result<> flush(std::size_t above) {
    if (buffer.size() <= above) return {};
    std::string_view rest = buffer;
    while (!rest.empty()) {
      const auto n = ::write(fd.get(), rest.data(), rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return system_error("cannot write", path.string(), errno);
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    buffer.clear();
    return {};
  }
};

PackWriter::PackWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PackWriter::PackWriter(PackWriter&&) noexcept = default;
PackWriter::~PackWriter() {
  if (impl_) ::unlink(impl_->path.c_str());
}

base::Result<PackWriter> PackWriter::create(std::filesystem::path path,
                                            std::function<bool(const Oid&)> exists) {
  auto impl = std::make_unique<Impl>();
  impl->path = std::move(path);
  impl->exists = std::move(exists);
  impl->fd = Fd(::open(impl->path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!impl->fd.valid()) return system_error("cannot write", impl->path.string(), errno);
  if (!impl->deflater.ok()) return base::terminal("cannot start compression");
  impl->buffer.assign("PACK\0\0\0\2\0\0\0\0", 12);
  return PackWriter(std::move(impl));
}

base::Result<> PackWriter::add(ObjectType type, const Oid& oid, const Pieces& content) {
  if (!impl_->added.insert(oid).second || impl_->exists(oid)) return {};
  append_head(impl_->buffer, type, content.size());
  impl_->deflater.run(content, impl_->buffer);
  ++impl_->count;
  return impl_->flush(1U << 20U);
}

base::Result<> PackWriter::finish() {
  KL_TRY(impl_->flush(0));
  std::array<unsigned char, 4> count{};
  for (std::size_t i = 0; i < 4; ++i) {
    count.at(i) = static_cast<unsigned char>(impl_->count >> (24U - 8U * i));
  }
  if (::pwrite(impl_->fd.get(), count.data(), count.size(), kCountAt) != 4) {
    return system_error("cannot write", impl_->path.string(), errno);
  }
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(),
                                                                     &EVP_MD_CTX_free);
  EVP_DigestInit_ex(hash.get(), EVP_sha1(), nullptr);
  std::array<unsigned char, 65536> piece{};
  off_t at = 0;
  while (true) {
    const auto n = ::pread(impl_->fd.get(), piece.data(), piece.size(), at);
    if (n < 0) return system_error("cannot read", impl_->path.string(), errno);
    if (n == 0) break;
    EVP_DigestUpdate(hash.get(), piece.data(), static_cast<std::size_t>(n));
    at += n;
  }
  Oid sum;
  EVP_DigestFinal_ex(hash.get(), sum.bytes.data(), nullptr);
  impl_->buffer = sum.raw();
  return impl_->flush(0);
}

std::uint32_t PackWriter::count() const {
  return impl_->count;
}
const std::filesystem::path& PackWriter::path() const {
  return impl_->path;
}

}  // namespace kollect::sinks::git
