#include "sinks/git/pack_list.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <queue>

namespace kollect::sinks::git {

namespace {

constexpr std::size_t kRecord = 32;  // in the file: name, CRC, offset
constexpr std::size_t kBuffer = 64U << 10U;
constexpr std::size_t kMergeBuffers = 512U << 10U;  // of all runs, where a run has kFewest entries
constexpr std::size_t kFewest = 64;
constexpr std::size_t kName = 20;
constexpr std::uint64_t kFar = 1ULL << 31U;

/// Some of the bytes of an object's name, which is a hash.
std::uint32_t number_in(const Oid& oid, std::size_t at) {
  std::uint32_t out = 0;
  std::memcpy(&out, oid.bytes.data() + at, sizeof out);
  return out;
}

void append_record(std::string& out, const PackEntry& entry) {
  out += entry.oid.raw();
  out.append(reinterpret_cast<const char*>(&entry.crc), sizeof entry.crc);
  out.append(reinterpret_cast<const char*>(&entry.offset), sizeof entry.offset);
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

void PackList::Filter::add(const Oid& oid) {
  for (std::size_t at = 0; at < 16; at += 4) {
    const std::uint32_t bit = number_in(oid, at) % kBits;
    bits_[bit / 64] |= 1ULL << (bit % 64);
  }
}

bool PackList::Filter::may_have(const Oid& oid) const {
  for (std::size_t at = 0; at < 16; at += 4) {
    const std::uint32_t bit = number_in(oid, at) % kBits;
    if ((bits_[bit / 64] >> (bit % 64) & 1U) == 0) return false;
  }
  return true;
}

base::Result<PackList> PackList::create(const std::filesystem::path& path) {
  KL_ASSIGN(auto file, nameless_file(path));
  return PackList(std::move(file), path.string());
}

bool PackList::in_last(const Oid& oid) const {
  const std::size_t mask = places_.size() - 1;
  for (std::size_t at = number_in(oid, 16) & mask; places_[at] != 0; at = (at + 1) & mask) {
    if (last_[places_[at] - 1U].oid == oid) return true;
  }
  return false;
}

base::Result<bool> PackList::in_run(std::size_t run, const Oid& oid) const {
  std::array<char, kName> name{};
  for (std::size_t first = run * kRun, last = first + kRun; first < last;) {
    const std::size_t middle = first + (last - first) / 2;
    KL_TRY(read_at(file_, static_cast<off_t>(middle * kRecord), name, shown_));
    const int order = std::memcmp(name.data(), oid.bytes.data(), kName);
    if (order == 0) return true;
    (order < 0 ? first : last) = order < 0 ? middle + 1 : middle;
  }
  return false;
}

base::Result<bool> PackList::contains(const Oid& oid) const {
  if (in_last(oid)) return true;
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    if (!runs_[run].may_have(oid)) continue;
    KL_ASSIGN(const bool found, in_run(run, oid));
    if (found) return true;
  }
  return false;
}

base::Result<> PackList::add(const PackEntry& entry) {
  ++by_first_byte_.at(entry.oid.bytes[0]);
  last_.push_back(entry);
  const std::size_t mask = places_.size() - 1;
  std::size_t at = number_in(entry.oid, 16) & mask;
  while (places_[at] != 0) at = (at + 1) & mask;
  places_[at] = static_cast<std::uint16_t>(last_.size());
  return last_.size() < kRun ? base::Result<>() : end_run();
}

base::Result<> PackList::end_run() {
  std::ranges::sort(last_, {}, &PackEntry::oid);
  FilePart part(file_, shown_, runs_.size() * kRun * kRecord);
  auto& filter = runs_.emplace_back();
  for (const PackEntry& entry : last_) {
    filter.add(entry.oid);
    append_record(part.text(), entry);
    KL_TRY(part.flush(kBuffer));
  }
  last_.clear();
  std::ranges::fill(places_, std::uint16_t{0});
  return part.flush();
}

/// The entries of all runs by name.
class PackList::Merge {
 public:
  explicit Merge(PackList& list) : list_(list) {
    const auto runs = list.runs_.size();
    std::ranges::sort(list.last_, {}, &PackEntry::oid);
    most_ = std::max(kFewest, kMergeBuffers / kRecord / std::max<std::size_t>(1, runs));
    for (std::size_t run = 0; run < runs; ++run) heads_.push_back({run * kRun, (run + 1) * kRun});
  }

