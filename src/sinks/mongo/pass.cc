#include "sinks/mongo/pass.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "sinks/rows/held.h"

namespace kollect::sinks::mongo {

namespace {

using inventory::RowView;

constexpr std::size_t kCheckEvery = 1024;  // rows between two questions to the context
constexpr std::size_t kAskedAtOnce = 500;  // changed rows that are looked up together

/// Visits the documents that a filter finds, with some of their fields.
template <class VisitDocument>
base::Result<> for_each_document(const Work& work, const Bson& filter,
                                 std::initializer_list<const char*> fields,
                                 const VisitDocument& visit) {
  const auto collection = work.open();
  // What is compared must be the newest state, wherever the URI wants other reads to go.
  const Handle<mongoc_read_prefs_t> primary(mongoc_read_prefs_new(MONGOC_READ_PRIMARY));
  Bson options;
  bson_t projection;
  BSON_APPEND_DOCUMENT_BEGIN(options.get(), "projection", &projection);
  BSON_APPEND_INT32(&projection, "_id", 0);
  for (const char* field : fields) BSON_APPEND_INT32(&projection, field, 1);
  bson_append_document_end(options.get(), &projection);
  const Handle<mongoc_cursor_t> cursor(mongoc_collection_find_with_opts(
      collection.get(), filter.get(), options.get(), primary.get()));
  const bson_t* document = nullptr;
  while (mongoc_cursor_next(cursor.get(), &document)) KL_TRY(visit(document));
  bson_error_t error{};
  if (!mongoc_cursor_error(cursor.get(), &error)) return {};
  return work.client.failed("comparing rows with", work.where(), error);
}

/// Text of a member of the payload.
std::string_view payload_text(const bson_t* document, const char* name) {
  bson_iter_t at;
  bson_iter_t member;
  const std::string path = fmt::format("payload.{}", name);
  return bson_iter_init(&at, document) && bson_iter_find_descendant(&at, path.c_str(), &member)
             ? text_of(member)
             : std::string_view();
}

/// What the collection holds under one key.
struct Held {
  rows::KeyHash key;
  Digest digest{};
};

Held held_of(const bson_t* document) {
  Held out;
  out.key = rows::key_hash(text_of(document, "target_name"), text_of(document, "source_uid"));
  bson_iter_t at;
  if (bson_iter_init_find(&at, document, "payload")) {
    out.digest = digest_of(text_of(document, "resource_namespace"), at);
  }
  return out;
}

void note_row(PassCounts& counts, const RowDocument& document, const RowView& row) {
  ++counts.written;
  counts.bytes += document.size();
  if (document.replaced() && counts.replaced++ == 0) {
    counts.replaced_first =
        fmt::format("{}/{}", base::sanitize_utf8(row.ns), base::sanitize_utf8(row.name));
  }
}

class Reconciliation {
 public:
  Reconciliation(Work& work, const Partition& partition, const rows::Keep& keep, bool dry_run,
                 std::stop_token give_way)
      : work_(work),
        partition_(partition),
        keep_(keep),
        writer_(work, partition),
        dry_run_(dry_run),
        give_way_(std::move(give_way)) {}

  base::Result<PassCounts> run(const rows::Source& source) {
    KL_TRY(read_collection());
    counts_.held = held_.size();
    // Nothing that was written can be taken back: which rows share a key must be known before.
    KL_ASSIGN(auto duplicates, rows::Duplicates::find(source));
    const auto visit = [&](const RowView& view) -> base::Result<> {
      if (duplicates.any() &&
          duplicates.superseded(rows::key_hash(view.target_name, rows::source_uid(view)))) {
        ++counts_.collapsed;
        return {};
      }
      return row(view);
    };
    KL_TRY(duplicates.any() ? source.for_each_sorted(visit) : source.for_each(visit));
    KL_TRY(writer_.finish());
    if (!held_.all_seen()) KL_TRY(remove_unseen());
    return counts_;
  }

 private:
  [[nodiscard]] base::Result<> check() const {
    if (!differs_ && give_way_.stop_requested()) return gave_way();
    return work_.context.check();
  }

