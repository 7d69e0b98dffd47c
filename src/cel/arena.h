// Memory of one evaluation (or one compilation): bump allocation, freed as a whole, with a byte
// limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

namespace kollect::cel {

/// Not thread-safe. The first bytes come from a buffer inside the object, so that small evaluations
/// do not touch the heap. Objects are never destroyed: only trivially destructible types may live
/// here.
class Arena {
 public:
  static constexpr std::size_t kAlign =
      16;  ///< of the largest type that lives here (128-bit integers)
  static constexpr std::size_t kInline = 2048;
  static constexpr std::size_t kMaxChunk = std::size_t{1} << 20U;

  explicit Arena(std::size_t max_bytes = SIZE_MAX) : left_(max_bytes) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Uninitialised memory, nullptr when the limit would be passed.
  void* allocate(std::size_t bytes) {
    bytes = (bytes + (kAlign - 1)) & ~(kAlign - 1);
    if (bytes <= static_cast<std::size_t>(end_ - at_)) [[likely]] {
      char* result = at_;
      at_ += bytes;
      return result;
    }
    return allocate_slow(bytes);
  }

  template <class T>
  T* make_array(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= kAlign);
    if (count > SIZE_MAX / sizeof(T) / 2) return nullptr;
    return static_cast<T*>(allocate(count * sizeof(T)));
  }

  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= kAlign);
    void* memory = allocate(sizeof(T));
    return memory == nullptr ? nullptr : new (memory) T{std::forward<Args>(args)...};
  }

  /// A copy of the text that lives as long as the arena; empty when the limit would be passed.
  std::string_view copy(std::string_view text) {
    auto* to = static_cast<char*>(allocate(text.size()));
    if (to == nullptr || text.empty()) return {};
    std::memcpy(to, text.data(), text.size());
    return {to, text.size()};
  }

 private:
  void* allocate_slow(std::size_t bytes) {
    if (bytes > left_) return nullptr;
    std::size_t size = next_chunk_ < bytes ? bytes : next_chunk_;
    if (size > left_) size = left_ & ~(kAlign - 1);
    if (size < bytes) return nullptr;
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    left_ -= size;
    if (next_chunk_ < kMaxChunk) next_chunk_ *= 2;
    char* result = chunks_.back().get();
    // The rest of the older chunk may be larger than that of the new one.
    if (static_cast<std::size_t>(end_ - at_) < size - bytes) {
      at_ = result + bytes;
      end_ = result + size;
    }
    return result;
  }

  alignas(kAlign) char inline_[kInline];
  char* at_ = inline_;
  char* end_ = inline_ + kInline;
  std::size_t left_;
  std::size_t next_chunk_ = 8192;
  std::vector<std::unique_ptr<char[]>> chunks_;
};

}  // namespace kollect::cel
