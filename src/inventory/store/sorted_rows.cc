#include "inventory/store/sorted_rows.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace kollect::inventory {
namespace {

/// What most comparisons need, so that records are looked at for equal beginnings only.
struct Entry {
  std::uint64_t name;  ///< the first eight bytes, in their order
  std::uint32_t ns;    ///< rank among the namespaces
  std::uint32_t part;
  Ref ref;
};

std::uint64_t beginning(std::string_view name) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < sizeof bytes; ++i) {
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
    for (const Ref ref : parts_[part]->rows) {
      const Record record = table.record(ref);
      entries.push_back({beginning(record.name()), record.ns(), part, ref});
    }
  }
  return entries;
}

std::vector<Entry> Group::sorted() const {
  std::vector<Entry> entries = this->entries();
  const Dictionary& namespaces = parts_.front()->pin.table().common().namespaces;
  std::unordered_map<std::uint32_t, std::uint32_t> rank;
  for (const Entry& entry : entries) rank.try_emplace(entry.ns);
  std::vector<std::uint32_t> order;
  for (const auto& [ns, unused] : rank) order.push_back(ns);
  std::ranges::sort(order, {}, [&](std::uint32_t ns) { return namespaces.text(ns); });
  for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  for (Entry& entry : entries) entry.ns = rank[entry.ns];
  std::ranges::sort(entries, [&](const Entry& a, const Entry& b) { return less(a, b); });
  return entries;
}

bool Group::less(const Entry& a, const Entry& b) const {
  if (a.ns != b.ns) return a.ns < b.ns;
  if (a.name != b.name) return a.name < b.name;
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
  for (std::size_t i = first; i < std::min(last, rows_.size()); ++i) {
    const Place& place = rows_[i];
    const Record record = (*parts_)[place.part].pin.table().record(place.ref);
    RowReader& reader = readers[place.part];
    KL_TRY(visit(what == What::kKeys ? reader.read_key(record) : reader.read(record)));
  }
  return {};
}

}  // namespace kollect::inventory
