#include "sinks/git/pack_writer.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/files.h"
#include "sinks/files/folder.h"
#include "sinks/git/deflater.h"

namespace kollect::sinks::git {

namespace {

constexpr std::size_t kCountAt = 8;

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

/// Bytes of a number, the highest first.
template <class T>
void append_number(std::string& out, T number) {
  for (int shift = 8 * (static_cast<int>(sizeof(T)) - 1); shift >= 0; shift -= 8) {
    out += static_cast<char>((number >> static_cast<unsigned>(shift)) & 0xffU);
  }
}

/// Finds entries by the names of their objects: eight bytes an entry, where a set of the names
/// would take sixty.
class EntryNumbers {
 public:
  /// Notes the entry that is about to be added to `entries`; false when the object has one.
  bool note_next(const PackEntries& entries, const Oid& oid) {
    if (slots_.size() < 2 * (entries.size() + 1)) grow(entries);
    auto& slot = slots_[find(entries, oid)];
    if (slot != 0) return false;
    slot = static_cast<std::uint32_t>(entries.size()) + 1;
    return true;
  }

 private:
  [[nodiscard]] std::size_t find(const PackEntries& entries, const Oid& oid) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = OidHash{}(oid)&mask;
    while (slots_[at] != 0 && entries[slots_[at] - 1].oid != oid) at = (at + 1) & mask;
    return at;
  }
  void grow(const PackEntries& entries) {
    slots_.assign(std::max<std::size_t>(64, 2 * slots_.size()), 0);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      slots_[find(entries, entries[i].oid)] = static_cast<std::uint32_t>(i) + 1;
    }
  }

  std::vector<std::uint32_t> slots_;  ///< a power of two of them; number + 1, 0: free
};

Oid sha1(std::string_view text) {
  Oid sum;
  EVP_Digest(text.data(), text.size(), sum.bytes.data(), nullptr, EVP_sha1(), nullptr);
  return sum;
}

}  // namespace

std::string pack_index(PackEntries entries, const Oid& pack_sum) {
  constexpr std::uint64_t kFar = 1ULL << 31U;
  std::ranges::sort(entries, {}, &PackEntry::oid);
  std::string out("\377tOc\0\0\0\2", 8);
  out.reserve(1100 + entries.size() * 28);
  auto next = entries.begin();
  for (unsigned first = 0; first < 256; ++first) {
    while (next != entries.end() && next->oid.bytes[0] <= first) ++next;
    append_number(out, static_cast<std::uint32_t>(next - entries.begin()));
  }
  for (const PackEntry& entry : entries) out += entry.oid.raw();
  for (const PackEntry& entry : entries) append_number(out, entry.crc);
  std::string far;  // offsets that need more than 31 bits, in a table of their own
  for (const PackEntry& entry : entries) {
    if (entry.offset < kFar) {
      append_number(out, static_cast<std::uint32_t>(entry.offset));
    } else {
      append_number(out, static_cast<std::uint32_t>(kFar | far.size() / 8));
      append_number(far, entry.offset);
    }
  }
  out += far;
  out += pack_sum.raw();
  return out += sha1(out).raw();
}

struct PackWriter::Impl {
  std::filesystem::path path;
  std::function<bool(const Oid&)> exists;
  Fd fd;
  Deflater deflater;
  PackEntries entries;
  EntryNumbers numbers;
  std::string buffer;
  std::uint64_t flushed = 0;  ///< bytes of the file before the buffer
  Oid sum = {};               ///< of the finished file

  base::Result<> flush(std::size_t above) {
    if (buffer.size() <= above) return {};
    std::string_view rest = buffer;
    while (!rest.empty()) {
      const auto n = ::write(fd.get(), rest.data(), rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return system_error("cannot write", path.string(), errno);
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    flushed += buffer.size();
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
  if (impl_->exists(oid) || !impl_->numbers.note_next(impl_->entries, oid)) return {};
  std::string& out = impl_->buffer;
  const std::size_t begin = out.size();
  append_head(out, type, content.size());
  impl_->deflater.run(type, content, out);
  const auto crc = ::crc32(0, reinterpret_cast<const Bytef*>(out.data() + begin),
                           static_cast<uInt>(out.size() - begin));
  impl_->entries.push_back({oid, static_cast<std::uint32_t>(crc), impl_->flushed + begin});
  return impl_->flush(1U << 20U);
}

base::Result<> PackWriter::finish() {
  KL_TRY(impl_->flush(0));
  std::array<unsigned char, 4> count{};
  for (std::size_t i = 0; i < 4; ++i) {
    count.at(i) = static_cast<unsigned char>(this->count() >> (24U - 8U * i));
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
  EVP_DigestFinal_ex(hash.get(), impl_->sum.bytes.data(), nullptr);
  impl_->buffer = impl_->sum.raw();
  return impl_->flush(0);
}

base::Result<> PackWriter::install(const std::filesystem::path& folder) {
  const std::string name = "pack-" + impl_->sum.hex();
  const auto pack = folder / (name + ".pack");
  if (::rename(impl_->path.c_str(), pack.c_str()) != 0) {
    return system_error("cannot write", pack.string(), errno);
  }
  // The index comes last: a pack without one is not looked at.
  return base::write_file_atomic(folder / (name + ".idx"),
                                 pack_index(std::move(impl_->entries), impl_->sum), 0444);
}

std::uint32_t PackWriter::count() const {
  return static_cast<std::uint32_t>(impl_->entries.size());
}
}  // namespace kollect::sinks::git
