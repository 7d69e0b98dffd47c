#include "sinks/layout/ledger_rows.h"

#include <algorithm>
#include <cstring>

#include "sinks/files/place_file.h"

namespace kollect::sinks {

namespace {

constexpr std::size_t kRecord = 20;
constexpr std::string_view kShown = "what is known of an inventory's files";

std::string packed(const std::vector<LedgerRow>& rows) {
  std::string out(rows.size() * kRecord, '\0');
  char* at = out.data();
  for (const LedgerRow& row : rows) {
    std::memcpy(at, &row.identity, 8);
    std::memcpy(at + 8, &row.path, 8);
    std::memcpy(at + 16, &row.size, 4);
    at += kRecord;
  }
  return out;
}

void unpack(std::string_view text, std::vector<LedgerRow>& out) {
  out.resize(text.size() / kRecord);
  const char* at = text.data();
  for (LedgerRow& row : out) {
    std::memcpy(&row.identity, at, 8);
    std::memcpy(&row.path, at + 8, 8);
    std::memcpy(&row.size, at + 16, 4);
    at += kRecord;
  }
}

}  // namespace

/// The file: places of one size, which are used again when nobody has them any more.
class LedgerRows::File {
 public:
  File(std::filesystem::path scratch, std::size_t most)
      : scratch_(std::move(scratch)), bytes_(most * kRecord) {}

  base::Result<std::uint32_t> write(std::string_view text) {
    if (!fd_.valid()) {
      KL_ASSIGN(fd_, nameless_file(scratch_));
    }
    std::uint32_t place = end_;
    if (free_.empty()) {
      ++end_;
    } else {
      place = free_.back();
      free_.pop_back();
    }
    const auto written = write_at(fd_, at(place), text, kShown);
    if (written.has_value()) return place;
    let_go(place);
    return written.error();
  }
  base::Result<> read(std::uint32_t place, std::span<char> to) const {
    return read_at(fd_, at(place), to, kShown);
  }
  void let_go(std::uint32_t place) { free_.push_back(place); }

 private:
  [[nodiscard]] off_t at(std::uint32_t place) const {
    return static_cast<off_t>(std::size_t{place} * bytes_);
  }

  std::filesystem::path scratch_;
  std::size_t bytes_;  ///< of a place
  Fd fd_;
  std::uint32_t end_ = 0;
  std::vector<std::uint32_t> free_;
};

/// A block's bytes: a place of the file, or the bytes themselves.
class LedgerRows::Kept {
 public:
  explicit Kept(std::string text) : count_(text.size() / kRecord), text_(std::move(text)) {}
  Kept(std::shared_ptr<File> file, std::uint32_t place, std::size_t count)
      : count_(count), file_(std::move(file)), place_(place) {}
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    if (file_) file_->let_go(place_);
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  base::Result<> read(std::vector<LedgerRow>& out) const {
    if (!file_) {
      unpack(text_, out);
      return {};
    }
    std::string text(count_ * kRecord, '\0');
    KL_TRY(file_->read(place_, text));
    unpack(text, out);
    return {};
  }

 private:
  std::size_t count_;  ///< rows
  std::string text_;
  std::shared_ptr<File> file_;
  std::uint32_t place_ = 0;
};

LedgerRows::LedgerRows(std::filesystem::path scratch, std::size_t block) : per_block_(block) {
  if (!scratch.empty()) file_ = std::make_shared<File>(std::move(scratch), block);
}

LedgerRows LedgerRows::empty_copy() const {
  LedgerRows out({}, per_block_);
  out.file_ = file_;
  return out;
}

base::Result<> LedgerRows::keep(const std::vector<LedgerRow>& rows) {
  auto text = packed(rows);
  if (!file_) {
    blocks_.push_back(std::make_shared<const Kept>(std::move(text)));
    return {};
  }
  KL_ASSIGN(const auto place, file_->write(text));
  blocks_.push_back(std::make_shared<const Kept>(file_, place, rows.size()));
  return {};
}

base::Result<> LedgerRows::add(const LedgerRow& row) {
  tail_.push_back(row);
  ++size_;
  if (tail_.size() < per_block_) return {};
  auto kept = keep(tail_);
  if (kept.has_value()) {
    tail_.clear();
  } else {
    tail_.pop_back();
    --size_;
  }
  return kept;
}

/// What is left of a block, into the one before where both fit into one.
base::Result<> LedgerRows::append(std::vector<LedgerRow>&& rows) {
  if (rows.empty()) return {};
  size_ += rows.size();
  if (!blocks_.empty() && blocks_.back()->count() + rows.size() <= per_block_) {
    std::vector<LedgerRow> both;
    KL_TRY(blocks_.back()->read(both));
    blocks_.pop_back();
    both.insert(both.end(), rows.begin(), rows.end());
    return keep(both);
  }
  return keep(rows);
}

base::Result<LedgerRows> LedgerRows::edited(
    std::span<const std::size_t> gone, const std::map<std::size_t, std::uint32_t>& sizes) const {
  LedgerRows out = empty_copy();
  auto next = gone.begin();
  auto size = sizes.begin();
  const auto edit = [&](std::vector<LedgerRow>& rows, std::size_t first) {
    for (; size != sizes.end() && size->first < first + rows.size(); ++size) {
      rows[size->first - first].size = size->second;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (next != gone.end() && *next == first + i) {
        ++next;
      } else {
        rows[kept++] = rows[i];
      }
    }
    rows.resize(kept);
  };
  std::size_t first = 0;
  std::vector<LedgerRow> rows;
  for (const auto& block : blocks_) {
    const std::size_t end = first + block->count();
    if ((next == gone.end() || *next >= end) && (size == sizes.end() || size->first >= end)) {
      out.blocks_.push_back(block);
      out.size_ += block->count();
    } else {
      KL_TRY(block->read(rows));
      edit(rows, first);
      KL_TRY(out.append(std::move(rows)));
      rows = {};
    }
    first = end;
  }
  out.tail_ = tail_;
  edit(out.tail_, first);
  out.size_ += out.tail_.size();
  return out;
}

LedgerRows::Cursor::Cursor(const LedgerRows& rows, std::size_t place) : rows_(rows), at_(place) {
  while (block_ < rows.blocks_.size() && at_ >= rows.blocks_[block_]->count()) {
    at_ -= rows.blocks_[block_++]->count();
  }
}

base::Result<const LedgerRow*> LedgerRows::Cursor::next() {
  const auto& blocks = rows_.blocks_;
  if (block_ == blocks.size()) {
    return at_ < rows_.tail_.size() ? &rows_.tail_[at_++] : static_cast<const LedgerRow*>(nullptr);
  }
  if (!read_) KL_TRY(blocks[block_]->read(room_));
  read_ = true;
  const LedgerRow* row = &room_[at_++];
  if (at_ == room_.size()) {
    // The room stays as it is until the next call.
    ++block_;
    at_ = 0;
    read_ = false;
  }
  return row;
}

}  // namespace kollect::sinks
