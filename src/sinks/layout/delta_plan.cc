#include "sinks/layout/delta_plan.h"

#include <algorithm>
#include <bitset>
#include <iterator>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "sinks/layout/run_layout.h"

namespace kollect::sinks {

namespace {

/// From here on a set of changes as large as half of the rows is not worth the trouble.
constexpr std::size_t kManyChanges = 1000;

base::Error refused(std::string why) {
  return base::retryable(std::move(why), std::string(kNeedsAllRows));
}

/// A few numbers that are looked for among many.
class Wanted {
 public:
  void add(std::uint64_t number) {
    numbers_.insert(number);
    filter_.set(number % kFilter);
  }
  [[nodiscard]] bool has(std::uint64_t number) const {
    return filter_.test(number % kFilter) && numbers_.contains(number);
  }

 private:
  static constexpr std::size_t kFilter = 1U << 16U;
  std::unordered_set<std::uint64_t> numbers_;
  std::bitset<kFilter> filter_;
};

}  // namespace

class DeltaPlanner {
 public:
  DeltaPlanner(const SetLedger& ledger, const Pass& pass, const LayoutSpec& spec, DeltaPlan& out)
      : ledger_(ledger), pass_(pass), spec_(spec), out_(out), row_paths_(pass.head, spec) {}

  base::Result<> run() {
    KL_TRY(check());
    KL_TRY(read_changes());
    KL_TRY(find_rows());
    KL_TRY(remove_rows());
    KL_TRY(write_rows());
    KL_TRY(settle_rows());
    KL_TRY(cut());
    KL_TRY(write_indexes());
    std::ranges::sort(out_.removed);
    std::ranges::sort(out_.created);
    out_.manifest = out_.manifest || !out_.removed.empty() || !out_.created.empty();
    return {};
  }

 private:
  struct Change {
    std::uint64_t identity = 0;
    std::uint64_t path = 0;
    std::uint64_t suffixed = 0;  ///< the path that the row would have beside another (4.4)
    std::uint32_t size = 0;
    bool removed = false;
    std::optional<std::size_t> row;  ///< its place in the ledger
    std::uint64_t known_path = 0;    ///< with a place: its path there
  };

  base::Result<> check() const {
    if (!ledger_.same_head(pass_.head)) return refused("the export's settings changed");
    if (ledger_.layout.mode == LayoutMode::kDocument) return refused("a document is written whole");
    if (ledger_.keeps || !pass_.head.keep_namespaces.empty() || !pass_.head.keep_targets.empty()) {
      return refused("files without rows stay");
    }
    const auto size = pass_.changes->size();
    if (size > kManyChanges && size > pass_.changes->row_count() / 2)
      return refused("many changes");
    return {};
  }

  base::Result<> read_changes() {
    std::unordered_set<std::uint64_t> seen;
    base::json::Document scratch;
    std::string text;
    return pass_.changes->for_each([&](const inventory::RowChange& change) -> base::Result<> {
      const auto& row = change.row;
      Change read;
      read.identity = identity_hash(row);
      read.removed = change.removed;
      // A target and a cluster target of one name.
      if (!seen.insert(read.identity).second) return refused("one row of two owners");
      KL_ASSIGN(auto drafted, row_paths_.path(row));
      read.path = path_hash(drafted.path);
      if (std::ranges::binary_search(ledger_.contested, read.path)) {
        return refused("rows share a path: " + drafted.path);
      }
      KL_TRY(check_object(change, read.identity, scratch));
      if (!change.removed) {
        read.suffixed =
            path_hash(with_suffix(drafted.path, collision_suffix(row), row_paths_.extension()));
        if (pass_.head.max_bytes > 0) {
          text.clear();
          inventory::append_row_json(text, row);
          read.size = static_cast<std::uint32_t>(text.size());
        }
      }
      changes_.push_back(read);
      out_.writes.push_back(std::move(drafted.path));
      return {};
    });
  }

  /// Mode, content and key of the whole stay as they are (4.2).
  base::Result<> check_object(const inventory::RowChange& change, std::uint64_t identity,
                              base::json::Document& scratch) const {
    if (!ledger_.layout.by_rows) return {};
    if (!ledger_.layout.rows_carry_objects) {
      if (ledger_.unlike.empty() ||
          std::ranges::find(ledger_.unlike, identity) != ledger_.unlike.end()) {
        return refused("the rows may carry objects now");
      }
      return {};
    }
    if (change.removed) return {};
    KL_ASSIGN(const auto key, object_key(change.row, scratch));
    if (key != ledger_.layout.manifest_key) return refused("a row does not carry its object");
    return {};
  }

