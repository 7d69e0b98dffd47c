// The canonical snapshot of a running operator: rows by owner, with versions, a change log and
// cheap snapshots.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inventory/row.h"
#include "inventory/row_set.h"

namespace kollect::inventory {

/// Rows of targets and of cluster targets never mix, whatever their names (spec: runtime 7.2, X-5).
enum class OwnerClass : std::uint8_t { kTarget, kClusterTarget };

/// Whose rows: a KollectTarget, or the collector of a KollectClusterTarget for one namespace (""
/// for cluster-scoped kinds). `ns` and `name` are the row's targetNamespace and targetName.
struct Owner {
  OwnerClass owner_class = OwnerClass::kTarget;
  std::string ns;
  std::string name;
  auto operator<=>(const Owner&) const = default;
};

/// Grows with every effective change of the store, never repeats within a process. 0: before
/// everything.
using Version = std::uint64_t;
/// Where a row was read: a number that the collector gives to each of its watches (kind and
/// namespace).
using SourceId = std::uint32_t;

/// Which rows of its owners a reader sees.
enum class RowChoice : std::uint8_t {
  kAll,
  /// Of rows with one uid and one target namespace that of the owner whose name sorts last (spec:
  /// selection 12.2, byResourceUID).
  kLastOfUid,
};

/// Rows of one target namespace, counted.
struct Shard {
  std::string ns;
  std::size_t rows = 0;
  std::size_t targets = 0;  ///< owners with a row, those included whose rows are not chosen
  std::string set_hash;     ///< as Snapshot::set_hash(), of these rows
  bool operator==(const Shard&) const = default;
};

/// One difference. A removed row has its identity and no attributes.
struct RowChange {
  bool removed = false;
  RowView row;
};

/// Rows changed after one version and up to another, each once, in its last state. Holds what it
/// needs: writers go on.
class ChangeSet {
 public:
  ChangeSet();
  ~ChangeSet();
  ChangeSet(ChangeSet&&) noexcept;
  ChangeSet& operator=(ChangeSet&&) noexcept;
  [[nodiscard]] Version to() const;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// Of all rows of the reader's owners at the moment of to(), as Snapshot's.
  [[nodiscard]] std::size_t row_count() const;
  [[nodiscard]] std::string set_hash() const;
  /// In the order of change. Views die with the call. Stops at the first error and returns it.
  base::Result<> for_each(const std::function<base::Result<>(const RowChange&)>& visit) const;

 private:
  friend class RowStore;
  friend class Reader;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// All rows of a reader's owners at one moment. Holding it neither blocks writers nor copies rows:
/// it pins the records. Many threads may read. It may outlive reader and store, as a ChangeSet may.
class Snapshot {
 public:
  Snapshot();
  ~Snapshot();
  Snapshot(Snapshot&&) noexcept;
  Snapshot& operator=(Snapshot&&) noexcept;
  [[nodiscard]] Version version() const;
  [[nodiscard]] std::size_t size() const;
  /// Order-free hash of the set, 32 lower-case hex digits: equal sets give equal texts in every
  /// process. Kept up by every change, so reading it costs nothing.
  [[nodiscard]] std::string set_hash() const;
  /// Any order. Views die with the call.
  base::Result<> for_each(const std::function<base::Result<>(const RowView&)>& visit) const;
  /// All rows, in canonical order (spec: sinks 2.2).
  base::Result<> for_each_sorted(const std::function<base::Result<>(const RowView&)>& visit) const;
  /// The same rows as a sealed set, for sinks that write whole documents. It sorts once, copies
  /// nothing but 4 bytes a row, and pins the records as the snapshot does. Of rows with equal
  /// identity (a target and a cluster target of one name) it has the last of for_each_sorted().
  [[nodiscard]] RowSet to_row_set() const;

