// The rows of a ledger, which need next to no memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace kollect::sinks {

/// A row of a tree: hashes of what identifies it and of its path, and the bytes of its JSON (0
/// where there is no ceiling).
struct LedgerRow {
  std::uint64_t identity = 0;
  std::uint64_t path = 0;
  std::uint32_t size = 0;
  bool operator==(const LedgerRow&) const = default;
};

/// A list of such rows in their order. Blocks of them lie in a file without a name; in memory are
/// the rows of the last block, and a few bytes for each of the others. Copies share the blocks that
/// they have in common, so a copy that differs in a few rows is as cheap as the difference.
///
/// Value type; a list and its copies are used by one thread at a time. Errors: of the file.
class LedgerRows {
 public:
  /// `scratch`: where the file is made and its name taken away; "": blocks stay in memory, 20 bytes
  /// a row. `block`: rows of a block.
  explicit LedgerRows(std::filesystem::path scratch = {}, std::size_t block = 4096);
  /// A list without rows that shares the other's file.
  [[nodiscard]] LedgerRows empty_copy() const;

  [[nodiscard]] std::size_t size() const { return size_; }
  /// After an error the list is as it was before.
  base::Result<> add(const LedgerRow& row);
  /// A copy without the rows at `gone` (sorted places) and with these sizes at their places.
  [[nodiscard]] base::Result<LedgerRows> edited(
      std::span<const std::size_t> gone, const std::map<std::size_t, std::uint32_t>& sizes) const;

  /// Reads a list, which must not change meanwhile.
  class Cursor {
   public:
    explicit Cursor(const LedgerRows& rows, std::size_t place = 0);
    /// The next row, which lives until the next call; null: there is none.
    base::Result<const LedgerRow*> next();

   private:
    const LedgerRows& rows_;
    std::size_t block_ = 0;
    std::size_t at_ = 0;
    bool read_ = false;
    std::vector<LedgerRow> room_;
  };

 private:
  class File;
  class Kept;

  base::Result<> keep(const std::vector<LedgerRow>& rows);
  base::Result<> append(std::vector<LedgerRow>&& rows);

  std::size_t per_block_;
  std::shared_ptr<File> file_;  ///< none: in memory
  std::vector<std::shared_ptr<const Kept>> blocks_;
  std::vector<LedgerRow> tail_;  ///< behind the blocks
  std::size_t size_ = 0;
};

}  // namespace kollect::sinks
