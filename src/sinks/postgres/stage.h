// Batches of differences: COPY into a staging table of the session, then one merge and one delete
// by key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "pgsql/connection.h"
#include "sinks/postgres/table.h"
#include "sinks/rows/rows.h"

namespace kollect::sinks::postgres {

struct BatchLimits {
  std::size_t rows = 50'000;
  std::size_t bytes = 32U << 20U;
};

/// A transaction that is under way on a session with its staging table (create_stage_sql).
struct Work {
  const base::Context& context;
  Connection& connection;
  BatchLimits limits;
  bool stage_dirty = false;  ///< the staging table holds rows of an earlier batch
};

/// The rows of one (cluster, inventory) in one table.
struct Partition {
  const Table* table = nullptr;
  std::string cluster;
  std::string inventory_namespace;
  std::string inventory_name;
  std::string at;  ///< exported_at of what is written, RFC 3339
  [[nodiscard]] std::vector<std::string> key() const {
    return {cluster, inventory_namespace, inventory_name};
  }
  [[nodiscard]] std::vector<std::string> key_and_time() const {
    return {cluster, inventory_namespace, inventory_name, at};
  }
};

/// One difference. Texts are valid UTF-8 without U+0000.
struct Difference {
  std::string_view target_name;
  std::string_view source_uid;
  std::string_view target_namespace;
  std::string_view resource_namespace;
  std::string_view payload;  ///< empty: the row goes
};

/// Collects differences of one partition inside the caller's transaction; a full batch is written
/// at once, so memory does not grow with the set. After an error the transaction is lost.
class Stage {
 public:
  /// kStrict: a row of another target namespace under a staged key is a conflict (error kind
  /// kConflict, reason "rows-needed"): which of the two counts can be told from the whole set only.
  enum class Mode { kStrict, kReconcile };

  Stage(Work& work, const Partition& partition, Mode mode)
      : work_(work), partition_(partition), mode_(mode) {}

  /// Error with reason "duplicate-key" when a batch holds a key twice.
  base::Result<> add(const Difference& difference);
  /// Writes what is left.
  base::Result<> finish();

  [[nodiscard]] std::uint64_t written() const { return written_; }
  [[nodiscard]] std::uint64_t removed() const { return removed_; }
  [[nodiscard]] std::uint64_t staged() const { return staged_; }  ///< rows sent, removals included
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  base::Result<> begin();
  base::Result<> send();
  base::Result<> write_batch();
  base::Result<> refuse_foreign_targets();
  base::Result<> write_history();

  base::Result<Answer> query(std::string_view doing, const std::string& sql,
                             const std::vector<std::string>& parameters);

  Work& work_;
  const Partition& partition_;
  Mode mode_;
  std::string buffer_;
  std::vector<rows::KeyHash> keys_;  ///< of this batch
  std::size_t batch_bytes_ = 0;
  bool upserts_ = false;
  bool removals_ = false;
  std::uint64_t written_ = 0;
  std::uint64_t removed_ = 0;
  std::uint64_t staged_ = 0;
  std::uint64_t bytes_ = 0;
};

/// Statements before the first Stage of a transaction.
std::string create_stage_sql();

/// Makes the history agree with the table: versions of rows that are gone are closed, those of
/// rows that changed or came while no history was kept are opened anew. True when anything was
/// amiss.
base::Result<bool> repair_history(Work& work, const Partition& partition);

}  // namespace kollect::sinks::postgres
