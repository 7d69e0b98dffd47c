#include "inventory/store/table.h"

#include <algorithm>

namespace kollect::inventory {

Table::Table(std::shared_ptr<Common> common, Owner owner)
    : common_(std::move(common)), owner_(std::move(owner)), encoder_(*common_) {}

std::unique_lock<std::mutex> Table::lock_for_writing() {
  std::unique_lock lock(mutex_);
  thawed_.wait(lock, [&] { return !frozen_; });
  return lock;
}

Version Table::next_version() {
  const Version version = common_->clock.fetch_add(1, std::memory_order_acq_rel) + 1;
  changed_.store(version, std::memory_order_release);
  return version;
}

std::size_t Table::find(const UidKey& uid) const {
  return index_.find(uid.hash, [&](Ref ref) { return record(ref).has_uid(uid); });
}

Ref Table::make_record(const Record::Fields& fields) {
  const Ref ref = heap_.allocate(Record::size_of(fields));
  Record::write(fields, heap_.at(ref));
  return ref;
}

std::optional<Table::Written> Table::upsert(SourceId source, const RowView& given) {
  RowView row = given;
  row.target_namespace = owner_.ns;
  row.target_name = owner_.name;
  if (row.attributes.empty()) row.attributes = "{}";
  const UidKey uid(row.uid);
  const Workshop::Loan bench(common_->workshop);

  const auto lock = lock_for_writing();
  if (closed_) return std::nullopt;
  RowReader reader(*common_, owner_, *bench);
  const std::size_t slot = find(uid);
  const Ref old = slot == ProbeIndex::kNone ? 0 : index_.number(slot);
  const bool known = old != 0 && !index_.marked(slot);
  if (known) {
    if (holds_row(record(old), row, *bench, reader)) {
      if (record(old).source() != source) {
        leave_source(record(old));
        join_source(record(old), source);
      }
      see(record(old));
      return Written{};
    }
    hash_.subtract(reader.hash(record(old)));
    leave_source(record(old));
  }

  const base::Hash128 hash = row_hash(row, bench->hashed);
  Record::Fields fields = encoder_.encode(row, uid, hash, *bench);
  Packer& packer = encoder_.kind_of(row).packer;
  fields.version = next_version();
  const Ref ref = make_record(fields);
  link_last(ref);
  if (old == 0) {
    index_.insert(uid.hash, ref, [&](Ref other) { return record(other).uid_hash(); });
  } else {
    if (!known) unlink_removed(old);
    unlink(old);
    index_.set_number(slot, ref);
    index_.mark(slot, false);
    discard(old);
  }
  if (!known) ++rows_;
  hash_.add(hash);
  join_source(record(ref), source);
  see(record(ref));
  tidy_step();
  return Written{.effect = known ? RowStore::Effect::kChanged : RowStore::Effect::kAdded,
                 .train = packer.wants_training() ? &packer : nullptr};
}

void Table::remove_row(Ref ref, RowReader& reader) {
  const Record old = record(ref);
  UuidText text;
  const UidKey uid(old.uid_is_text() ? old.uid_text() : unpack_uuid(old.uuid(), text));
  const std::size_t slot = index_.find(uid.hash, [&](Ref other) { return other == ref; });
  hash_.subtract(reader.hash(old));
  leave_source(old);
  const Version version = next_version();
  if (readers_.empty()) {
    index_.erase(slot, [&](Ref other) { return record(other).uid_hash(); });
  } else {
    common_->namespaces.retain(old.ns());
    const Ref removed = make_record({.removed = true,
                                     .version = version,
                                     .shape = old.shape(),
                                     .ns = old.ns(),
                                     .name = old.name(),
                                     .uid = &uid,
                                     .attributes = {}});
    link_last(removed);
    link_removed(removed);
    index_.set_number(slot, removed);
    index_.mark(slot, true);
  }
  unlink(ref);
  discard(ref);
  --rows_;
}

void Table::remove_rows(const std::vector<Ref>& refs) {
  const Workshop::Loan bench(common_->workshop);
  RowReader reader(*common_, owner_, *bench);
  for (const Ref ref : refs) remove_row(ref, reader);
}

void Table::forget(Ref removed) {
  unlink_removed(removed);
  unlink(removed);
  const std::uint64_t hash = record(removed).uid_hash();
  index_.erase(index_.find(hash, [&](Ref other) { return other == removed; }),
               [&](Ref other) { return record(other).uid_hash(); });
  discard(removed);
}

std::optional<bool> Table::remove(std::string_view uid) {
  const auto lock = lock_for_writing();
  if (closed_) return std::nullopt;
  const std::size_t slot = find(UidKey(uid));
  if (slot == ProbeIndex::kNone || index_.marked(slot)) return false;
  remove_rows({index_.number(slot)});
  tidy_step();
  return true;
}

std::optional<bool> Table::touch(std::string_view uid) {
  const auto lock = lock_for_writing();
  if (closed_) return std::nullopt;
  const std::size_t slot = find(UidKey(uid));
  if (slot == ProbeIndex::kNone || index_.marked(slot)) return false;
  see(record(index_.number(slot)));
  return true;
}

void Table::join_source(Record record, SourceId source) {
  record.set_source(source);
  record.set_mark(0);
  ++sources_[source].rows;
}

void Table::leave_source(Record record) {
  const auto it = sources_.find(record.source());
  Source& source = it->second;
  --source.rows;
  if (source.sweeping && record.mark() == source.sweep) --source.seen;
  if (source.rows == 0 && !source.sweeping) sources_.erase(it);
}

void Table::see(Record record) {
  Source& source = sources_[record.source()];
  if (!source.sweeping || record.mark() == source.sweep) return;
  record.set_mark(source.sweep);
  ++source.seen;
}

void Table::clear_marks(SourceId source) {
  index_.for_each([&](Ref ref, bool removed) {
    if (!removed && record(ref).source() == source) record(ref).set_mark(0);
  });
}

std::optional<bool> Table::begin_sweep(SourceId id) {
  const auto lock = lock_for_writing();
  if (closed_) return std::nullopt;
  Source& source = sources_[id];
  if (source.sweep == UINT8_MAX) {
    clear_marks(id);
    source.sweep = 0;
  }
  ++source.sweep;
  source.sweeping = true;
  source.seen = 0;
  return true;
}

std::optional<std::size_t> Table::end_sweep(SourceId id) {
  auto lock = lock_for_writing();
  if (closed_) return std::nullopt;
  const auto it = sources_.find(id);
  if (it == sources_.end() || !it->second.sweeping) return 0;
  Source& source = it->second;
  source.sweeping = false;
  std::vector<Ref> stale;
  if (source.seen != source.rows) {
    index_.for_each([&](Ref ref, bool removed) {
      if (removed || record(ref).source() != id || record(ref).mark() == source.sweep) return;
      stale.push_back(ref);
    });
  }
  if (source.rows == 0) sources_.erase(it);
  remove_rows(stale);
  tidy(lock);
  return stale.size();
}

std::optional<std::size_t> Table::drop(std::optional<SourceId> source) {
  auto lock = lock_for_writing();
  if (closed_) return std::nullopt;
  std::vector<Ref> refs;
  index_.for_each([&](Ref ref, bool removed) {
    if (!removed && (!source || record(ref).source() == *source)) refs.push_back(ref);
  });
  remove_rows(refs);
  if (source) {
    sources_.erase(*source);
  } else {
    sources_.clear();
  }
  tidy(lock);
  return refs.size();
}

void Table::link_last(Ref ref) {
  record(ref).set_previous(last_);
  if (last_ != 0) {
    record(last_).set_next(ref);
  } else {
    first_ = ref;
  }
  last_ = ref;
}

void Table::unlink(Ref ref) {
  const Ref previous = record(ref).previous();
  const Ref next = record(ref).next();
  previous != 0 ? record(previous).set_next(next) : void(first_ = next);
  next != 0 ? record(next).set_previous(previous) : void(last_ = previous);
}

void Table::link_removed(Ref ref) {
  record(ref).set_older(newest_removed_);
  newest_removed_ != 0 ? record(newest_removed_).set_newer(ref) : void(oldest_removed_ = ref);
  newest_removed_ = ref;
  ++removed_;
}

void Table::unlink_removed(Ref ref) {
  const Ref older = record(ref).older();
  const Ref newer = record(ref).newer();
  older != 0 ? record(older).set_newer(newer) : void(oldest_removed_ = newer);
  newer != 0 ? record(newer).set_older(older) : void(newest_removed_ = older);
  --removed_;
}

bool Table::idle() const {
  const std::lock_guard lock(mutex_);
  return rows_ == 0 && removed_ == 0;
}

bool Table::close() {
  const auto lock = lock_for_writing();
  if (rows_ != 0 || removed_ != 0 || closed_) return false;
  closed_ = true;
  return true;
}

Table::Stats Table::stats() const {
  const std::lock_guard lock(mutex_);
  constexpr std::size_t kMapNode = 48;
  return {.rows = rows_,
          .tombstones = removed_,
          .bytes = sizeof(Table) + heap_.memory_bytes() + index_.memory_bytes() +
                   sources_.size() * kMapNode + owner_.ns.capacity() + owner_.name.capacity()};
}

}  // namespace kollect::inventory