  /// One walk over the ledger's numbers: where the changed rows are, and who has their paths.
  base::Result<> find_rows() {
    Wanted identities;
    Wanted paths;
    std::unordered_map<std::uint64_t, Change*> by_identity;
    for (auto& change : changes_) {
      identities.add(change.identity);
      by_identity.emplace(change.identity, &change);
      paths.add(change.path);
      if (!change.removed) paths.add(change.suffixed);
    }
    for (const auto fixed : ledger_.fixed) {
      if (paths.has(fixed)) return refused("a row is at the place of another file");
    }
    LedgerRows::Cursor known(ledger_.rows);
    for (std::size_t i = 0; i < ledger_.rows.size(); ++i) {
      KL_ASSIGN(const LedgerRow* row, known.next());
      if (identities.has(row->identity)) {
        auto& change = *by_identity.at(row->identity);
        if (change.row) return refused("two rows look alike");
        change.row = i;
        change.known_path = row->path;
      }
      if (paths.has(row->path) && !holders_.emplace(row->path, i).second) {
        return refused("two paths look alike");
      }
    }
    return {};
  }

  base::Result<> remove_rows() {
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      const auto& change = changes_[i];
      if (!change.removed) continue;
      auto path = std::exchange(out_.writes[i], {});
      if (!change.row) continue;  // the branch was ahead of what was confirmed
      if (change.known_path != change.path) return refused("a row moved");
      freed_.emplace(change.path, std::move(path));
      gone_.push_back(*change.row);
    }
    std::ranges::sort(gone_);
    return {};
  }

  base::Result<> write_rows() {
    out_.next = ledger_;
    out_.next.head.exported_at = pass_.head.exported_at;
    out_.next.set_hash = pass_.changes->set_hash();
    std::unordered_set<std::uint64_t> claimed;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      const auto& change = changes_[i];
      if (change.removed) continue;
      if (!claimed.insert(change.path).second || holders_.contains(change.suffixed)) {
        return refused("two rows want one path: " + out_.writes[i]);
      }
      if (change.row) {
        if (change.known_path != change.path) return refused("a row moved");
        sizes_[*change.row] = change.size;
        continue;
      }
      const auto holder = holders_.find(change.path);
      if (holder != holders_.end() && !std::ranges::binary_search(gone_, holder->second)) {
        return refused("another row has the path: " + out_.writes[i]);
      }
      fresh_.emplace(change.identity, &change);
      if (freed_.erase(change.path) == 0) out_.created.push_back(out_.writes[i]);
    }
    for (auto& [hash, path] : freed_) out_.removed.push_back(std::move(path));
    return {};
  }

  /// Brings the ledger's rows to the new state.
  base::Result<> settle_rows() {
    auto& next = out_.next;
    if (pass_.head.max_bytes == 0) sizes_.clear();
    KL_ASSIGN(next.rows, ledger_.rows.edited(gone_, sizes_));
    if (next.rows.size() + fresh_.size() != pass_.changes->row_count()) {
      return refused("rows are missing");
    }
    if (fresh_.empty()) return {};
    // Without parts and index the order of rows shows nowhere.
    if (pass_.head.max_bytes == 0 && next.layout.index_paths.empty()) {
      for (const auto& [identity, change] : fresh_) {
        KL_TRY(next.rows.add({identity, change->path, 0}));
      }
      return {};
    }
    return order_rows();
  }

  base::Result<> order_rows() {
    KL_ASSIGN(const auto* rows, all_rows());
    auto& into = out_.next.rows;
    const auto old = std::exchange(into, into.empty_copy());
    LedgerRows::Cursor cursor(old);
    KL_ASSIGN(const LedgerRow* known, cursor.next());
    KL_TRY(rows->for_each_key([&](const inventory::RowView& row) -> base::Result<> {
      const auto identity = identity_hash(row);
      if (known != nullptr && known->identity == identity) {
        KL_TRY(into.add(*known));
        KL_ASSIGN(known, cursor.next());
        return {};
      }
      const auto fresh = fresh_.find(identity);
      if (fresh == fresh_.end()) return refused("a row that was not there");
      return into.add({identity, fresh->second->path, fresh->second->size});
    }));
    if (into.size() != pass_.changes->row_count()) return refused("rows are missing");
    return {};
  }

  /// All rows in the state of the changes.
  base::Result<const inventory::RowSet*> all_rows() {
    if (!rows_) {
      if (pass_.rows == nullptr || pass_.rows->set_hash() != pass_.changes->set_hash()) {
        return refused("the rows are newer than the changes");
      }
      rows_ = pass_.rows->to_row_set();
    }
    return &*rows_;
  }

  base::Result<> cut() {
    auto& next = out_.next;
    const auto count = next.rows.size();
    inventory::PartCutter cutter(envelope_meta(pass_.head), pass_.head.max_bytes, count);
    std::vector<inventory::Part> parts = {{.first = 0, .last = count}};
    if (pass_.head.max_bytes > 0) {
      LedgerRows::Cursor cursor(next.rows);
      for (std::size_t i = 0; i < count; ++i) {
        KL_ASSIGN(const LedgerRow* row, cursor.next());
        if (!cutter.add(row->size)) return refused("a row alone exceeds the ceiling");
      }
      parts = cutter.finish();
    }
    if (parts.size() != ledger_.layout.parts.size()) {
      if (!next.layout.index_paths.empty()) return refused("another number of parts");
      out_.manifest = true;
    }
    next.layout.parts.clear();
    for (const auto& part : parts) next.layout.parts.emplace_back(part.first, part.last);
    return {};
  }

  /// Indexes of the parts that have another row, or a row in another form.
  base::Result<> write_indexes() {
    const auto& next = out_.next;
    if (next.layout.index_paths.empty()) return {};
    Wanted written;
    for (const auto& change : changes_) {
      if (!change.removed) written.add(change.identity);
    }
    for (std::size_t i = 0; i < next.layout.parts.size(); ++i) {
      const auto [first, last] = next.layout.parts[i];
      KL_ASSIGN(const bool same, same_rows(next.layout.parts[i], ledger_.layout.parts[i], written));
      if (same) continue;
      KL_ASSIGN(auto index, index_of(first, last, next.layout.index_paths[i]));
      out_.indexes.push_back(std::move(index));
    }
    return {};
  }

  using Range = std::pair<std::size_t, std::size_t>;

  /// True when these rows are those of the ledger, and none of them is written.
  base::Result<bool> same_rows(const Range& now, const Range& then, const Wanted& written) const {
    const auto count = now.second - now.first;
    if (then.second - then.first != count) return false;
    LedgerRows::Cursor ours(out_.next.rows, now.first);
    LedgerRows::Cursor theirs(ledger_.rows, then.first);
    for (std::size_t i = 0; i < count; ++i) {
      KL_ASSIGN(const LedgerRow* row, ours.next());
      KL_ASSIGN(const LedgerRow* old, theirs.next());
      if (row->identity != old->identity || written.has(row->identity)) return false;
    }
    return true;
  }

  base::Result<File> index_of(std::size_t first, std::size_t last, const std::string& path) {
    KL_ASSIGN(const auto* rows, all_rows());
    PathList paths;
    LedgerRows::Cursor known(out_.next.rows, first);
    KL_TRY(rows->for_key_range(first, last, [&](const inventory::RowView& row) -> base::Result<> {
      KL_ASSIGN(auto drafted, row_paths_.path(row));
      KL_ASSIGN(const LedgerRow* at, known.next());
      if (path_hash(drafted.path) != at->path) {
        return refused("a row is not where the template puts it");
      }
      paths.add(drafted.path);
      return {};
    }));
    return index_file(pass_.head, spec_.format, path, range_checksum(*rows, first, last),
                      std::move(paths));
  }

  const SetLedger& ledger_;
  const Pass& pass_;
  const LayoutSpec& spec_;
  DeltaPlan& out_;
  const RowPaths row_paths_;
  std::vector<Change> changes_;
  std::unordered_map<std::uint64_t, std::size_t>
      holders_;                                           ///< of wanted paths: place in the ledger
  std::unordered_map<std::uint64_t, std::string> freed_;  ///< paths of rows that went
  std::vector<std::size_t> gone_;                         ///< places in the ledger, sorted
  std::map<std::size_t, std::uint32_t> sizes_;            ///< of rows that stay: by place
  std::unordered_map<std::uint64_t, const Change*> fresh_;  ///< rows that the ledger has not
  std::optional<inventory::RowSet> rows_;
};

