#include "inventory/string_pool.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace kollect::inventory {
namespace {

constexpr std::size_t kFirstChunk = 1U << 10U;
constexpr std::size_t kChunk = 1U << 16U;

}  // namespace

std::string_view Arena::copy(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > left_) {
    // Small sets (one per target and context) must stay small, so the first chunk is.
    const std::size_t size = std::max(chunks_.empty() ? kFirstChunk : kChunk, text.size());
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    at_ = chunks_.back().get();
    left_ = size;
    bytes_ += size;
  }
  std::memcpy(at_, text.data(), text.size());
  const std::string_view copied(at_, text.size());
  at_ += text.size();
  left_ -= text.size();
  return copied;
}

std::uint32_t StringTable::intern(std::string_view text) {
  if (const auto it = ids_.find(text); it != ids_.end()) return it->second;
  const auto id = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(arena_.copy(text));
  ids_.emplace(texts_.back(), id);
  return id;
}

std::vector<std::uint32_t> StringTable::ranks() const {
  std::vector<std::uint32_t> order(texts_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) { return texts_[a] < texts_[b]; });
  std::vector<std::uint32_t> ranks(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) ranks[order[i]] = i;
  return ranks;
}

std::size_t StringTable::memory_bytes() const {
  constexpr std::size_t kMapNode = 48;
  return arena_.memory_bytes() + texts_.capacity() * sizeof(std::string_view) +
         ids_.size() * kMapNode;
}

}  // namespace kollect::inventory