  /// Calls `visit` with each; stops at the first error.
  template <class Visit>
  base::Result<> run(const Visit& visit) {
    const auto later = [&](std::size_t a, std::size_t b) { return now(a).oid > now(b).oid; };
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> next(later);
    for (std::size_t i = 0; i < heads_.size(); ++i) {
      KL_TRY(refill(heads_[i]));
      next.push(i);
    }
    auto last = list_.last_.begin();
    while (!next.empty()) {
      const std::size_t first = next.top();
      for (; last != list_.last_.end() && last->oid < now(first).oid; ++last) KL_TRY(visit(*last));
      next.pop();
      KL_TRY(visit(now(first)));
      KL_ASSIGN(const bool more, step(heads_[first]));
      if (more) next.push(first);
    }
    for (; last != list_.last_.end(); ++last) KL_TRY(visit(*last));
    return {};
  }

 private:
  struct Head {
    std::size_t at;  ///< of the next record that is not read
    std::size_t end;
    std::vector<PackEntry> read = {};
    std::size_t place = 0;
  };

  [[nodiscard]] const PackEntry& now(std::size_t head) const {
    return heads_[head].read[heads_[head].place];
  }
  base::Result<bool> step(Head& head) {
    if (++head.place < head.read.size()) return true;
    if (head.at == head.end) return false;
    KL_TRY(refill(head));
    return true;
  }
  base::Result<> refill(Head& head) {
    const std::size_t count = std::min(most_, head.end - head.at);
    text_.resize(count * kRecord);
    KL_TRY(read_at(list_.file_, static_cast<off_t>(head.at * kRecord), text_, list_.shown_));
    head.read.clear();
    for (std::size_t i = 0; i < count; ++i) {
      head.read.push_back(read_record(text_.data() + i * kRecord));
    }
    head.at += count;
    head.place = 0;
    return {};
  }

  PackList& list_;
  std::size_t most_ = 0;  ///< records of a run at a time
  std::vector<Head> heads_;
  std::string text_;
};

base::Result<> PackList::write_tables(const Fd& index, const std::string& shown) {
  std::string head("\377tOc\0\0\0\2", 8);
  std::uint32_t below = 0;
  for (const std::uint32_t count : by_first_byte_) append_number(head, below += count);
  KL_TRY(write_at(index, 0, head, shown));
  const std::size_t count = size();
  FilePart names(index, shown, head.size());
  FilePart sums(index, shown, head.size() + count * kName);
  FilePart offsets(index, shown, head.size() + count * (kName + 4));
  std::string far;  // offsets that need more than 31 bits, in a table of their own
  KL_TRY(Merge(*this).run([&](const PackEntry& entry) -> base::Result<> {
    names.text() += entry.oid.raw();
    append_number(sums.text(), entry.crc);
    if (entry.offset < kFar) {
      append_number(offsets.text(), static_cast<std::uint32_t>(entry.offset));
    } else {
      append_number(offsets.text(), static_cast<std::uint32_t>(kFar | far.size() / 8));
      append_number(far, entry.offset);
    }
    for (FilePart* part : {&names, &sums, &offsets}) KL_TRY(part->flush(kBuffer));
    return {};
  }));
  for (FilePart* part : {&names, &sums, &offsets}) KL_TRY(part->flush());
  return write_at(index, static_cast<off_t>(head.size() + count * (kName + 8)), far, shown);
}

base::Result<> PackList::write_index(const std::filesystem::path& path, const Oid& pack_sum) {
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
