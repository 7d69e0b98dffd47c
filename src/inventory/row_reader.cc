// Reader, Snapshot, ChangeSet and Tally.
#include <algorithm>
#include <map>
#include <numeric>

#include "inventory/row_store.h"
#include "inventory/store/last_of_uid.h"
#include "inventory/store/reader_impl.h"

namespace kollect::inventory {
namespace {

using Visit = std::function<base::Result<>(const RowView&)>;

}  // namespace

struct ChangeSet::Impl {
  struct Change {
    Version version;
    std::uint32_t pin;  ///< whose table's
    Ref ref;
  };
  Version to = 0;
  std::size_t row_count = 0;
  SetHash set_hash;
  std::vector<TablePin> pins;
  std::vector<Change> changes;
};

ChangeSet::ChangeSet() = default;
ChangeSet::~ChangeSet() = default;
ChangeSet::ChangeSet(ChangeSet&&) noexcept = default;
ChangeSet& ChangeSet::operator=(ChangeSet&&) noexcept = default;

Version ChangeSet::to() const {
  return impl_ ? impl_->to : 0;
}

std::size_t ChangeSet::size() const {
  return impl_ ? impl_->changes.size() : 0;
}

std::size_t ChangeSet::row_count() const {
  return impl_ ? impl_->row_count : 0;
}

std::string ChangeSet::set_hash() const {
  return (impl_ ? impl_->set_hash : SetHash()).text();
}

base::Result<> ChangeSet::for_each(
    const std::function<base::Result<>(const RowChange&)>& visit) const {
  if (empty()) return {};
  Workbench bench;
  std::vector<RowReader> readers;
  readers.reserve(impl_->pins.size());
  for (const TablePin& pin : impl_->pins) {
    readers.emplace_back(pin.table().common(), pin.table().owner(), bench);
  }
  for (const Impl::Change& change : impl_->changes) {
    const Record record = impl_->pins[change.pin].table().record(change.ref);
    KL_TRY(visit({.removed = record.removed(), .row = readers[change.pin].read(record)}));
  }
  return {};
}

Snapshot::Snapshot() = default;
Snapshot::~Snapshot() = default;
Snapshot::Snapshot(Snapshot&&) noexcept = default;
Snapshot& Snapshot::operator=(Snapshot&&) noexcept = default;

Version Snapshot::version() const {
  return impl_ ? impl_->version : 0;
}

std::size_t Snapshot::size() const {
  return impl_ ? impl_->row_count : 0;
}

std::string Snapshot::set_hash() const {
  return (impl_ ? impl_->set_hash : SetHash()).text();
}

base::Result<> Snapshot::for_each(const Visit& visit) const {
  if (!impl_) return {};
  Workbench bench;
  for (const PinnedRows& part : impl_->parts) {
    const Table& table = part.pin.table();
    RowReader reader(table.common(), table.owner(), bench);
    for (const Ref ref : part.rows) KL_TRY(visit(reader.read(table.record(ref))));
  }
  return {};
}

base::Result<> Snapshot::for_each_sorted(const Visit& visit) const {
  if (!impl_) return {};
  return visit_sorted(impl_->parts, visit);
}

RowSet Snapshot::to_row_set() const {
  if (!impl_) {
    RowSet none;
    none.seal();
    return none;
  }
  return RowSet::over(SortedRows({impl_, &impl_->parts}));
}

Reader::Reader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reader::~Reader() = default;

ChangeSet Reader::changes() const {
  ChangeSet set;
  set.impl_ = std::make_unique<ChangeSet::Impl>();
  ChangeSet::Impl& impl = *set.impl_;
  const Version after = impl_->state->passed.load();
  impl.to = impl_->directory.capture(*impl_->state, [&](Table::View view) {
    impl.row_count += view.row_count();
    impl.set_hash.add(view.set_hash());
    const auto changes = view.changes(after);
    if (changes.empty()) return;
    const auto pin = static_cast<std::uint32_t>(impl.pins.size());
    impl.pins.push_back(view.pin());
    for (const auto& [version, ref] : changes) impl.changes.push_back({version, pin, ref});
  });
  std::ranges::sort(impl.changes, {}, &ChangeSet::Impl::Change::version);
  return set;
}

std::shared_ptr<Snapshot::Impl> Snapshot::Impl::of(const Directory& directory,
                                                   const ReaderState& reader) {
  auto impl = std::make_shared<Impl>();
  impl->version = directory.capture(reader, [&](Table::View view) {
    if (view.row_count() == 0) return;
    impl->row_count += view.row_count();
    impl->set_hash.add(view.set_hash());
    impl->parts.push_back({.pin = view.pin(), .rows = view.rows(), .set_hash = view.set_hash()});
  });
  if (reader.choice == RowChoice::kLastOfUid) {
    keep_last_of_uid(impl->parts);
    impl->row_count = 0;
    impl->set_hash = {};
    for (const PinnedRows& part : impl->parts) {
      impl->row_count += part.rows.size();
      impl->set_hash.add(part.set_hash);
    }
  }
  return impl;
}

Snapshot Reader::snapshot() const {
  Snapshot snapshot;
  snapshot.impl_ = Snapshot::Impl::of(impl_->directory, *impl_->state);
  return snapshot;
}

void Reader::passed(Version version) {
  impl_->directory.passed(impl_->state, version);
}

bool Reader::pending() const {
  return impl_->directory.pending(*impl_->state);
}

std::size_t Reader::row_count() const {
  std::size_t count = 0;
  impl_->directory.capture(*impl_->state, [&](Table::View view) { count += view.row_count(); });
  return count;
}

std::string Reader::set_hash() const {
  SetHash hash;
  impl_->directory.capture(*impl_->state, [&](Table::View view) { hash.add(view.set_hash()); });
  return hash.text();
}

namespace {

/// Shards in the making.
class ShardCounter {
 public:
  void add(const Owner& owner, std::size_t rows, const SetHash& hash) {
    auto& [shard, sum] = shards_[owner.ns];
    shard.rows += rows;
    ++shard.targets;
    sum.add(hash);
  }
  [[nodiscard]] std::vector<Shard> list() {
    std::vector<Shard> list;
    for (auto& [ns, entry] : shards_) {
      entry.first.ns = ns;
      entry.first.set_hash = entry.second.text();
      list.push_back(std::move(entry.first));
    }
    return list;
  }

 private:
  std::map<std::string, std::pair<Shard, SetHash>> shards_;
};

}  // namespace

Tally::Tally(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tally::~Tally() = default;

std::size_t Tally::row_count() const {
  std::size_t count = 0;
  impl_->directory.look_at(*impl_->state, [&](Table::View view) { count += view.row_count(); });
  return count;
}

std::vector<Shard> Tally::shards() const {
  ShardCounter counter;
  if (impl_->state->choice == RowChoice::kAll) {
    impl_->directory.look_at(*impl_->state, [&](Table::View view) {
      if (view.row_count() > 0) {
        counter.add(view.table.owner(), view.row_count(), view.set_hash());
      }
    });
    return counter.list();
  }
  // The state first: rows that come meanwhile may be counted already, and are counted again.
  auto state = impl_->directory.state(*impl_->state);
  const std::lock_guard lock(impl_->mutex);
  if (state == impl_->seen) return impl_->shards;
  const auto snapshot = Snapshot::Impl::of(impl_->directory, *impl_->state);
  for (const PinnedRows& part : snapshot->parts) {
    counter.add(part.pin.table().owner(), part.rows.size(), part.set_hash);
  }
  impl_->seen = std::move(state);
  impl_->shards = counter.list();
  return impl_->shards;
}

}  // namespace kollect::inventory
