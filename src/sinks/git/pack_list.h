// Which objects a pack that is being written has, and its index when it is complete.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "sinks/git/oid.h"
#include "sinks/git/place_file.h"

namespace kollect::sinks::git {

/// Where an object stands in a pack file.
struct PackEntry {
  Oid oid;
  std::uint32_t crc = 0;  ///< CRC-32 of its bytes in the file
  std::uint64_t offset = 0;
};

/// The entries lie in a file without a name; in memory there are 11 to 21 bytes for each, which
/// tell whether an object is there. Used by one thread.
class PackList {
 public:
  /// The file is made at this path, and its name taken away at once.
  static base::Result<PackList> create(const std::filesystem::path& path);

  [[nodiscard]] base::Result<bool> contains(const Oid& oid) const;
  /// Of an object that is not in the list. At most 2^32 - 1 fit.
  base::Result<> add(const PackEntry& entry);
  [[nodiscard]] std::uint32_t size() const { return size_; }

  /// Writes the index of the pack with this checksum (format: git's pack index, version 2), by a
  /// temporary file in the same folder. Holds a sixteenth of the entries at a time.
  base::Result<> write_index(const std::filesystem::path& path, const Oid& pack_sum);

 private:
  /// The first bytes of an object's name, and its number + 1; 0: free.
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t number = 0;
  };

  PackList(Fd file, std::string shown) : file_(std::move(file)), shown_(std::move(shown)) {}
  [[nodiscard]] base::Result<PackEntry> entry(std::uint32_t number) const;
  void place(Slot slot);
  void grow();
  base::Result<> flush();
  /// Those whose names begin with a byte of [first, last), by name.
  [[nodiscard]] base::Result<std::vector<PackEntry>> sorted(unsigned first, unsigned last) const;
  base::Result<> write_tables(const Fd& index, const std::string& shown) const;

  Fd file_;
  std::string shown_;
  std::string buffer_;         ///< entries that are not in the file yet
  std::uint32_t written_ = 0;  ///< entries that are
  std::uint32_t size_ = 0;
  std::vector<Slot> slots_;  ///< a power of two of them
  std::array<std::uint32_t, 256> by_first_byte_{};
};

}  // namespace kollect::sinks::git
