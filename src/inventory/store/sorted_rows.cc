#include "inventory/store/sorted_rows.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace kollect::inventory {
namespace {

/// What comparisons need, so that records are looked at once for each eight bytes that many names
/// share, and not in every comparison: most of the time would go to waiting for memory.
struct Entry {
  std::uint64_t name;  ///< eight bytes in their order; where those before them are equal
  std::uint32_t ns;    ///< rank among the namespaces
  std::uint32_t part;
  Ref ref;
};

constexpr std::size_t kPiece = sizeof(Entry::name);
/// Neighbours in canonical order lie anywhere in the heap: a record is called for so many rows
/// before it is read.
constexpr std::size_t kAhead = 8;

/// The bytes of `name` from `offset`, filled up with zeros.
std::uint64_t piece_of(std::string_view name, std::size_t offset) {
  std::uint64_t bytes = 0;
  for (std::size_t i = offset; i < offset + kPiece; ++i) {
    bytes = bytes << 8U | (i < name.size() ? static_cast<unsigned char>(name[i]) : 0U);
  }
  return bytes;
}

/// The parts of one target (there are two when a cluster target has its name).
class Group {
 public:
  explicit Group(std::vector<const PinnedRows*> parts) : parts_(std::move(parts)) {}

  [[nodiscard]] const std::vector<const PinnedRows*>& parts() const { return parts_; }
  /// In canonical order; `part` is a place in parts().
  [[nodiscard]] std::vector<Entry> sorted() const;
  /// Equal in all that identifies a row; only rows of different parts can be.
  [[nodiscard]] bool same(const Entry& a, const Entry& b) const {
    if (a.part == b.part || a.ns != b.ns || a.name != b.name) return false;
    const Record left = record(a);
    const Record right = record(b);
    if (left.name() != right.name() || left.uid_is_text() != right.uid_is_text()) return false;
    return left.uid_is_text() ? left.uid_text() == right.uid_text() : left.uuid() == right.uuid();
  }
  base::Result<> visit(const std::function<base::Result<>(const RowView&)>& visit) {
    Workbench bench;
    std::vector<RowReader> readers;
    for (const PinnedRows* part : parts_) {
      readers.emplace_back(part->pin.table().common(), part->pin.table().owner(), bench);
    }
    for (const Entry& entry : sorted()) KL_TRY(visit(readers[entry.part].read(record(entry))));
    return {};
  }

 private:
  [[nodiscard]] Record record(const Entry& entry) const {
    return parts_[entry.part]->pin.table().record(entry.ref);
  }
  [[nodiscard]] std::vector<Entry> entries() const;
  void rank_namespaces(std::vector<Entry>& entries) const;
  void sort_from(std::span<Entry> entries, std::size_t offset) const;
  [[nodiscard]] bool less(const Entry& a, const Entry& b) const;

  std::vector<const PinnedRows*> parts_;
};

std::vector<Entry> Group::entries() const {
  std::vector<Entry> entries;
  std::size_t count = 0;
  for (const PinnedRows* part : parts_) count += part->rows.size();
  entries.reserve(count);
  for (std::uint32_t part = 0; part < parts_.size(); ++part) {
    const Table& table = parts_[part]->pin.table();
    const auto& rows = parts_[part]->rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i + kAhead < rows.size()) table.record(rows[i + kAhead]).prefetch();
      const Record record = table.record(rows[i]);
      entries.push_back({piece_of(record.name(), 0), record.ns(), part, rows[i]});
    }
  }
  return entries;
}

std::vector<Entry> Group::sorted() const {
  std::vector<Entry> entries = this->entries();
  rank_namespaces(entries);
  sort_from(entries, 0);
  return entries;
}

void Group::rank_namespaces(std::vector<Entry>& entries) const {
  const Dictionary& namespaces = parts_.front()->pin.table().common().namespaces;
  std::unordered_map<std::uint32_t, std::uint32_t> rank;
  for (const Entry& entry : entries) rank.try_emplace(entry.ns);
  std::vector<std::uint32_t> order;
  for (const auto& [ns, unused] : rank) order.push_back(ns);
  std::ranges::sort(order, {}, [&](std::uint32_t ns) { return namespaces.text(ns); });
  for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  for (Entry& entry : entries) entry.ns = rank[entry.ns];
}

