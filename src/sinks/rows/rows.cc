#include "sinks/rows/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"

namespace kollect::sinks::rows {

using inventory::RowView;

std::size_t Source::size() const {
  return set_ != nullptr ? set_->size() : snapshot_->size();
}

base::Result<> Source::for_each(const Visit& visit) const {
  return set_ != nullptr ? set_->for_each(visit) : snapshot_->for_each(visit);
}

base::Result<> Source::for_each_sorted(const Visit& visit) const {
  return set_ != nullptr ? set_->for_each(visit) : snapshot_->for_each_sorted(visit);
}

std::string source_uid(const RowView& row) {
  return row.uid.empty() ? fmt::format("{}/{}/{}/{}", row.group, row.kind, row.ns, row.name)
                         : std::string(row.uid);
}

KeyHash key_hash(std::string_view target_name, std::string_view source_uid) {
  std::string text;
  text.reserve(target_name.size() + source_uid.size() + 2);
  text.append(target_name).append(1, '\0').append(source_uid);
  KeyHash out;
  out.high = base::xxh64(text);
  text += '\1';
  out.low = base::xxh64(text);
  return out;
}

base::Result<Duplicates> Duplicates::find(const Source& source) {
  std::vector<std::uint64_t> keys;
  keys.reserve(source.size());
  KL_TRY(source.for_each([&](const RowView& row) -> base::Result<> {
    keys.push_back(key_hash(row.target_name, source_uid(row)).high);
    return {};
  }));
  std::sort(keys.begin(), keys.end());
  Duplicates out;
  for (auto at = keys.begin(); at != keys.end();) {
    const auto end = std::upper_bound(at, keys.end(), *at);
    if (end - at > 1) out.left_[*at] = static_cast<std::size_t>(end - at);
    at = end;
  }
  return out;
}

bool Duplicates::superseded(const KeyHash& key) {
  const auto found = left_.find(key.high);
  return found != left_.end() && --found->second > 0;
}

bool Keep::holds(std::string_view target_namespace, std::string_view target_name,
                 std::string_view ns) const {
  const auto has = [](const std::vector<std::string>& list, std::string_view text) {
    return std::find(list.begin(), list.end(), text) != list.end();
  };
  if (!ns.empty() && has(head_->keep_namespaces, ns)) return true;
  if (head_->keep_targets.empty() && head_->keep_parts.empty()) return false;
  const std::string full = fmt::format("{}/{}", target_namespace, target_name);
  if (has(head_->keep_targets, target_name) || has(head_->keep_targets, full)) return true;
  return std::ranges::any_of(head_->keep_parts, [&](const KeptPart& part) {
    return part.ns == ns && (part.target == target_name || part.target == full);
  });
}

std::string collapsed_warning(const InventoryId& inventory, std::uint64_t collapsed) {
  return fmt::format(
      "{}/{}: {} rows of targets of one name share an object with another target; the last one is "
      "kept",
      inventory.ns, inventory.name, collapsed);
}

}  // namespace kollect::sinks::rows
