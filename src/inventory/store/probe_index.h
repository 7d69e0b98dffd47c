// A hash index of 32-bit numbers that knows nothing of what they stand for.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace kollect::inventory {

/// Open addressing with linear probing: five bytes a slot, of which one is a tag that spares most
/// looks at what the numbers stand for. A number can be marked. Not thread-safe. `hash_of(number)`
/// gives the hash under which a number was inserted.
class ProbeIndex {
 public:
  static constexpr std::size_t kNone = SIZE_MAX;

  /// The slot of the number for which `equal(number)` holds, or kNone.
  template <class Equal>
  [[nodiscard]] std::size_t find(std::uint64_t hash, Equal&& equal) const {
    if (size_ == 0) return kNone;
    const std::uint8_t tag = tag_of(hash);
    for (std::size_t slot = home(hash); tags_[slot] != 0; slot = after(slot)) {
      if ((tags_[slot] & kTagBits) == tag && equal(numbers_[slot])) return slot;
    }
    return kNone;
  }

  /// The number must not be there.
  template <class HashOf>
  std::size_t insert(std::uint64_t hash, std::uint32_t number, HashOf&& hash_of) {
    if ((size_ + 1) * 20 > capacity() * 17) resize(capacity() + capacity() / 2 + 16, hash_of);
    ++size_;
    return place(hash, number, 0);
  }

  template <class HashOf>
  void erase(std::size_t slot, HashOf&& hash_of) {
    std::size_t hole = slot;
    for (std::size_t next = after(hole); tags_[next] != 0; next = after(next)) {
      // The entry may move into the hole if its home is not between the two.
      const std::size_t start = home(hash_of(numbers_[next]));
      const bool stays =
          hole < next ? start > hole && start <= next : start > hole || start <= next;
      if (stays) continue;
      tags_[hole] = tags_[next];
      numbers_[hole] = numbers_[next];
      hole = next;
    }
    tags_[hole] = 0;
    --size_;
    if (capacity() > 64 && size_ * 4 < capacity()) resize(size_ * 2 + 16, hash_of);
  }

  [[nodiscard]] std::uint32_t number(std::size_t slot) const { return numbers_[slot]; }
  void set_number(std::size_t slot, std::uint32_t number) { numbers_[slot] = number; }
  [[nodiscard]] bool marked(std::size_t slot) const { return (tags_[slot] & kMark) != 0; }
  void mark(std::size_t slot, bool on) {
    tags_[slot] = static_cast<std::uint8_t>((tags_[slot] & kTagBits) | (on ? kMark : 0U));
  }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Calls `visit(number, marked)` for all.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t slot = 0; slot < capacity(); ++slot) {
      if (tags_[slot] != 0) visit(numbers_[slot], marked(slot));
    }
  }
  [[nodiscard]] std::size_t memory_bytes() const {
    return tags_.capacity() + numbers_.capacity() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::uint8_t kMark = 0x80;
  static constexpr std::uint8_t kTagBits = 0x7f;

  [[nodiscard]] std::size_t capacity() const { return tags_.size(); }
  /// 1 to 127; 0 is an empty slot.
  static std::uint8_t tag_of(std::uint64_t hash) {
    return static_cast<std::uint8_t>(1 + (hash & 0xffffU) % 127);
  }
  [[nodiscard]] std::size_t home(std::uint64_t hash) const {
    return (hash >> 32U) * capacity() >> 32U;
  }
  [[nodiscard]] std::size_t after(std::size_t slot) const {
    return slot + 1 == capacity() ? 0 : slot + 1;
  }
  std::size_t place(std::uint64_t hash, std::uint32_t number, std::uint8_t mark_bit) {
    std::size_t slot = home(hash);
    while (tags_[slot] != 0) slot = after(slot);
    tags_[slot] = static_cast<std::uint8_t>(tag_of(hash) | mark_bit);
    numbers_[slot] = number;
    return slot;
  }
  template <class HashOf>
  void resize(std::size_t wanted, HashOf&& hash_of) {
    const std::vector<std::uint8_t> tags = std::exchange(tags_, std::vector<std::uint8_t>(wanted));
    const std::vector<std::uint32_t> numbers =
        std::exchange(numbers_, std::vector<std::uint32_t>(wanted));
    for (std::size_t slot = 0; slot < tags.size(); ++slot) {
      if (tags[slot] == 0) continue;
      place(hash_of(numbers[slot]), numbers[slot], tags[slot] & kMark);
    }
  }

  std::vector<std::uint8_t> tags_;
  std::vector<std::uint32_t> numbers_;
  std::size_t size_ = 0;
};

}  // namespace kollect::inventory
