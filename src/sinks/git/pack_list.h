// Which objects a pack that is being written has, and its index when it is complete.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "sinks/files/place_file.h"
#include "sinks/git/oid.h"

namespace kollect::sinks::git {

/// Where an object stands in a pack file.
struct PackEntry {
  Oid oid;
  std::uint32_t crc = 0;  ///< CRC-32 of its bytes in the file
  std::uint64_t offset = 0;
};

/// The last few thousand entries are in memory; the others lie in a file without a name, in runs
/// sorted by object, with a Bloom filter of two bytes an entry for each run. Used by one thread.
class PackList {
 public:
  /// The file is made at this path, and its name taken away at once.
  static base::Result<PackList> create(const std::filesystem::path& path);

  [[nodiscard]] base::Result<bool> contains(const Oid& oid) const;
  /// Of an object that is not in the list. At most 2^32 - 1 fit.
  base::Result<> add(const PackEntry& entry);
  [[nodiscard]] std::uint32_t size() const {
    return static_cast<std::uint32_t>(runs_.size()) * kRun +
           static_cast<std::uint32_t>(last_.size());
  }

  /// Writes the index of the pack with this checksum (format: git's pack index, version 2), by a
  /// temporary file in the same folder. Merges the runs; the list is not to be used afterwards.
  base::Result<> write_index(const std::filesystem::path& path, const Oid& pack_sum);

 private:
  static constexpr std::uint32_t kRun = 8192;  ///< entries of a run

  /// Tells of most objects that are not in a run that they are not.
  class Filter {
   public:
    Filter() : bits_(kBits / 64) {}
    void add(const Oid& oid);
    [[nodiscard]] bool may_have(const Oid& oid) const;

   private:
    static constexpr std::uint32_t kBits = 16 * kRun;
    std::vector<std::uint64_t> bits_;
  };
  class Merge;

  PackList(Fd file, std::string shown)
      : file_(std::move(file)), shown_(std::move(shown)), places_(2 * std::size_t{kRun}) {}
  [[nodiscard]] bool in_last(const Oid& oid) const;
  [[nodiscard]] base::Result<bool> in_run(std::size_t run, const Oid& oid) const;
  base::Result<> end_run();
  base::Result<> write_tables(const Fd& index, const std::string& shown);

  Fd file_;
  std::string shown_;
  std::vector<Filter> runs_;           ///< of those that are in the file
  std::vector<PackEntry> last_;        ///< those that are not yet
  std::vector<std::uint16_t> places_;  ///< hash table over last_: a place + 1; 0: free
  std::array<std::uint32_t, 256> by_first_byte_{};
};

}  // namespace kollect::sinks::git
