// Attribute texts in compressed blocks.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <zstd.h>

namespace kollect::inventory {

/// Where a text lies: a block and a range of its unpacked bytes.
struct BlockRef {
  std::uint32_t block = 0;
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

/// Appends texts to an open block; a full block is compressed. One thread writes; after finish()
/// many may read, each with a Reader of its own.
class AttributeBlocks {
 public:
  BlockRef add(std::string_view text);
  /// Compresses the open block and frees what only writing needs.
  void finish();
  [[nodiscard]] std::size_t block_count() const { return blocks_.size(); }
  [[nodiscard]] std::size_t memory_bytes() const { return bytes_ + open_.capacity(); }

  /// Keeps the last few unpacked blocks, since rows are read nearly in the order they were added.
  class Reader {
   public:
    explicit Reader(const AttributeBlocks& blocks, std::size_t keep = 4)
        : blocks_(blocks), keep_(keep) {}
    /// Valid until the next call.
    std::string_view read(const BlockRef& ref);

   private:
    struct Unpacked {
      std::uint32_t block;
      std::string bytes;
    };
    const AttributeBlocks& blocks_;
    std::size_t keep_;
    std::list<Unpacked> recent_;
  };

 private:
  struct Block {
    std::unique_ptr<char[]> bytes;
    std::uint32_t stored = 0;
    std::uint32_t unpacked = 0;  ///< equal to `stored`: not compressed
  };
  struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  void close_block();

  std::vector<Block> blocks_;
  std::string open_;
  std::string scratch_;
  std::unique_ptr<ZSTD_CCtx, FreeContext> context_;
  std::size_t bytes_ = 0;
};

}  // namespace kollect::inventory
