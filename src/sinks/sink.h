// What a sink gets and what it answers (spec: sinks 1).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "api/types.h"
#include "base/context.h"
#include "base/result.h"
#include "base/secret.h"
#include "inventory/envelope.h"
#include "inventory/row_set.h"
#include "inventory/row_store.h"

namespace kollect::sinks {

/// Identity of an inventory: values, never parsed back out of a path (K-1).
struct InventoryId {
  std::string ns;  ///< "cluster" for a cluster inventory
  std::string name;
  auto operator<=>(const InventoryId&) const = default;
};

/// What of a target could not be read.
struct KeptPart {
  std::string target;  ///< name, or "namespace/name"
  std::string ns;      ///< of its objects
  bool operator==(const KeptPart&) const = default;
};

/// "target/namespace" of each, in their order.
std::vector<std::string> texts_of(const std::vector<KeptPart>& parts);

/// One inventory's complete row set with what is written beside it.
struct Export {
  InventoryId inventory;
  const inventory::RowSet* rows = nullptr;  ///< sealed; borrowed for the call
  std::int64_t generation = 0;
  base::WallTime exported_at{};
  std::string
      cluster;  ///< effective cluster name: sink's spec.cluster, else the run's; may be empty
  /// Profiles of the inventory's targets export whole objects under this key (K-5); none: decided
  /// by the rows.
  std::optional<std::string> resource_key;
  std::size_t max_bytes = 1572864;  ///< ceiling of a document; 0: no ceiling
  /// Objects of these namespaces could not be read: what the sink holds of them stays (P-9).
  std::vector<std::string> keep_namespaces;
  /// The same for targets of the inventory that never gave a complete list.
  std::vector<std::string> keep_targets;
  /// The same for single namespaces of a target. Unlike the others they are known before rows go,
  /// so changes never name rows of theirs as removed.
  std::vector<KeptPart> keep_parts = {};
  /// Something that the sink holds stays though it has no row.
  [[nodiscard]] bool keeps() const {
    return !keep_namespaces.empty() || !keep_targets.empty() || !keep_parts.empty();
  }
  /// Types that the profiles of the inventory's targets declare, by attribute; see declare_types().
  std::map<std::string, std::string> attribute_types = {};
};

/// Adds what a profile declares of its attributes. Where profiles differ the type is "string".
void declare_types(const std::vector<api::Attribute>& declared,
                   std::map<std::string, std::string>& types);

/// One pass of a running operator over one inventory.
struct Pass {
  Export head;  ///< everything but `rows`, which is null
  /// All rows. May be null when `changes` is given and the sink takes_changes().
  const inventory::Snapshot* rows = nullptr;
  /// What differs from the state that this backend has confirmed; null: that state is not known (a
  /// start, a changed sink, an error, a refresh), so the backend compares with what it holds,
  /// writes only differences and removes what is gone.
  const inventory::ChangeSet* changes = nullptr;
  std::size_t row_count = 0;  ///< of the whole set
  std::string set_hash = {};  ///< of the whole set, as Snapshot::set_hash()
  /// Somebody waits for the backend: a comparison that has found nothing to write so far may end
  /// with the error gave_way(); it will be asked for again.
  std::stop_token give_way = {};
  /// The backend has confirmed an earlier state of this inventory, under the same sink and the same
  /// choice of rows: a change, a refresh, another generation, or a try after an error. Backends
  /// that cannot be compared with (streams) then send what is new and not everything.
  bool resumed = false;
  /// Where `changes` is null and the pass resumes: what differs from the confirmed state all the
  /// same, if that can be told. What a failed pass in between has sent is part of it.
  const inventory::ChangeSet* since = nullptr;
};

/// Kind kCancelled, reason "gave-way".
base::Error gave_way();

/// What an export did.
struct ExportReport {
  std::uint64_t written = 0;
  std::uint64_t unchanged = 0;
  std::uint64_t removed = 0;
  std::uint64_t bytes = 0;
  std::uint64_t replaced = 0;  ///< written rows with characters that the backend cannot hold
  std::vector<std::string> warnings;
  /// With dry_run: one entry per document.
  struct Change {
    enum class What { kCreate, kUpdate, kUnchanged, kRemove } what = What::kCreate;
    std::string path;
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Change> changes;
};

/// A constructed backend. export_all is one unit: one commit, one transaction (L-64, K-9). Called
/// by one thread at a time.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Writes all exports of one run (one cluster). With `dry_run` nothing is written and the report
  /// tells what would be.
  virtual base::Result<ExportReport> export_all(const base::Context& context,
                                                const std::vector<Export>& exports,
                                                bool dry_run) = 0;
  /// One pass: only what changed is written where the backend can. This form copies all rows and
  /// calls export_all.
  virtual base::Result<ExportReport> apply(const base::Context& context, const Pass& pass);
  /// True when apply() can do with the changes alone. May be asked by any thread, also during a
  /// pass.
  [[nodiscard]] virtual bool takes_changes() const { return false; }
  /// Connects without side effects (spec: sinks 16.1).
  virtual base::Result<> probe(const base::Context& context) = 0;
};

/// Credentials of a sink, resolved by the caller: Secret key to value.
using SecretData = std::map<std::string, base::Secret>;

}  // namespace kollect::sinks
