#include "inventory/attribute_blocks.h"

#include <algorithm>
#include <cstring>

namespace kollect::inventory {
namespace {

// Large enough that keys and images repeat inside a block, small enough that unpacking one for a
// single row is cheap.
constexpr std::size_t kBlockBytes = 64U << 10U;
constexpr std::size_t kWorthCompressing = 512;
constexpr int kLevel = 1;

}  // namespace

BlockRef AttributeBlocks::add(std::string_view text) {
  if (!open_.empty() && open_.size() + text.size() > kBlockBytes) close_block();
  BlockRef ref{.block = static_cast<std::uint32_t>(blocks_.size()),
               .offset = static_cast<std::uint32_t>(open_.size()),
               .size = static_cast<std::uint32_t>(text.size())};
  open_ += text;
  return ref;
}

void AttributeBlocks::close_block() {
  Block block;
  block.unpacked = static_cast<std::uint32_t>(open_.size());
  std::string_view stored = open_;
  if (open_.size() >= kWorthCompressing) {
    if (!context_) context_.reset(ZSTD_createCCtx());
    scratch_.resize(ZSTD_compressBound(open_.size()));
    const std::size_t size = ZSTD_compressCCtx(context_.get(), scratch_.data(), scratch_.size(),
                                               open_.data(), open_.size(), kLevel);
    if (ZSTD_isError(size) == 0 && size < open_.size()) stored = {scratch_.data(), size};
  }
  block.stored = static_cast<std::uint32_t>(stored.size());
  block.bytes = std::make_unique_for_overwrite<char[]>(stored.size());
  std::memcpy(block.bytes.get(), stored.data(), stored.size());
  bytes_ += stored.size() + sizeof(Block);
  blocks_.push_back(std::move(block));
  open_.clear();
}

void AttributeBlocks::finish() {
  if (!open_.empty()) close_block();
  blocks_.shrink_to_fit();
  open_ = {};
  scratch_ = {};
  context_.reset();
}

std::string_view AttributeBlocks::Reader::read(const BlockRef& ref) {
  auto it = std::ranges::find(recent_, ref.block, &Unpacked::block);
  if (it != recent_.end()) {
    recent_.splice(recent_.begin(), recent_, it);
  } else {
    if (recent_.size() >= keep_) {
      recent_.splice(recent_.begin(), recent_, std::prev(recent_.end()));
    } else {
      recent_.emplace_front();
    }
    const Block& block = blocks_.blocks_[ref.block];
    Unpacked& unpacked = recent_.front();
    unpacked.block = ref.block;
    if (block.stored == block.unpacked) {
      unpacked.bytes.assign(block.bytes.get(), block.stored);
    } else {
      unpacked.bytes.resize(block.unpacked);
      ZSTD_decompress(unpacked.bytes.data(), unpacked.bytes.size(), block.bytes.get(),
                      block.stored);
    }
  }
  return std::string_view(recent_.front().bytes).substr(ref.offset, ref.size);
}

}  // namespace kollect::inventory
