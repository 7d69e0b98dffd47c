#include "sinks/git/pack_writer.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>

#include "sinks/files/place_file.h"
#include "sinks/git/deflater.h"
#include "sinks/git/pack_list.h"

namespace kollect::sinks::git {

namespace {

constexpr std::size_t kCountAt = 8;
constexpr std::size_t kBuffer = 1U << 20U;

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
  Impl(std::filesystem::path the_path, std::function<bool(const Oid&)> the_exists, Fd file,
       PackList list)
      : path(std::move(the_path)),
        exists(std::move(the_exists)),
        fd(std::move(file)),
        objects(std::move(list)) {}

  std::filesystem::path path;
  std::function<bool(const Oid&)> exists;
  Fd fd;
  PackList objects;
  Deflater deflater;
  FilePart out{fd, path.native(), 0};
  Oid sum = {};  ///< of the finished file
};

PackWriter::PackWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PackWriter::PackWriter(PackWriter&&) noexcept = default;
PackWriter::~PackWriter() {
  if (impl_) ::unlink(impl_->path.c_str());
}

base::Result<PackWriter> PackWriter::create(std::filesystem::path path,
                                            std::function<bool(const Oid&)> exists) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.valid()) return system_error("cannot write", path.string(), errno);
  auto list = path;
  KL_ASSIGN(auto objects, PackList::create(list.replace_extension(".list")));
  auto impl =
      std::make_unique<Impl>(std::move(path), std::move(exists), std::move(fd), std::move(objects));
  if (!impl->deflater.ok()) return base::terminal("cannot start compression");
  impl->out.text().assign("PACK\0\0\0\2\0\0\0\0", 12);
  return PackWriter(std::move(impl));
}

base::Result<> PackWriter::add(ObjectType type, const Oid& oid, const Pieces& content) {
  if (impl_->exists(oid)) return {};
  KL_ASSIGN(const bool twice, impl_->objects.contains(oid));
  if (twice) return {};
  std::string& out = impl_->out.text();
  const std::uint64_t offset = impl_->out.end();
  std::size_t counted = out.size();
  uLong crc = 0;
  const auto count_up = [&] {
    crc = ::crc32(crc, reinterpret_cast<const Bytef*>(out.data() + counted),
                  static_cast<uInt>(out.size() - counted));
    counted = out.size();
  };
  base::Result<> flushed;
  append_head(out, type, content.size());
  impl_->deflater.run(type, content, out, [&] {
    if (out.size() <= kBuffer || !flushed.has_value()) return;
    count_up();
    flushed = impl_->out.flush();
    counted = out.size();
  });
  KL_TRY(std::move(flushed));
  count_up();
  KL_TRY(impl_->objects.add({oid, static_cast<std::uint32_t>(crc), offset}));
  return impl_->out.flush(kBuffer);
}

base::Result<> PackWriter::finish() {
  KL_TRY(impl_->out.flush());
  std::array<unsigned char, 4> count{};
  for (std::size_t i = 0; i < 4; ++i) {
    count.at(i) = static_cast<unsigned char>(this->count() >> (24U - 8U * i));
  }
  if (::pwrite(impl_->fd.get(), count.data(), count.size(), kCountAt) != 4) {
    return system_error("cannot write", impl_->path.string(), errno);
  }
  KL_ASSIGN(impl_->sum, sha1_of(impl_->fd, impl_->path.string()));
  impl_->out.text() = impl_->sum.raw();
  return impl_->out.flush();
}

base::Result<> PackWriter::install(const std::filesystem::path& folder) {
  const std::string name = "pack-" + impl_->sum.hex();
  const auto pack = folder / (name + ".pack");
  if (::rename(impl_->path.c_str(), pack.c_str()) != 0) {
    return system_error("cannot write", pack.string(), errno);
  }
  // The index comes last: a pack without one is not looked at.
  const auto index = folder / (name + ".idx");
  auto written = impl_->objects.write_index(index, impl_->sum);
  // Nobody would remove it, and the disk that was too full for the index would stay full.
  if (!written.has_value() && ::access(index.c_str(), F_OK) != 0) ::unlink(pack.c_str());
  return written;
}

std::uint32_t PackWriter::count() const {
  return impl_->objects.size();
}
}  // namespace kollect::sinks::git
