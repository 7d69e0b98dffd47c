// Compresses objects for pack files (format: zlib, RFC 1950 and 1951).
#pragma once

#include <zlib.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sinks/git/oid.h"

namespace kollect::sinks::git {

/// A text in one block with the fixed codes, which every reader of the format has. Codes made for
/// each text would save some 14 % of a text of a few hundred bytes, and finding them would take
/// longer than all else that is done for a file. A text that does not get smaller is stored as it
/// is. Equal texts give equal bytes. One thread.
class SmallDeflater {
 public:
  static constexpr std::size_t kMost = 16384;  ///< bytes of a text
  /// Appends the compressed text.
  void run(std::string_view text, std::string& out);

 private:
  class Bits;
  std::size_t fixed_block(std::string_view text, unsigned char* to);
  [[nodiscard]] std::size_t find_match(std::string_view text, std::size_t at,
                                       std::size_t& distance);
  void note(std::string_view text, std::size_t at);

  static constexpr unsigned kSlotBits = 10;
  /// Where three bytes were seen last: position + 1, counted on from text to text, so that nothing
  /// has to be cleared.
  std::array<std::uint64_t, std::size_t{1} << kSlotBits> seen_{};
  std::uint64_t begin_ = 0;  ///< positions of the text are above
  std::vector<unsigned char> block_;
};

/// Small files, and folders (half of which are names of objects, which nothing makes smaller), by
/// SmallDeflater; what is larger by zlib. One thread.
class Deflater {
 public:
  Deflater();
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  /// False: there was no memory; nothing may be compressed.
  [[nodiscard]] bool ok() const { return ok_; }
  /// Called while a large content grows `out`, which it may empty.
  using Grown = std::function<void()>;
  /// Appends the compressed content.
  void run(
      ObjectType type, const Pieces& content, std::string& out, const Grown& grown = [] {});

 private:
  void feed(std::string_view text, int flush, std::string& out, const Grown& grown);

  SmallDeflater small_;
  z_stream stream_{};
  bool ok_ = false;
};

}  // namespace kollect::sinks::git
