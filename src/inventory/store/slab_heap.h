// Blocks of bytes in slabs, named by 32 bits; sparse slabs are emptied so that memory goes back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "inventory/store/stable_vector.h"

namespace kollect::inventory {

/// Names a block. 0: none.
using Ref = std::uint32_t;

/// Memory of a slab: from the system, or small from the allocator.
struct FreeSlab {
  std::size_t mapped = 0;  ///< 0: from the allocator
  void operator()(std::byte* bytes) const;
};

struct Slab {
  std::unique_ptr<std::byte[], FreeSlab> bytes;
  std::uint32_t size = 0;
  std::uint32_t filled = 0;  ///< bytes up to the end of the last block
  std::uint32_t live = 0;    ///< bytes of blocks that are not free
  bool leaving = false;      ///< evacuated
};

/// Blocks are appended to the open slab; freed ones leave holes. A slab without blocks goes back to
/// the system at once; when the holes become too many, fragmented() says so and the owner moves the
/// blocks of the sparsest slab elsewhere (evacuate). One thread at a time changes; at() of a block
/// in use needs no lock (stable_vector.h). Up to 16 GiB.
class SlabHeap {
 public:
  /// Uninitialised, 4-byte aligned.
  Ref allocate(std::size_t bytes);
  void free(Ref ref);
  /// The block is to be freed later and not to be moved any more.
  void retire(Ref ref);
  [[nodiscard]] std::byte* at(Ref ref) const {
    return slabs_[ref >> kOffsetBits].bytes.get() + offset_of(ref) + kHeader;
  }
  /// At least what was asked for.
  [[nodiscard]] std::size_t size_of(Ref ref) const;

  /// More than one part in `parts` of the memory is holes.
  [[nodiscard]] bool fragmented(std::size_t parts) const {
    return holes_ > kSmall && holes_ * parts > held_;
  }
  /// Bytes of retired blocks that are not freed yet.
  [[nodiscard]] std::size_t retired_bytes() const { return retired_; }
  /// Chooses the slab with the largest part of holes, and returns its blocks that are in use. The
  /// caller copies them to new blocks and frees (or retires) them; nothing is allocated there
  /// again.
  std::vector<Ref> evacuate();

  [[nodiscard]] std::size_t memory_bytes() const { return held_ + slabs_.memory_bytes(); }

 private:
  enum class State : std::uint32_t { kFree, kUsed, kRetired };
  static constexpr unsigned kOffsetBits = 14;
  static constexpr std::size_t kUnit = 4;
  static constexpr std::size_t kSlab = kUnit << kOffsetBits;
  static constexpr std::size_t kHeader = 4;
  static constexpr std::size_t kSmall = 4096;

  static std::size_t offset_of(Ref ref) { return (ref & ((1U << kOffsetBits) - 1)) * kUnit; }
  static std::unique_ptr<std::byte[], FreeSlab> acquire(std::size_t size);
  [[nodiscard]] std::uint32_t header(Ref ref) const;
  void set_header(Ref ref, std::size_t units, State state);
  std::uint32_t add_slab(std::size_t size);
  void close(std::uint32_t index);
  void release(std::uint32_t index);
  [[nodiscard]] std::size_t next_size() const;

  StableVector<Slab> slabs_;
  std::vector<std::uint32_t> vacant_;  ///< indexes of slabs that went
  std::uint32_t open_ = 0;             ///< 0: none (slab 0 is never used, so that Ref 0 means none)
  std::size_t held_ = 0;               ///< bytes of all slabs
  std::size_t retired_ = 0;
  std::size_t holes_ = 0;  ///< bytes without blocks in slabs that are neither open nor evacuated
};

}  // namespace kollect::inventory
