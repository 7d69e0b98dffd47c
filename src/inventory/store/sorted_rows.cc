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
  Ref ref;
  std::uint8_t part;
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

/// The rows of some parts that are of one target.
class Group {
 public:
  explicit Group(std::vector<const PinnedRows*> parts) : parts_(std::move(parts)) {}

  enum class Equal { kAll, kLast };
  /// In canonical order; of those that are equal in all that identifies a row all, or the last.
  [[nodiscard]] TargetOrder sorted(Equal equal) const;

 private:
  [[nodiscard]] Record record(const Entry& entry) const {
    return parts_[entry.part]->pin.table().record(entry.ref);
  }
  template <class Visit>
  void for_each(const Visit& visit) const;
  [[nodiscard]] std::vector<std::uint32_t> by_namespace(TargetOrder& out) const;
  void sort_from(std::span<Entry> entries, std::size_t offset) const;
  [[nodiscard]] bool less(const Entry& a, const Entry& b) const;
  [[nodiscard]] bool same(const Entry& a, const Entry& b) const;

  std::vector<const PinnedRows*> parts_;
};

template <class Visit>
void Group::for_each(const Visit& visit) const {
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    const Table& table = parts_[part]->pin.table();
    const auto& rows = parts_[part]->rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i + kAhead < rows.size()) table.record(rows[i + kAhead]).prefetch();
      visit(table.record(rows[i]), rows[i], static_cast<std::uint8_t>(part));
    }
  }
}

/// Fills `out` by namespace, without an order within one: counted first, so that nothing but the
/// result is held. Returns where each namespace ends.
std::vector<std::uint32_t> Group::by_namespace(TargetOrder& out) const {
  std::unordered_map<std::uint32_t, std::uint32_t> places;
  std::uint32_t count = 0;
  for_each([&](const Record& record, Ref, std::uint8_t) {
    ++places[record.ns()];
    ++count;
  });
  std::vector<std::uint32_t> order;
  for (const auto& [ns, rows] : places) order.push_back(ns);
  const Dictionary& namespaces = parts_.front()->pin.table().common().namespaces;
  std::ranges::sort(order, {}, [&](std::uint32_t ns) { return namespaces.text(ns); });
  std::vector<std::uint32_t> ends;
  std::uint32_t end = 0;
  for (const std::uint32_t ns : order) {
    const std::uint32_t rows = std::exchange(places[ns], end);
    ends.push_back(end += rows);
  }
  out.refs.resize(count);
  if (parts_.size() > 1) out.which.resize(count);
  for_each([&](const Record& record, Ref ref, std::uint8_t part) {
    const std::uint32_t place = places[record.ns()]++;
    out.refs[place] = ref;
    if (!out.which.empty()) out.which[place] = part;
  });
  return ends;
}

TargetOrder Group::sorted(Equal equal) const {
  TargetOrder out;
  out.parts = parts_;
  const auto ends = by_namespace(out);
  std::vector<Entry> entries;
  std::size_t kept = 0;
  std::size_t at = 0;
  for (const std::size_t end : ends) {
    entries.clear();
    entries.reserve(end - at);
    for (; at < end; ++at) {
      if (at + kAhead < end) out.record(at + kAhead).prefetch();
      const auto part = static_cast<std::uint8_t>(out.part_of(at));
      entries.push_back({piece_of(out.record(at).name(), 0), out.refs[at], part});
    }
    sort_from(entries, 0);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const bool is_last = i + 1 == entries.size() || !same(entries[i], entries[i + 1]);
      if (equal == Equal::kLast && !is_last) continue;
      out.refs[kept] = entries[i].ref;
      if (!out.which.empty()) out.which[kept] = entries[i].part;
      ++kept;
    }
  }
  out.refs.resize(kept);
  if (!out.which.empty()) out.which.resize(kept);
  return out;
}

