// The rows of one owner.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "inventory/row_store.h"
#include "inventory/store/probe_index.h"
#include "inventory/store/record.h"
#include "inventory/store/row_codec.h"
#include "inventory/store/set_hash.h"
#include "inventory/store/slab_heap.h"

namespace kollect::inventory {

class Table;

/// How far a reader has come, and which owners it reads.
struct ReaderState {
  std::function<bool(const Owner&)> wanted;
  RowChoice choice = RowChoice::kAll;
  bool counts_only = false;  ///< of a Tally: tables do not know it
  Version since = 0;  ///< when it came; what was removed earlier it never knew
  std::atomic<Version> passed = 0;
  /// Rows removed later are news to it.
  [[nodiscard]] Version knows() const { return std::max(since, passed.load()); }
  std::vector<std::shared_ptr<Table>> tables;  ///< under the directory lock of the store
};

/// Keeps the records that a table held at one moment. Outlives reader and store.
class TablePin {
 public:
  TablePin() = default;
  ~TablePin();
  TablePin(TablePin&&) noexcept;
  TablePin& operator=(TablePin&&) noexcept;
  [[nodiscard]] const Table& table() const { return *table_; }

 private:
  friend class Table;
  /// `held`: records that left the table while this was its newest pin.
  struct Place {
    Version version = 0;
    std::vector<Ref> held;
  };
  std::shared_ptr<Table> table_;
  std::list<Place>::iterator place_;
};

/// Records in a heap, an index by uid, the change log (all records, removed rows included, linked
/// in order of version), the log of removed rows, sweeps. Writers and readers take the mutex for a
/// moment; records that readers hold through a pin are read without it.
///
/// A capture of several tables at one moment freezes each when it has been visited: writers wait
/// until the last one is.
class Table : public std::enable_shared_from_this<Table> {
 public:
  Table(std::shared_ptr<Common> common, Owner owner);

  const Owner& owner() const { return owner_; }
  const Common& common() const { return *common_; }

  // Writing. None: the table is closed, another one took its place.
  struct Written {
    RowStore::Effect effect = RowStore::Effect::kNone;
    Packer* train = nullptr;  ///< to be trained by the caller
  };
  std::optional<Written> upsert(SourceId source, const RowView& row);
  std::optional<bool> remove(std::string_view uid);
  std::optional<bool> touch(std::string_view uid);
  std::optional<bool> begin_sweep(SourceId source);
  std::optional<std::size_t> end_sweep(SourceId source);
  /// The rows of all sources, or of one.
  std::optional<std::size_t> drop(std::optional<SourceId> source);

  /// Nothing is kept: the table can be closed.
  [[nodiscard]] bool idle() const;
  /// Closes the table if it is idle.
  bool close();

  // Readers.
  void add_reader(std::shared_ptr<ReaderState> reader);
  void remove_reader(const ReaderState* reader);
  /// Forgets the removed rows that every reader has passed.
  void forget_passed();
  /// Version of the last effective change.
  [[nodiscard]] Version changed() const { return changed_.load(std::memory_order_acquire); }

  /// The table as its readers see it while it is frozen.
  struct View {
    Table& table;
    [[nodiscard]] std::size_t row_count() const { return table.rows_; }
    [[nodiscard]] const SetHash& set_hash() const { return table.hash_; }
    [[nodiscard]] TablePin pin() const;
    [[nodiscard]] std::vector<Ref> rows() const;
    /// Newest first, later than `after`.
    struct Change {
      Version version;
      Ref ref;
    };
    [[nodiscard]] std::vector<Change> changes(Version after) const;
  };
  /// Calls visit(View) under the lock. With `freeze` writers wait from then until thaw().
  template <class Visit>
  void visit(bool freeze, Visit&& visit) {
    const std::lock_guard lock(mutex_);
    visit(View{*this});
    frozen_ = frozen_ || freeze;
  }
  void thaw();

  /// A record of a pinned moment; no lock.
  [[nodiscard]] Record record(Ref ref) const { return Record(heap_.at(ref)); }

  struct Stats {
    std::size_t rows = 0;
    std::size_t tombstones = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] Stats stats() const;

 private:
  friend class TablePin;
  struct Source {
    std::size_t rows = 0;
    std::size_t seen = 0;    ///< by the running sweep
    std::uint8_t sweep = 0;  ///< number of the last one begun
    bool sweeping = false;
  };

  std::unique_lock<std::mutex> lock_for_writing();
  Version next_version();
  std::size_t find(const UidKey& uid) const;
  // Sources and sweeps.
  void join_source(Record record, SourceId source);
  void leave_source(Record record);
  void see(Record record);
  void clear_marks(SourceId source);
  // The change log.
  void link_last(Ref ref);
  void unlink(Ref ref);
  void link_removed(Ref ref);
  void unlink_removed(Ref ref);
  Ref make_record(const Record::Fields& fields);
  void remove_row(Ref ref, RowReader& reader);
  void remove_rows(const std::vector<Ref>& refs);
  void forget(Ref removed);
  // Memory.
  void discard(Ref ref);
  void destroy(Ref ref);
  bool pinned(Ref ref) const;
  void move_record(Ref from);
  bool tidy_step();
  void tidy(std::unique_lock<std::mutex>& lock);
  static void let_others(std::unique_lock<std::mutex>& lock);
  void unpin(std::list<TablePin::Place>::iterator place);

  const std::shared_ptr<Common> common_;
  const Owner owner_;

  mutable std::mutex mutex_;
  std::condition_variable thawed_;
  bool frozen_ = false;
  bool closed_ = false;
  SlabHeap heap_;
  ProbeIndex index_;  ///< by uid; marked: removed
  RowEncoder encoder_;
  Ref first_ = 0;
  Ref last_ = 0;
  Ref oldest_removed_ = 0;
  Ref newest_removed_ = 0;
  std::size_t rows_ = 0;
  std::size_t removed_ = 0;
  SetHash hash_;
  std::unordered_map<SourceId, Source> sources_;
  std::list<TablePin::Place> pins_;  ///< oldest first
  std::vector<std::shared_ptr<ReaderState>> readers_;
  std::atomic<Version> changed_ = 0;
};

}  // namespace kollect::inventory
