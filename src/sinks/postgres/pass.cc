#include "sinks/postgres/pass.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sinks/postgres/payload.h"
#include "sinks/rows/held.h"

namespace kollect::sinks::postgres {

namespace {

using inventory::RowView;

constexpr std::size_t kCheckEvery = 1024;  // rows between two questions to the context
constexpr int kFetch = 20'000;             // rows per round trip while the table is read

/// A row as it goes into the columns.
struct Ready {
  std::string target_name;
  std::string source_uid;
  std::string target_namespace;
  std::string resource_namespace;
  [[nodiscard]] Difference with(std::string_view payload) const {
    return {target_name, source_uid, target_namespace, resource_namespace, payload};
  }
};

Ready ready(const RowView& row, const Partition& partition) {
  return {column_text(row.target_name), column_text(rows::source_uid(row)),
          column_text(row.target_namespace),
          column_text(row.ns.empty() ? std::string_view(partition.inventory_namespace) : row.ns)};
}

void note_replacement(PassCounts& counts, const Payload& payload, const RowView& row) {
  if (!payload.replaced()) return;
  if (counts.replaced++ > 0) return;
  counts.replaced_first = fmt::format("{}/{}", column_text(row.ns), column_text(row.name));
  if (!payload.replaced_in().empty()) {
    counts.replaced_first += fmt::format(", attribute {}", payload.replaced_in());
  }
}

class Reconciliation {
 public:
  Reconciliation(Work& work, const Partition& partition, const rows::Keep& keep, bool dry_run,
                 std::stop_token give_way)
      : work_(work),
        partition_(partition),
        keep_(keep),
        stage_(work, partition, Stage::Mode::kReconcile),
        dry_run_(dry_run),
        give_way_(std::move(give_way)) {}

  base::Result<PassCounts> run(const rows::Source& source, Reading reading) {
    KL_TRY(read_table());
    counts_.held = held_.size();
    if (reading == Reading::kTwice) {
      KL_ASSIGN(auto found, rows::Duplicates::find(source));
      duplicates_.emplace(std::move(found));
      KL_TRY(source.for_each_sorted([this](const RowView& view) { return row(view); }));
    } else {
      keys_.reserve(source.size());
      KL_TRY(source.for_each([this](const RowView& view) { return row(view); }));
      std::sort(keys_.begin(), keys_.end());
      if (std::adjacent_find(keys_.begin(), keys_.end()) != keys_.end()) {
        return base::conflict("postgres: one key twice in the set", "duplicate-key");
      }
    }
    if (!held_.all_seen()) {
      differs_ = true;
      KL_TRY(remove_unseen());
    }
    KL_TRY(stage_.finish());
    if (!dry_run_) {
      // The server has compared again what was sent: it knows best.
      counts_.unchanged += differing_ - stage_.written();
      counts_.written = stage_.written();
      counts_.removed = stage_.removed();
      counts_.bytes = stage_.bytes();
      counts_.staged = stage_.staged();
    }
    return counts_;
  }

 private:
  /// Reads columns of the partition's rows `t` in pieces; between them other statements may run.
  base::Result<> for_each_piece(std::string_view columns,
                                const std::function<base::Result<>(const Answer&)>& visit) {
    Connection& connection = work_.connection;
    constexpr std::string_view kDoing = "comparing rows with";
    KL_TRY(connection.query(
        work_.context, kDoing,
        fmt::format("DECLARE kollect_rows NO SCROLL CURSOR FOR SELECT t.target_name, t.source_uid, "
                    "{} FROM {} t WHERE t.cluster = $1 AND t.inventory_namespace = $2 AND "
                    "t.inventory_name = $3",
                    columns, partition_.table->name),
        partition_.key()));
    while (true) {
      KL_ASSIGN(
          const Answer piece,
          connection.query(work_.context, kDoing, fmt::format("FETCH {} FROM kollect_rows", kFetch),
                           {}, Connection::Format::kBinary));
      KL_TRY(visit(piece));
      if (piece.rows() < kFetch) break;
      KL_TRY(check());
    }
    KL_TRY(connection.run(work_.context, kDoing, "CLOSE kollect_rows"));
    return {};
  }

  [[nodiscard]] base::Result<> check() const {
    if (!differs_ && give_way_.stop_requested()) return gave_way();
    return work_.context.check();
  }