/// Entries of one namespace that are equal before the bytes at `offset`, which each has as its
/// name.
void Group::sort_from(std::span<Entry> entries, std::size_t offset) const {
  constexpr std::size_t kFew = 8;
  std::ranges::sort(entries, {}, &Entry::name);
  for (std::size_t first = 0; first < entries.size();) {
    std::size_t end = first + 1;
    while (end < entries.size() && entries[end].name == entries[first].name) ++end;
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

/// Of entries in one namespace: equal in all that identifies a row, as only those of different
/// parts can be.
bool Group::same(const Entry& a, const Entry& b) const {
  if (a.part == b.part || a.name != b.name) return false;
  const Record left = record(a);
  const Record right = record(b);
  if (left.name() != right.name() || left.uid_is_text() != right.uid_is_text()) return false;
  return left.uid_is_text() ? left.uid_text() == right.uid_text() : left.uuid() == right.uuid();
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
  const auto kind_of_a = kind(a, left);
  const auto kind_of_b = kind(b, right);
  // Which of two owners' rows counts must not depend on where rows lie.
  return kind_of_a == kind_of_b ? a.part < b.part : kind_of_a < kind_of_b;
}

/// Targets in their order.
std::vector<Group> groups_of(const std::vector<PinnedRows>& parts) {
  std::vector<const PinnedRows*> order;
  for (const PinnedRows& part : parts) order.push_back(&part);
  const auto target = [](const PinnedRows* part) {
    const Owner& owner = part->pin.table().owner();
    return std::tie(owner.ns, owner.name);
  };
  std::ranges::sort(order, {}, [&](const PinnedRows* part) {
    return std::tuple_cat(target(part), std::tie(part->pin.table().owner().owner_class));
  });
  std::vector<Group> groups;
  for (auto first = order.begin(); first != order.end();) {
    const auto end = std::find_if(
        first, order.end(), [&](const PinnedRows* part) { return target(part) != target(*first); });
    groups.emplace_back(std::vector<const PinnedRows*>(first, end));
    first = end;
  }
  return groups;
}

/// Reads rows of one target.
class TargetReader {
 public:
  TargetReader(const TargetOrder& order, Workbench& bench) : order_(order) {
    for (const PinnedRows* part : order.parts) {
      readers_.emplace_back(part->pin.table().common(), part->pin.table().owner(), bench);
    }
  }
  base::Result<> visit(std::size_t first, std::size_t end, SortedRows::What what,
                       const std::function<base::Result<>(const RowView&)>& visit) {
    for (std::size_t i = first; i < end; ++i) {
      if (i + kAhead < end) order_.record(i + kAhead).prefetch();
      RowReader& reader = readers_[order_.part_of(i)];
      const Record record = order_.record(i);
      KL_TRY(
          visit(what == SortedRows::What::kKeys ? reader.read_key(record) : reader.read(record)));
    }
    return {};
  }

 private:
  const TargetOrder& order_;
  std::vector<RowReader> readers_;
};

}  // namespace

base::Result<> visit_sorted(const std::vector<PinnedRows>& parts,
                            const std::function<base::Result<>(const RowView&)>& visit) {
  Workbench bench;
  for (const Group& group : groups_of(parts)) {
    const TargetOrder order = group.sorted(Group::Equal::kAll);
    KL_TRY(TargetReader(order, bench).visit(0, order.refs.size(), SortedRows::What::kRows, visit));
  }
  return {};
}

SortedRows::SortedRows(std::shared_ptr<const std::vector<PinnedRows>> parts)
    : parts_(std::move(parts)) {
  for (const Group& group : groups_of(*parts_)) {
    targets_.push_back(group.sorted(Group::Equal::kLast));
    ends_.push_back(size() + targets_.back().refs.size());
  }
}

std::size_t SortedRows::memory_bytes() const {
  std::size_t bytes = ends_.capacity() * sizeof(std::size_t);
  for (const TargetOrder& target : targets_) {
    bytes += sizeof target + target.refs.capacity() * sizeof(Ref) + target.which.capacity();
  }
  return bytes;
}

base::Result<> SortedRows::visit(std::size_t first, std::size_t last, What what,
                                 const std::function<base::Result<>(const RowView&)>& visit) const {
  Workbench bench;
  const std::size_t end = std::min(last, size());
  auto target = static_cast<std::size_t>(std::ranges::upper_bound(ends_, first) - ends_.begin());
  for (std::size_t at = first; at < end; ++target) {
    const std::size_t begins = ends_[target] - targets_[target].refs.size();
    const std::size_t here = std::min(end, ends_[target]);
    KL_TRY(TargetReader(targets_[target], bench).visit(at - begins, here - begins, what, visit));
    at = here;
  }
  return {};
}

}  // namespace kollect::inventory