  base::Result<> read_collection() {
    Bson filter;
    append_partition(filter.get(), partition_);
    KL_TRY(for_each_document(work_, filter,
                             {"target_name", "source_uid", "resource_namespace", "payload"},
                             [this](const bson_t* document) -> base::Result<> {
                               const Held held = held_of(document);
                               held_.add(held.key, held.digest);
                               constexpr std::size_t kPiece = 20'000;
                               return held_.size() % kPiece == 0 ? check() : base::Result<>();
                             }));
    held_.seal();
    return {};
  }

  base::Result<> row(const RowView& view) {
    if (++position_ % kCheckEvery == 0) KL_TRY(check());
    KL_TRY(document_.write(view, partition_));
    const auto place = held_.find(columns_of(view).key());
    if (place) {
      held_.see(*place);
      if (held_.digest(*place) == document_.digest()) {
        ++counts_.unchanged;
        return {};
      }
    }
    differs_ = true;
    note_row(counts_, document_, view);
    if (dry_run_) return {};
    return place ? writer_.replace(document_) : writer_.insert(document_);
  }

  /// Second look at the collection, for the texts of the keys that are gone.
  base::Result<> remove_unseen() {
    Bson filter;
    append_partition(filter.get(), partition_);
    // Removing while a cursor reads might skip rows.
    std::vector<RowColumns> gone;
    KL_TRY(for_each_document(
        work_, filter,
        {"target_name", "source_uid", "payload.targetNamespace", "payload.namespace"},
        [&](const bson_t* document) -> base::Result<> {
          const std::string_view target_name = text_of(document, "target_name");
          const std::string_view source_uid = text_of(document, "source_uid");
          const auto place = held_.find(rows::key_hash(target_name, source_uid));
          if (!place || held_.seen(*place)) return {};
          if (keep_.holds(payload_text(document, "targetNamespace"), target_name,
                          payload_text(document, "namespace"))) {
            ++counts_.unchanged;
          } else {
            gone.push_back({std::string(target_name), std::string(source_uid), {}});
          }
          return {};
        }));
    counts_.removed = gone.size();
    if (dry_run_) return {};
    for (const RowColumns& row : gone) KL_TRY(writer_.remove(row.target_name, row.source_uid));
    KL_TRY(writer_.finish());
    counts_.removed = writer_.removed();
    return {};
  }

  Work& work_;
  const Partition& partition_;
  const rows::Keep& keep_;
  Writer writer_;
  bool dry_run_;
  std::stop_token give_way_;
  RowDocument document_;
  PassCounts counts_;
  rows::HeldRows<Digest> held_;
  bool differs_ = false;  ///< there is something to write
  std::size_t position_ = 0;
};

/// The rows of the collection under the keys of some changes.
class Lookup {
 public:
  struct Found {
    Digest digest{};
    std::string target_namespace;
  };

  static base::Result<Lookup> of(const Work& work, const Partition& partition,
                                 const std::vector<RowColumns>& wanted) {
    Bson filter;
    append_partition(filter.get(), partition);
    append_list(filter, "target_name", wanted, &RowColumns::target_name);
    append_list(filter, "source_uid", wanted, &RowColumns::source_uid);
    Lookup out;
    KL_TRY(for_each_document(
        work, filter, {"target_name", "source_uid", "resource_namespace", "payload"},
        [&](const bson_t* document) -> base::Result<> {
          const Held held = held_of(document);
          out.found_[held.key] = {held.digest,
                                  std::string(payload_text(document, "targetNamespace"))};
          return {};
        }));
    return out;
  }

  [[nodiscard]] const Found* find(const rows::KeyHash& key) const {
    const auto at = found_.find(key);
    return at == found_.end() ? nullptr : &at->second;
  }

 private:
  /// {field: {$in: [...]}}, each text once.
  static void append_list(Bson& filter, const char* field, const std::vector<RowColumns>& wanted,
                          std::string RowColumns::*member) {
    std::vector<std::string_view> texts;
    texts.reserve(wanted.size());
    for (const RowColumns& row : wanted) texts.push_back(row.*member);
    std::sort(texts.begin(), texts.end());
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    bson_t condition;
    bson_t list;
    BSON_APPEND_DOCUMENT_BEGIN(filter.get(), field, &condition);
    BSON_APPEND_ARRAY_BEGIN(&condition, "$in", &list);
    std::size_t index = 0;
    for (const std::string_view text : texts) append_text(&list, std::to_string(index++), text);
    bson_append_array_end(&condition, &list);
    bson_append_document_end(filter.get(), &condition);
  }

