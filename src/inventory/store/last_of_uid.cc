#include "inventory/store/last_of_uid.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace kollect::inventory {
namespace {

struct Entry {
  std::uint64_t uid_hash;
  std::uint32_t rank;  ///< of the part: the last name has the highest
  Ref ref;
};

bool same_uid(const Record& left, const Record& right) {
  if (left.uid_is_text() != right.uid_is_text()) return false;
  return left.uid_is_text() ? left.uid_text() == right.uid_text() : left.uuid() == right.uuid();
}

/// `parts` in the order of names, all of one target namespace.
void choose(const std::vector<PinnedRows*>& parts) {
  std::vector<Entry> entries;
  for (std::uint32_t rank = 0; rank < parts.size(); ++rank) {
    for (const Ref ref : parts[rank]->rows) {
      const Record record = parts[rank]->pin.table().record(ref);
      entries.push_back({record.uid_hash(), rank, ref});
    }
    parts[rank]->rows.clear();
  }
  Workbench bench;
  std::vector<RowReader> readers;
  for (const PinnedRows* part : parts) {
    readers.emplace_back(part->pin.table().common(), part->pin.table().owner(), bench);
  }
  const auto record = [&](const Entry& entry) {
    return parts[entry.rank]->pin.table().record(entry.ref);
  };
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return a.uid_hash != b.uid_hash ? a.uid_hash < b.uid_hash : a.rank > b.rank;
  });
  for (auto first = entries.begin(); first != entries.end();) {
    const auto end = std::find_if(first, entries.end(), [&](const Entry& entry) {
      return entry.uid_hash != first->uid_hash;
    });
    for (auto it = first; it != end; ++it) {
      PinnedRows& part = *parts[it->rank];
      // Nearly always the first one: other uids with the same hash are told apart.
      if (std::none_of(first, it, [&](const Entry& earlier) {
            return same_uid(record(earlier), record(*it));
          })) {
        part.rows.push_back(it->ref);
      } else {
        part.set_hash.subtract(readers[it->rank].hash(record(*it)));
      }
    }
    first = end;
  }
}

}  // namespace

void keep_last_of_uid(std::vector<PinnedRows>& parts) {
  std::map<std::string_view, std::vector<PinnedRows*>> by_namespace;
  for (PinnedRows& part : parts) by_namespace[part.pin.table().owner().ns].push_back(&part);
  for (auto& [ns, group] : by_namespace) {
    if (group.size() < 2) continue;
    std::ranges::sort(group, {}, [](const PinnedRows* part) {
      const Owner& owner = part->pin.table().owner();
      return std::tie(owner.name, owner.owner_class);
    });
    choose(group);
  }
}

}  // namespace kollect::inventory
