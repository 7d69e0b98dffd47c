// One inventory's rows in a table: comparing a set, applying changes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sinks/bigquery/jobs.h"
#include "sinks/rows/rows.h"
#include "sinks/rows/unit.h"

namespace kollect::sinks::bigquery {

using PassCounts = rows::Counts;

/// Which target namespaces the rows of a target's name come from; more than one: none.
using TargetNamespaces = std::map<std::string, std::optional<std::string>, std::less<>>;
void note_target(TargetNamespaces& targets, std::string_view name, std::string_view ns);

/// What passes need.
struct Work {
  const base::Context& context;
  google::Api& api;
  Jobs& jobs;
  /// Differences of more bytes are loaded into a table of their own first. A request may have 10
  /// MB.
  std::size_t parameter_bytes;
  /// The table was made for this pass: there is nothing to compare with.
  bool fresh = false;
};

/// Collects differences and writes them by one MERGE, small sets as parameter, larger ones by way
/// of a loaded table. Memory is bounded by the limits of Work.
class Stage {
 public:
  Stage(Work& work, const Partition& partition) : work_(work), partition_(partition) {}
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  base::Result<> add(Difference difference);
  /// True when a key was added twice.
  [[nodiscard]] bool has_twice();
  /// Rows of the table under an added key that belong to another target namespace. Only before the
  /// differences outgrow a parameter.
  base::Result<bool> meets_foreign();
  [[nodiscard]] bool loading() const { return load_.has_value(); }
  /// Writes everything; nothing happens when nothing was added.
  base::Result<> finish(PassCounts& counts);

 private:
  base::Result<> start_load();
  base::Result<> send_lines(Jobs::Load& load);
  base::Result<Finished> merge();
  base::Result<std::uint64_t> count(const Query& query);
  void drop_table();

  Work& work_;
  const Partition& partition_;
  std::vector<Difference> rows_;
  std::vector<rows::KeyHash> keys_;
  std::size_t bytes_ = 0;  ///< of rows_ as they are sent
  std::uint64_t upserts_ = 0;
  std::uint64_t removals_ = 0;
  std::uint64_t payload_bytes_ = 0;
  std::optional<TableName> table_;
  std::optional<Jobs::Load> load_;
  std::string lines_;
};

/// Makes the table hold exactly the rows of `source` and what `keep` holds. `targets` is filled.
base::Result<PassCounts> reconcile(Work& work, const Partition& partition,
                                   const rows::Source& source, const Export& head,
                                   TargetNamespaces& targets, bool dry_run,
                                   std::stop_token give_way);

/// Writes changes. Error kind kConflict (reasons "duplicate-key", "rows-needed") when only the
/// whole set tells which of two rows counts; nothing was written then.
base::Result<PassCounts> apply_changes(Work& work, const Partition& partition,
                                       const inventory::ChangeSet& changes,
                                       TargetNamespaces* targets);

}  // namespace kollect::sinks::bigquery
