// The tables of a store by owner, and who reads them.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "inventory/row_store.h"
#include "inventory/store/table.h"

namespace kollect::inventory {

struct OwnerHash {
  std::size_t operator()(const Owner& owner) const;
};

/// Thread-safe. Locks are taken in this order: capture, tables by owner, a table, what tables
/// share.
class Directory {
 public:
  explicit Directory(RowStoreOptions options) : common_(std::make_shared<Common>(options)) {}

  std::shared_ptr<Table> find(const Owner& owner) const;
  std::shared_ptr<Table> find_or_add(const Owner& owner);
  /// Takes the table out if it is idle.
  void retire(const std::shared_ptr<Table>& table);
  std::vector<std::shared_ptr<Table>> tables() const;

  void subscribe(const std::shared_ptr<ReaderState>& reader);
  void unsubscribe(const std::shared_ptr<ReaderState>& reader);
  void passed(const std::shared_ptr<ReaderState>& reader, Version version);
  bool pending(const ReaderState& reader) const;
  /// Visits all tables of the reader in the state of one moment, and returns its version: later
  /// changes of these tables have later versions. Writers of these tables wait meanwhile.
  Version capture(const ReaderState& reader, const std::function<void(Table::View)>& visit) const;
  /// Visits the same tables one after another, each in the state of its own moment.
  void look_at(const ReaderState& reader, const std::function<void(Table::View)>& visit) const;
  /// The tables with the versions of their last changes: equal answers, equal rows.
  std::vector<std::pair<std::shared_ptr<Table>, Version>> state(const ReaderState& reader) const;

  const Common& common() const { return *common_; }

 private:
  const std::shared_ptr<Common> common_;
  mutable std::mutex capture_mutex_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<Owner, std::shared_ptr<Table>, OwnerHash> tables_;
  std::vector<std::shared_ptr<ReaderState>> readers_;
};

}  // namespace kollect::inventory
