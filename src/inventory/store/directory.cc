#include "inventory/store/directory.h"

#include <algorithm>

#include "base/hash.h"

namespace kollect::inventory {

std::size_t OwnerHash::operator()(const Owner& owner) const {
  const std::uint64_t ns = base::xxh64(owner.ns) + static_cast<std::uint64_t>(owner.owner_class);
  return ns * 0x9e3779b97f4a7c15ULL + base::xxh64(owner.name);
}

std::shared_ptr<Table> Directory::find(const Owner& owner) const {
  const std::shared_lock lock(mutex_);
  const auto it = tables_.find(owner);
  return it == tables_.end() ? nullptr : it->second;
}

std::shared_ptr<Table> Directory::find_or_add(const Owner& owner) {
  if (auto found = find(owner)) return found;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Table>& table = tables_[owner];
  if (table) return table;
  table = std::make_shared<Table>(common_, owner);
  for (const auto& reader : readers_) {
    if (!reader->wanted(owner)) continue;
    if (!reader->counts_only) table->add_reader(reader);
    reader->tables.push_back(table);
  }
  return table;
}

void Directory::retire(const std::shared_ptr<Table>& table) {
  if (!table->idle()) return;
  const std::lock_guard lock(mutex_);
  if (!table->close()) return;
  tables_.erase(table->owner());
  for (const auto& reader : readers_) std::erase(reader->tables, table);
}

std::vector<std::shared_ptr<Table>> Directory::tables() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::shared_ptr<Table>> all;
  all.reserve(tables_.size());
  for (const auto& [owner, table] : tables_) all.push_back(table);
  return all;
}

void Directory::subscribe(const std::shared_ptr<ReaderState>& reader) {
  const std::lock_guard lock(mutex_);
  reader->since = common_->clock.load();
  readers_.push_back(reader);
  for (const auto& [owner, table] : tables_) {
    if (!reader->wanted(owner)) continue;
    if (!reader->counts_only) table->add_reader(reader);
    reader->tables.push_back(table);
  }
}

void Directory::unsubscribe(const std::shared_ptr<ReaderState>& reader) {
  std::vector<std::shared_ptr<Table>> tables;
  {
    const std::lock_guard lock(mutex_);
    std::erase(readers_, reader);
    tables = std::exchange(reader->tables, {});
  }
  for (const auto& table : tables) {
    if (!reader->counts_only) table->remove_reader(reader.get());
    retire(table);
  }
}

void Directory::passed(const std::shared_ptr<ReaderState>& reader, Version version) {
  version = std::min(version, common_->clock.load());
  if (version <= reader->passed.load()) return;
  reader->passed.store(version);
  std::vector<std::shared_ptr<Table>> idle;
  {
    const std::shared_lock lock(mutex_);
    for (const auto& table : reader->tables) {
      table->forget_passed();
      if (table->idle()) idle.push_back(table);
    }
  }
  for (const auto& table : idle) retire(table);
}

bool Directory::pending(const ReaderState& reader) const {
  const Version passed = reader.passed.load();
  const std::shared_lock lock(mutex_);
  return std::ranges::any_of(reader.tables,
                             [&](const auto& table) { return table->changed() > passed; });
}

void Directory::look_at(const ReaderState& reader,
                        const std::function<void(Table::View)>& visit) const {
  for (const auto& [table, version] : state(reader)) table->visit(false, visit);
}

std::vector<std::pair<std::shared_ptr<Table>, Version>> Directory::state(
    const ReaderState& reader) const {
  const std::shared_lock lock(mutex_);
  std::vector<std::pair<std::shared_ptr<Table>, Version>> state;
  state.reserve(reader.tables.size());
  for (const auto& table : reader.tables) state.emplace_back(table, table->changed());
  return state;
}

Version Directory::capture(const ReaderState& reader,
                           const std::function<void(Table::View)>& visit) const {
  // One capture at a time: two that freeze each other's tables would wait for ever.
  const std::lock_guard serial(capture_mutex_);
  const std::shared_lock lock(mutex_);
  struct Frozen {
    std::vector<Table*> tables;
    ~Frozen() {
      for (Table* table : tables) table->thaw();
    }
  } frozen;
  frozen.tables.reserve(reader.tables.size());
  for (const auto& table : reader.tables) {
    frozen.tables.push_back(table.get());
    table->visit(true, visit);
  }
  return common_->clock.load();
}

}  // namespace kollect::inventory
