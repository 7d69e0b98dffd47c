// Strings at stable addresses: bytes in chunks, and a table of strings that stand once.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kollect::inventory {

/// Copies texts into large chunks. Views stay valid for the arena's life, over moves of the arena
/// too.
class Arena {
 public:
  std::string_view copy(std::string_view text);
  [[nodiscard]] std::size_t memory_bytes() const { return bytes_; }

 private:
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* at_ = nullptr;
  std::size_t left_ = 0;
  std::size_t bytes_ = 0;
};

/// Each distinct text once, named by a number.
class StringTable {
 public:
  std::uint32_t intern(std::string_view text);
  [[nodiscard]] std::string_view text(std::uint32_t id) const { return texts_[id]; }
  /// Position of every id in the bytewise order of the texts.
  [[nodiscard]] std::vector<std::uint32_t> ranks() const;
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  Arena arena_;
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

}  // namespace kollect::inventory
