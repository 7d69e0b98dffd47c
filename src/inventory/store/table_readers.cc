// The readers' side of a table: pins, changes, and the memory that records leave behind.
#include <algorithm>
#include <cstring>

#include "inventory/store/table.h"

namespace kollect::inventory {

TablePin::TablePin(TablePin&& other) noexcept
    : table_(std::move(other.table_)), place_(other.place_) {}

TablePin& TablePin::operator=(TablePin&& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(place_, other.place_);
  return *this;
}

TablePin::~TablePin() {
  if (table_) table_->unpin(place_);
}

TablePin Table::View::pin() const {
  TablePin pin;
  // Later than every record here, since writers take their version under this table's lock.
  const Version version = table.common_->clock.load(std::memory_order_acquire);
  pin.place_ = table.pins_.insert(table.pins_.end(), {.version = version, .held = {}});
  pin.table_ = table.shared_from_this();
  return pin;
}

std::vector<Ref> Table::View::rows() const {
  std::vector<Ref> refs;
  refs.reserve(table.rows_);
  table.index_.for_each([&](Ref ref, bool removed) {
    if (!removed) refs.push_back(ref);
  });
  return refs;
}

std::vector<Table::View::Change> Table::View::changes(Version after) const {
  std::vector<Change> changes;
  for (Ref ref = table.last_; ref != 0; ref = table.record(ref).previous()) {
    const Version version = table.record(ref).version();
    if (version <= after) break;
    changes.push_back({version, ref});
  }
  return changes;
}

void Table::thaw() {
  {
    const std::lock_guard lock(mutex_);
    frozen_ = false;
  }
  thawed_.notify_all();
}

void Table::add_reader(std::shared_ptr<ReaderState> reader) {
  const std::lock_guard lock(mutex_);
  readers_.push_back(std::move(reader));
}

void Table::remove_reader(const ReaderState* reader) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(readers_, [&](const auto& other) { return other.get() == reader; });
  }
  forget_passed();
}

void Table::forget_passed() {
  std::unique_lock lock(mutex_);
  if (oldest_removed_ == 0) return;
  Version passed = UINT64_MAX;
  for (const auto& reader : readers_) passed = std::min(passed, reader->knows());
  while (oldest_removed_ != 0 && record(oldest_removed_).version() <= passed) {
    forget(oldest_removed_);
  }
  tidy(lock);
}

/// The record left the table; readers may still hold it.
void Table::discard(Ref ref) {
  if (pinned(ref)) {
    heap_.retire(ref);
    pins_.back().held.push_back(ref);
  } else {
    destroy(ref);
  }
}

void Table::destroy(Ref ref) {
  release_texts(*common_, record(ref));
  heap_.free(ref);
}

void Table::unpin(std::list<TablePin::Place>::iterator place) {
  std::unique_lock lock(mutex_);
  constexpr std::size_t kBatch = 1024;
  while (true) {
    // Pins made later than a record's end do not hold it; of the older ones the next is the newest.
    TablePin::Place* before = place == pins_.begin() ? nullptr : &*std::prev(place);
    for (std::size_t i = 0; i < kBatch && !place->held.empty(); ++i) {
      const Ref ref = place->held.back();
      place->held.pop_back();
      if (before != nullptr && before->version >= record(ref).version()) {
        before->held.push_back(ref);
      } else {
        destroy(ref);
      }
    }
    if (place->held.empty()) break;
    let_others(lock);
  }
  pins_.erase(place);
  tidy(lock);
}

bool Table::pinned(Ref ref) const {
  return !pins_.empty() && pins_.back().version >= record(ref).version();
}

void Table::move_record(Ref from) {
  const std::size_t size = heap_.size_of(from);
  const Ref to = heap_.allocate(size);
  std::memcpy(heap_.at(to), heap_.at(from), size);
  Record moved = record(to);
  const std::size_t slot = index_.find(moved.uid_hash(), [&](Ref other) { return other == from; });
  index_.set_number(slot, to);
  moved.previous() != 0 ? record(moved.previous()).set_next(to) : void(first_ = to);
  moved.next() != 0 ? record(moved.next()).set_previous(to) : void(last_ = to);
  if (moved.removed()) {
    moved.older() != 0 ? record(moved.older()).set_newer(to) : void(oldest_removed_ = to);
    moved.newer() != 0 ? record(moved.newer()).set_older(to) : void(newest_removed_ = to);
  }
  if (pinned(from)) {
    retain_texts(*common_, moved);
    discard(from);
  } else {
    heap_.free(from);  // its uses of shared texts moved too
  }
}

/// Empties the sparsest slab, if there are holes enough. While records are pinned, moving them
/// means a second copy for a while: only for a clear gain then, and not when there are many copies
/// already (a snapshot that is held for very long).
bool Table::tidy_step() {
  const bool worthwhile =
      pins_.empty() ? heap_.fragmented(6)
                    : heap_.fragmented(3) && heap_.retired_bytes() * 3 < heap_.memory_bytes();
  if (!worthwhile) return false;
  for (const Ref ref : heap_.evacuate()) move_record(ref);
  return true;
}

void Table::tidy(std::unique_lock<std::mutex>& lock) {
  while (tidy_step()) let_others(lock);
}

void Table::let_others(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  lock.lock();
}

}  // namespace kollect::inventory
