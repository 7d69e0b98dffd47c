#include "inventory/row_store.h"

#include "inventory/store/directory.h"
#include "inventory/store/reader_impl.h"

namespace kollect::inventory {

struct RowStore::Impl {
  explicit Impl(RowStoreOptions options) : directory(options) {}

  /// What `work(table)` gives, from the table of the owner that is not closed meanwhile; `none`
  /// when there is no such table and none shall be made.
  template <class Work, class T>
  T with_table(const Owner& owner, bool add, T none, Work&& work) {
    while (true) {
      const auto table = add ? directory.find_or_add(owner) : directory.find(owner);
      if (!table) return none;
      if (auto result = work(*table)) {
        if (!add) directory.retire(table);
        return *result;
      }
    }
  }
  void tell(const Owner& owner, bool changed) const {
    if (changed && listener) listener(owner);
  }

  Directory directory;
  std::function<void(const Owner&)> listener;
};

RowStore::RowStore(RowStoreOptions options) : impl_(std::make_unique<Impl>(options)) {}
RowStore::~RowStore() = default;

RowStore::Effect RowStore::upsert(const Owner& owner, SourceId source, const RowView& row) {
  const Table::Written written = impl_->with_table(
      owner, true, Table::Written{}, [&](Table& table) { return table.upsert(source, row); });
  if (written.train != nullptr) written.train->train();
  impl_->tell(owner, written.effect != Effect::kNone);
  return written.effect;
}

bool RowStore::remove(const Owner& owner, std::string_view uid) {
  const bool removed =
      impl_->with_table(owner, false, false, [&](Table& table) { return table.remove(uid); });
  impl_->tell(owner, removed);
  return removed;
}

bool RowStore::touch(const Owner& owner, std::string_view uid) {
  return impl_->with_table(owner, false, false, [&](Table& table) { return table.touch(uid); });
}

void RowStore::begin_sweep(const Owner& owner, SourceId source) {
  // Without a table there is nothing that could be stale at the end.
  impl_->with_table(owner, false, false, [&](Table& table) { return table.begin_sweep(source); });
}

std::size_t RowStore::end_sweep(const Owner& owner, SourceId source) {
  const std::size_t removed = impl_->with_table(
      owner, false, std::size_t{0}, [&](Table& table) { return table.end_sweep(source); });
  impl_->tell(owner, removed > 0);
  return removed;
}

std::size_t RowStore::drop(const Owner& owner) {
  const std::size_t removed = impl_->with_table(
      owner, false, std::size_t{0}, [&](Table& table) { return table.drop(std::nullopt); });
  impl_->tell(owner, removed > 0);
  return removed;
}

std::size_t RowStore::drop_source(const Owner& owner, SourceId source) {
  const std::size_t removed = impl_->with_table(owner, false, std::size_t{0},
                                                [&](Table& table) { return table.drop(source); });
  impl_->tell(owner, removed > 0);
  return removed;
}

std::size_t RowStore::row_count(const Owner& owner) const {
  const auto table = impl_->directory.find(owner);
  return table ? table->stats().rows : 0;
}

std::vector<Owner> RowStore::owners() const {
  std::vector<Owner> owners;
  for (const auto& table : impl_->directory.tables()) {
    if (table->stats().rows > 0) owners.push_back(table->owner());
  }
  return owners;
}

RowStoreStats RowStore::stats() const {
  const Common& common = impl_->directory.common();
  RowStoreStats all;
  all.bytes = common.kinds.memory_bytes() + common.namespaces.memory_bytes();
  for (const auto& table : impl_->directory.tables()) {
    const Table::Stats stats = table->stats();
    all.rows += stats.rows;
    all.tombstones += stats.tombstones;
    all.bytes += stats.bytes;
    if (stats.rows > 0) ++all.owners;
  }
  return all;
}

std::unique_ptr<Reader> RowStore::subscribe(std::function<bool(const Owner&)> wanted,
                                            RowChoice choice) {
  auto state = std::make_shared<ReaderState>();
  state->wanted = std::move(wanted);
  state->choice = choice;
  impl_->directory.subscribe(state);
  return std::unique_ptr<Reader>(
      new Reader(std::make_unique<Reader::Impl>(impl_->directory, std::move(state))));
}

std::unique_ptr<Tally> RowStore::tally(std::function<bool(const Owner&)> wanted, RowChoice choice) {
  auto state = std::make_shared<ReaderState>();
  state->wanted = std::move(wanted);
  state->choice = choice;
  state->counts_only = true;
  impl_->directory.subscribe(state);
  return std::unique_ptr<Tally>(
      new Tally(std::make_unique<Tally::Impl>(impl_->directory, std::move(state))));
}

void RowStore::on_change(std::function<void(const Owner&)> listener) {
  impl_->listener = std::move(listener);
}

}  // namespace kollect::inventory