 private:
  friend class RowStore;
  friend class Reader;
  friend class Tally;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// One consumer's place in the change log of the owners it reads. Removed rows are remembered until
/// every reader of their owner has passed them. Used by one thread at a time; must not outlive the
/// store.
class Reader {
 public:
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  /// What changed since passed(). Right after subscribing: nothing is known, so take a snapshot
  /// first. Knows no choice of rows, nor do row_count() and set_hash(): with another one than kAll
  /// ask for snapshots alone.
  [[nodiscard]] ChangeSet changes() const;
  [[nodiscard]] Snapshot snapshot() const;
  /// The consumer holds everything up to `version`.
  void passed(Version version);
  /// True when something changed since passed(). O(owners).
  [[nodiscard]] bool pending() const;
  [[nodiscard]] std::size_t row_count() const;
  [[nodiscard]] std::string set_hash() const;

 private:
  friend class RowStore;
  struct Impl;
  explicit Reader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// What owners hold, counted. Unlike a Reader it makes the store remember nothing. Thread-safe;
/// must not outlive the store.
class Tally {
 public:
  ~Tally();
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;
  /// Of all rows, chosen or not. O(owners).
  [[nodiscard]] std::size_t row_count() const;
  /// Of the chosen rows, those with rows, in the order of `ns`. O(owners); with kLastOfUid O(rows)
  /// after a change.
  [[nodiscard]] std::vector<Shard> shards() const;

 private:
  friend class RowStore;
  struct Impl;
  explicit Tally(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct RowStoreOptions {
  std::size_t compress_above =
      512;  ///< attributes of more bytes are stored with zstd, with a dictionary per kind
};

struct RowStoreStats {
  std::size_t rows = 0;
  std::size_t owners = 0;
  std::size_t tombstones = 0;
  std::size_t bytes = 0;  ///< of records, indexes and tables
};

/// Thread-safe. Rows are keyed by owner and uid. Writers of different owners do not wait for each
/// other, but for a moment at texts that are new to both and while a reader takes a snapshot or
/// changes over both (O(owners) plus the pointers to rows). Attributes come back byte for byte;
/// none are "{}". A row costs about 100 to 220 bytes with six attributes, index included. Memory of
/// rows that went is given back to the system.
class RowStore {
 public:
  explicit RowStore(RowStoreOptions options = {});
  ~RowStore();
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  enum class Effect { kNone, kAdded, kChanged };
  /// Stores the row of `owner` (target fields of `row` are taken from the owner); an equal row
  /// changes nothing but counts as seen by a running sweep.
  Effect upsert(const Owner& owner, SourceId source, const RowView& row);
  /// True when there was one.
  bool remove(const Owner& owner, std::string_view uid);
  /// Counts the row as seen by a running sweep without looking at it; false when there is none.
  bool touch(const Owner& owner, std::string_view uid);

  /// Between begin and end, rows of the owner and source that nobody upserts or touches are stale;
  /// end removes them and says how many. A begin without an end (a list that failed) removes
  /// nothing; a new begin starts over.
  void begin_sweep(const Owner& owner, SourceId source);
  std::size_t end_sweep(const Owner& owner, SourceId source);

  /// All rows of the owner go (the readers see them removed), or those of one source.
  std::size_t drop(const Owner& owner);
  std::size_t drop_source(const Owner& owner, SourceId source);

  [[nodiscard]] std::size_t row_count(const Owner& owner) const;
  [[nodiscard]] std::vector<Owner> owners() const;
  [[nodiscard]] RowStoreStats stats() const;

  /// Reads all owners, present and future, that `wanted` accepts. `wanted` is asked once per owner
  /// (again when the owner lost all its rows and comes back), must be pure and must not call the
  /// store.
  std::unique_ptr<Reader> subscribe(std::function<bool(const Owner&)> wanted,
                                    RowChoice choice = RowChoice::kAll);
  /// Counts what such a reader would see.
  std::unique_ptr<Tally> tally(std::function<bool(const Owner&)> wanted,
                               RowChoice choice = RowChoice::kAll);
  /// Called after effective changes, on the writer's thread, without locks held; must be quick. Set
  /// before the first write.
  void on_change(std::function<void(const Owner&)> listener);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::inventory