  base::Result<> read_table() {
    KL_TRY(for_each_piece(kDigestSql, [this](const Answer& piece) -> base::Result<> {
      for (int i = 0; i < piece.rows(); ++i) {
        Digest digest{};
        const std::string_view told = piece.field(i, 2);
        if (told.size() == digest.size()) std::memcpy(digest.data(), told.data(), digest.size());
        held_.add(rows::key_hash(piece.field(i, 0), piece.field(i, 1)), digest);
      }
      return {};
    }));
    held_.seal();
    return {};
  }

  base::Result<> row(const RowView& view) {
    if (++position_ % kCheckEvery == 0) KL_TRY(check());
    const Ready columns = ready(view, partition_);
    const rows::KeyHash key = rows::key_hash(columns.target_name, columns.source_uid);
    if (!duplicates_) {
      keys_.push_back(key);
    } else if (duplicates_->superseded(rows::key_hash(view.target_name, rows::source_uid(view)))) {
      ++counts_.collapsed;
      return {};
    }
    KL_ASSIGN(const std::string_view payload, payload_.write(view));
    if (const auto place = held_.find(key)) {
      held_.see(*place);
      if (held_.digest(*place) == digest_of(columns.resource_namespace, payload)) {
        ++counts_.unchanged;
        return {};
      }
    }
    differs_ = true;
    ++differing_;
    note_replacement(counts_, payload_, view);
    if (!dry_run_) return stage_.add(columns.with(payload));
    ++counts_.written;
    counts_.bytes += payload.size();
    return {};
  }

  /// Second look at the table, for the texts of the keys that are gone.
  base::Result<> remove_unseen() {
    KL_TRY(stage_.finish());
    KL_TRY(for_each_piece("t.payload ->> 'targetNamespace', t.payload ->> 'namespace'",
                          [this](const Answer& piece) -> base::Result<> {
                            for (int i = 0; i < piece.rows(); ++i)
                              KL_TRY(remove_if_unseen(piece, i));
                            return stage_.finish();
                          }));
    return {};
  }

  base::Result<> remove_if_unseen(const Answer& piece, int i) {
    const std::string_view target_name = piece.field(i, 0);
    const std::string_view source_uid = piece.field(i, 1);
    const auto place = held_.find(rows::key_hash(target_name, source_uid));
    if (!place || held_.seen(*place)) return {};
    if (keep_.holds(piece.field(i, 2), target_name, piece.field(i, 3))) {
      ++counts_.unchanged;
      return {};
    }
    ++counts_.removed;
    return dry_run_ ? base::Result<>()
                    : stage_.add({target_name, source_uid, piece.field(i, 2), "", ""});
  }

  Work& work_;
  const Partition& partition_;
  const rows::Keep& keep_;
  Stage stage_;
  bool dry_run_;
  std::stop_token give_way_;
  Payload payload_;
  PassCounts counts_;
  std::optional<rows::Duplicates> duplicates_;
  rows::HeldRows<Digest> held_;
  std::vector<rows::KeyHash> keys_;
  bool differs_ = false;  ///< there is, or may be, something to write
  std::uint64_t differing_ = 0;
  std::size_t position_ = 0;
};

}  // namespace

base::Result<PassCounts> reconcile(Work& work, const Partition& partition,
                                   const rows::Source& source, const rows::Keep& keep,
                                   Reading reading, bool dry_run, std::stop_token give_way) {
  return Reconciliation(work, partition, keep, dry_run, std::move(give_way)).run(source, reading);
}

base::Result<PassCounts> apply_changes(Work& work, const Partition& partition,
                                       const inventory::ChangeSet& changes) {
  Stage stage(work, partition, Stage::Mode::kStrict);
  Payload payload;
  PassCounts counts;
  std::uint64_t upserts = 0;
  std::size_t position = 0;
  KL_TRY(changes.for_each([&](const inventory::RowChange& change) -> base::Result<> {
    if (position++ % kCheckEvery == 0) KL_TRY(work.context.check());
    const Ready columns = ready(change.row, partition);
    if (change.removed) return stage.add(columns.with(""));
    ++upserts;
    KL_ASSIGN(const std::string_view text, payload.write(change.row));
    note_replacement(counts, payload, change.row);
    return stage.add(columns.with(text));
  }));
  KL_TRY(stage.finish());
  counts.written = stage.written();
  counts.unchanged = upserts - stage.written();
  counts.removed = stage.removed();
  counts.bytes = stage.bytes();
  counts.staged = stage.staged();
  return counts;
}

}  // namespace kollect::sinks::postgres