  std::map<rows::KeyHash, Found> found_;
};

base::Error rows_needed() {
  return base::conflict(
      "mongodb: targets of one name in different namespaces share an object; the whole set tells "
      "which row counts",
      "rows-needed");
}

class Changes {
 public:
  Changes(Work& work, const Partition& partition)
      : work_(work), partition_(partition), writer_(work, partition) {}

  base::Result<PassCounts> run(const inventory::ChangeSet& changes) {
    KL_TRY(refuse_shared_keys(changes));
    std::size_t bytes = 0;
    std::vector<Change> batch;
    KL_TRY(changes.for_each([&](const inventory::RowChange& change) -> base::Result<> {
      batch.push_back({change.removed, columns_of(change.row), own(change.row)});
      bytes += change.row.attributes.size();
      if (batch.size() < kAskedAtOnce && bytes < work_.limits.bytes) return {};
      bytes = 0;
      return apply(std::exchange(batch, {}));
    }));
    KL_TRY(apply(std::move(batch)));
    for (const RowColumns& row : gone_) KL_TRY(writer_.remove(row.target_name, row.source_uid));
    KL_TRY(writer_.finish());
    counts_.removed = writer_.removed();
    return counts_;
  }

 private:
  /// A row that outlives its view: its texts one after the other.
  struct OwnRow {
    std::array<std::string, 9> texts;
    [[nodiscard]] RowView view() const {
      return {texts[0], texts[1], texts[2], texts[3], texts[4],
              texts[5], texts[6], texts[7], texts[8]};
    }
  };
  struct Change {
    bool removed = false;
    RowColumns columns;
    OwnRow row;
  };

  static OwnRow own(const RowView& row) {
    return {{std::string(row.target_namespace), std::string(row.target_name), std::string(row.ns),
             std::string(row.name), std::string(row.group), std::string(row.version),
             std::string(row.kind), std::string(row.uid), std::string(row.attributes)}};
  }

  /// Two changes of one key come from two target namespaces.
  static base::Result<> refuse_shared_keys(const inventory::ChangeSet& changes) {
    std::vector<rows::KeyHash> keys;
    keys.reserve(changes.size());
    KL_TRY(changes.for_each([&](const inventory::RowChange& change) -> base::Result<> {
      keys.push_back(columns_of(change.row).key());
      return {};
    }));
    std::sort(keys.begin(), keys.end());
    if (std::adjacent_find(keys.begin(), keys.end()) != keys.end()) return rows_needed();
    return {};
  }

  base::Result<> apply(std::vector<Change> batch) {
    if (batch.empty()) return {};
    KL_TRY(work_.context.check());
    std::vector<RowColumns> wanted;
    wanted.reserve(batch.size());
    for (const Change& change : batch) wanted.push_back(change.columns);
    KL_ASSIGN(const Lookup lookup, Lookup::of(work_, partition_, wanted));
    for (const Change& change : batch) {
      const auto* found = lookup.find(change.columns.key());
      if (found != nullptr && found->target_namespace != change.columns.target_namespace) {
        return rows_needed();
      }
      if (!change.removed) {
        KL_TRY(write(change, found));
      } else if (found != nullptr) {
        gone_.push_back(change.columns);
      }
    }
    return {};
  }

  base::Result<> write(const Change& change, const Lookup::Found* found) {
    const RowView view = change.row.view();
    KL_TRY(document_.write(view, partition_));
    if (found != nullptr && found->digest == document_.digest()) {
      ++counts_.unchanged;
      return {};
    }
    note_row(counts_, document_, view);
    return found == nullptr ? writer_.insert(document_) : writer_.replace(document_);
  }

  Work& work_;
  const Partition& partition_;
  Writer writer_;
  RowDocument document_;
  PassCounts counts_;
  std::vector<RowColumns> gone_;
};

}  // namespace

base::Result<PassCounts> reconcile(Work& work, const Partition& partition,
                                   const rows::Source& source, const rows::Keep& keep, bool dry_run,
                                   std::stop_token give_way) {
  return Reconciliation(work, partition, keep, dry_run, std::move(give_way)).run(source);
}

base::Result<PassCounts> apply_changes(Work& work, const Partition& partition,
                                       const inventory::ChangeSet& changes) {
  return Changes(work, partition).run(changes);
}

}  // namespace kollect::sinks::mongo
