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
  const std::lock_guard lock(mutex_);
  if (oldest_removed_ == 0) return;
  Version passed = UINT64_MAX;
  for (const auto& reader : readers_) passed = std::min(passed, reader->passed.load());
  while (oldest_removed_ != 0 && record(oldest_removed_).version() <= passed) {
    forget(oldest_removed_);
  }
  tidy();
}

/// The record left the table; readers may still hold it.
void Table::discard(Ref ref) {
  if (!pins_.empty() && pins_.back().version >= record(ref).version()) {
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
  const std::lock_guard lock(mutex_);
  // Pins made later than a record's end do not hold it; of the older ones the next is the newest.
  TablePin::Place* before = place == pins_.begin() ? nullptr : &*std::prev(place);
  for (const Ref ref : place->held) {
    if (before != nullptr && before->version >= record(ref).version()) {
      before->held.push_back(ref);
    } else {
      destroy(ref);
    }
  }
  pins_.erase(place);
  tidy();
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
  heap_.free(from);  // its uses of shared texts moved too
}

/// Empties sparse slabs, one after another. Not while records are pinned: their copies would be
/// memory on top, and whoever unpins comes here.
void Table::tidy() {
  if (!pins_.empty()) return;
  for (std::size_t left = heap_.slab_count(); left > 0 && heap_.fragmented(); --left) {
    for (const Ref ref : heap_.evacuate()) move_record(ref);
  }
}

}  // namespace kollect::inventory