/// Entries that are equal before the bytes at `offset`, which each has as its name.
void Group::sort_from(std::span<Entry> entries, std::size_t offset) const {
  constexpr std::size_t kFew = 8;
  const auto key = [](const Entry& entry) { return std::pair(entry.ns, entry.name); };
  std::ranges::sort(entries, {}, key);
  for (std::size_t first = 0; first < entries.size();) {
    std::size_t end = first + 1;
    while (end < entries.size() && key(entries[end]) == key(entries[first])) ++end;
    const auto equal = entries.subspan(first, end - first);
    first = end;
    if (equal.size() == 1) continue;
    // A zero is the end of a name, or a byte of it: what is left is told by whole records.
    if (equal.size() <= kFew || (equal.front().name & 0xFFU) == 0) {
      std::ranges::sort(equal, [&](const Entry& a, const Entry& b) { return less(a, b); });
      continue;
    }
    for (std::size_t i = 0; i < equal.size(); ++i) {
      if (i + kAhead < equal.size()) record(equal[i + kAhead]).prefetch();
      equal[i].name = piece_of(record(equal[i]).name(), offset + kPiece);
    }
    sort_from(equal, offset + kPiece);
  }
}

/// Of entries in one namespace, by all that identifies a row.
bool Group::less(const Entry& a, const Entry& b) const {
  const Record left = record(a);
  const Record right = record(b);
  if (const int by_name = left.name().compare(right.name()); by_name != 0) return by_name < 0;
  UuidText left_uid;
  UuidText right_uid;
  const auto uid = [](const Record& record, UuidText& text) {
    return record.uid_is_text() ? record.uid_text() : unpack_uuid(record.uuid(), text);
  };
  if (const int by_uid = uid(left, left_uid).compare(uid(right, right_uid)); by_uid != 0) {
    return by_uid < 0;
  }
  const auto kind = [&](const Entry& entry, const Record& record) {
    const Kind& found = *parts_[entry.part]->pin.table().common().kinds.shape(record.shape()).kind;
    return std::tie(found.group, found.version, found.name);
  };
  return kind(a, left) < kind(b, right);
}

/// Targets in their order.
std::vector<Group> groups_of(const std::vector<PinnedRows>& parts) {
  std::vector<const PinnedRows*> order;
  for (const PinnedRows& part : parts) order.push_back(&part);
  const auto target = [](const PinnedRows* part) {
    const Owner& owner = part->pin.table().owner();
    return std::tie(owner.ns, owner.name);
  };
  std::ranges::sort(order, {}, target);
  std::vector<Group> groups;
  for (auto first = order.begin(); first != order.end();) {
    const auto end = std::find_if(
        first, order.end(), [&](const PinnedRows* part) { return target(part) != target(*first); });
    groups.emplace_back(std::vector<const PinnedRows*>(first, end));
    first = end;
  }
  return groups;
}

}  // namespace

base::Result<> visit_sorted(const std::vector<PinnedRows>& parts,
                            const std::function<base::Result<>(const RowView&)>& visit) {
  for (Group& group : groups_of(parts)) KL_TRY(group.visit(visit));
  return {};
}

SortedRows::SortedRows(std::shared_ptr<const std::vector<PinnedRows>> parts)
    : parts_(std::move(parts)) {
  std::size_t count = 0;
  for (const PinnedRows& part : *parts_) count += part.rows.size();
  rows_.reserve(count);
  for (const Group& group : groups_of(*parts_)) {
    const std::vector<Entry> entries = group.sorted();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i + 1 < entries.size() && group.same(entries[i], entries[i + 1])) continue;
      const PinnedRows* part = group.parts()[entries[i].part];
      rows_.push_back({static_cast<std::uint32_t>(part - parts_->data()), entries[i].ref});
    }
  }
}

base::Result<> SortedRows::visit(std::size_t first, std::size_t last, What what,
                                 const std::function<base::Result<>(const RowView&)>& visit) const {
  Workbench bench;
  std::vector<RowReader> readers;
  for (const PinnedRows& part : *parts_) {
    readers.emplace_back(part.pin.table().common(), part.pin.table().owner(), bench);
  }
  const std::size_t end = std::min(last, rows_.size());
  for (std::size_t i = first; i < end; ++i) {
    if (i + kAhead < end) {
      const Place& next = rows_[i + kAhead];
      (*parts_)[next.part].pin.table().record(next.ref).prefetch();
    }
    const Place& place = rows_[i];
    const Record record = (*parts_)[place.part].pin.table().record(place.ref);
    RowReader& reader = readers[place.part];
    KL_TRY(visit(what == What::kKeys ? reader.read_key(record) : reader.read(record)));
  }
  return {};
}

}  // namespace kollect::inventory
