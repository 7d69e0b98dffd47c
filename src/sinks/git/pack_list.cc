#include "sinks/git/pack_list.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kollect::sinks::git {

namespace {

constexpr std::size_t kRecord = 32;  // in the file: name, CRC, offset
constexpr std::size_t kBuffer = 64U << 10U;
constexpr std::uint32_t kFewest = 8192;  // entries at a time while the index is written
constexpr std::size_t kName = 20;
constexpr std::uint64_t kFar = 1ULL << 31U;

std::uint32_t tag_of(const Oid& oid) {
  std::uint32_t tag = 0;
  std::memcpy(&tag, oid.bytes.data(), sizeof tag);
  return tag;
}

PackEntry read_record(const char* at) {
  PackEntry out;
  std::memcpy(out.oid.bytes.data(), at, kName);
  std::memcpy(&out.crc, at + kName, sizeof out.crc);
  std::memcpy(&out.offset, at + kName + sizeof out.crc, sizeof out.offset);
  return out;
}

/// Bytes of a number, the highest first.
template <class T>
void append_number(std::string& out, T number) {
  for (int shift = 8 * (static_cast<int>(sizeof(T)) - 1); shift >= 0; shift -= 8) {
    out += static_cast<char>((number >> static_cast<unsigned>(shift)) & 0xffU);
  }
}

/// Removes a file that was not completed.
class Unfinished {
 public:
  explicit Unfinished(std::filesystem::path path) : path_(std::move(path)) {}
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  void finished() { path_.clear(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

base::Result<PackList> PackList::create(const std::filesystem::path& path) {
  KL_ASSIGN(auto file, nameless_file(path));
  return PackList(std::move(file), path.string());
}

base::Result<PackEntry> PackList::entry(std::uint32_t number) const {
  if (number >= written_) return read_record(buffer_.data() + (number - written_) * kRecord);
  std::array<char, kRecord> record{};
  KL_TRY(read_at(file_, static_cast<off_t>(number * kRecord), record, shown_));
  return read_record(record.data());
}

base::Result<bool> PackList::contains(const Oid& oid) const {
  if (slots_.empty()) return false;
  const std::size_t mask = slots_.size() - 1;
  const std::uint32_t tag = tag_of(oid);
  for (std::size_t at = tag & mask; slots_[at].number != 0; at = (at + 1) & mask) {
    if (slots_[at].tag != tag) continue;
    KL_ASSIGN(const PackEntry found, entry(slots_[at].number - 1));
    if (found.oid == oid) return true;
  }
  return false;
}

void PackList::place(Slot slot) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = slot.tag & mask;
  while (slots_[at].number != 0) at = (at + 1) & mask;
  slots_[at] = slot;
}

void PackList::grow() {
  const auto old = std::move(slots_);
  slots_.assign(std::max<std::size_t>(64, 2 * old.size()), {});
  for (const Slot& slot : old) {
    if (slot.number != 0) place(slot);
  }
}

base::Result<> PackList::add(const PackEntry& entry) {
  if (4 * (std::size_t{size_} + 1) > 3 * slots_.size()) grow();
  place({tag_of(entry.oid), ++size_});
  ++by_first_byte_.at(entry.oid.bytes[0]);
  buffer_ += entry.oid.raw();
  buffer_.append(reinterpret_cast<const char*>(&entry.crc), sizeof entry.crc);
  buffer_.append(reinterpret_cast<const char*>(&entry.offset), sizeof entry.offset);
  return buffer_.size() < kBuffer ? base::Result<>() : flush();
}

base::Result<> PackList::flush() {
  KL_TRY(write_at(file_, static_cast<off_t>(written_ * kRecord), buffer_, shown_));
  written_ = size_;
  buffer_.clear();
  return {};
}

base::Result<std::vector<PackEntry>> PackList::sorted(unsigned first, unsigned last) const {
  std::vector<PackEntry> out;
  std::size_t count = 0;
  for (unsigned byte = first; byte < last; ++byte) count += by_first_byte_.at(byte);
  out.reserve(count);
  std::string piece;
  const std::size_t end = written_ * kRecord;
  for (std::size_t at = 0; at < end; at += piece.size()) {
    piece.resize(std::min(kBuffer, end - at));
    KL_TRY(read_at(file_, static_cast<off_t>(at), piece, shown_));
    for (std::size_t i = 0; i < piece.size(); i += kRecord) {
      const auto byte = static_cast<unsigned char>(piece[i]);
      if (byte >= first && byte < last) out.push_back(read_record(piece.data() + i));
    }
  }
  std::ranges::sort(out, {}, &PackEntry::oid);
  return out;
}

base::Result<> PackList::write_tables(const Fd& index, const std::string& shown) const {
  std::string head("\377tOc\0\0\0\2", 8);
  std::uint32_t below = 0;
  for (const std::uint32_t count : by_first_byte_) append_number(head, below += count);
  KL_TRY(write_at(index, 0, head, shown));
  const std::size_t names = head.size();
  const std::size_t sums = names + size_ * kName;
  const std::size_t offsets = sums + size_ * sizeof(std::uint32_t);
  const std::uint32_t most = std::max(kFewest, size_ / 16);
  std::string far;  // offsets that need more than 31 bits, in a table of their own
  std::size_t done = 0;
  for (unsigned first = 0; first < 256;) {
    unsigned last = first + 1;
    std::uint32_t count = by_first_byte_.at(first);
    while (last < 256 && count + by_first_byte_.at(last) <= most) {
      count += by_first_byte_.at(last++);
    }
    KL_ASSIGN(const auto entries, sorted(first, last));
    first = last;
    std::string name_text;
    std::string sum_text;
    std::string offset_text;
    for (const PackEntry& entry : entries) {
      name_text += entry.oid.raw();
      append_number(sum_text, entry.crc);
      if (entry.offset < kFar) {
        append_number(offset_text, static_cast<std::uint32_t>(entry.offset));
      } else {
        append_number(offset_text, static_cast<std::uint32_t>(kFar | far.size() / 8));
        append_number(far, entry.offset);
      }
    }
    KL_TRY(write_at(index, static_cast<off_t>(names + done * kName), name_text, shown));
    KL_TRY(write_at(index, static_cast<off_t>(sums + done * 4), sum_text, shown));
    KL_TRY(write_at(index, static_cast<off_t>(offsets + done * 4), offset_text, shown));
    done += entries.size();
  }
  return write_at(index, static_cast<off_t>(offsets + size_ * 4), far, shown);
}

base::Result<> PackList::write_index(const std::filesystem::path& path, const Oid& pack_sum) {
  KL_TRY(flush());
  // Git removes what is called so and left over.
  const auto temporary = path.parent_path() / ("tmp_idx_" + path.stem().string());
  const auto shown = temporary.string();
  const Fd index(::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0444));
  if (!index.valid()) return system_error("cannot write", shown, errno);
  Unfinished unfinished(temporary);
  KL_TRY(write_tables(index, shown));
  const auto append = [&](const Oid& sum) {
    return write_at(index, ::lseek(index.get(), 0, SEEK_END), sum.raw(), shown);
  };
  KL_TRY(append(pack_sum));
  KL_ASSIGN(const Oid sum, sha1_of(index, shown));
  KL_TRY(append(sum));
  if (::fsync(index.get()) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
    return system_error("cannot write", path.string(), errno);
  }
  unfinished.finished();
  return {};
}

}  // namespace kollect::sinks::git