base::Result<DeltaPlan> DeltaPlan::of(const SetLedger& ledger, const Pass& pass,
                                      const LayoutSpec& spec) {
  DeltaPlan out;
  KL_TRY(DeltaPlanner(ledger, pass, spec, out).run());
  return out;
}

base::Result<> DeltaPlan::files(const Pass& pass, const LayoutSpec& spec,
                                const std::function<base::Result<>(File&&)>& take) const {
  std::size_t number = 0;
  RowTexts texts(spec.format, next.layout.content, next.layout.manifest_key);
  KL_TRY(pass.changes->for_each([&](const inventory::RowChange& change) -> base::Result<> {
    const auto& path = writes[number++];
    if (path.empty()) return {};
    File file;
    file.path = path;
    file.rows = 1;
    KL_ASSIGN(file.content, texts.text(change.row));
    return take(std::move(file));
  }));
  for (const auto& index : indexes) {
    File file = index;
    KL_TRY(take(std::move(file)));
  }
  return {};
}

std::vector<std::string> DeltaPlan::now_listed(std::vector<std::string> before) const {
  std::ranges::sort(before);
  std::vector<std::string> stay;
  stay.reserve(before.size());
  std::ranges::set_difference(std::move_iterator(before.begin()), std::move_iterator(before.end()),
                              removed.begin(), removed.end(), std::back_inserter(stay));
  std::vector<std::string> out;
  out.reserve(stay.size() + created.size());
  std::merge(std::move_iterator(stay.begin()), std::move_iterator(stay.end()), created.begin(),
             created.end(), std::back_inserter(out));
  return out;
}

File DeltaPlan::set_manifest(const Pass& pass, std::vector<std::string> before) const {
  return manifest_file(pass.head, next.layout.manifest_path, next.layout.parts.size(),
                       listing(now_listed(std::move(before))));
}

}  // namespace kollect::sinks
