// A growing array whose elements stay where they are.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>

namespace kollect::inventory {

/// One thread at a time appends and changes. Others may read elements meanwhile, without a lock, if
/// they learnt of them after these were written (through a lock that both took).
template <class T>
class StableVector {
 public:
  T& operator[](std::uint32_t index) {
    const Place place = find(index);
    return chunks_[place.chunk][place.offset];
  }
  const T& operator[](std::uint32_t index) const {
    const Place place = find(index);
    return chunks_[place.chunk][place.offset];
  }
  /// The index of the new element.
  std::uint32_t append(T value) {
    const Place place = find(size_);
    if (!chunks_[place.chunk]) chunks_[place.chunk] = std::make_unique<T[]>(kFirst << place.chunk);
    chunks_[place.chunk][place.offset] = std::move(value);
    return size_++;
  }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] std::size_t memory_bytes() const {
    std::size_t elements = 0;
    for (unsigned i = 0; i < chunks_.size() && chunks_[i]; ++i) elements += kFirst << i;
    return elements * sizeof(T);
  }

 private:
  struct Place {
    unsigned chunk;
    std::size_t offset;
  };
  // Chunks of 16, 32, 64 ... elements: twenty-eight of them are all that 32 bits can name.
  static constexpr std::size_t kFirst = 16;
  static Place find(std::uint32_t index) {
    const std::uint64_t shifted = index + std::uint64_t{kFirst};
    const auto chunk = static_cast<unsigned>(std::bit_width(shifted)) - 5;
    return {chunk, shifted - (kFirst << chunk)};
  }

  std::array<std::unique_ptr<T[]>, 28> chunks_;
  std::uint32_t size_ = 0;
};

}  // namespace kollect::inventory
