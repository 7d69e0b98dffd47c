#include "readapi/row_match.h"

#include <algorithm>

#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::readapi {
namespace {

char fold(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

bool same(const std::string& wanted, std::string_view text) {
  return wanted.empty() || wanted == text;
}

}  // namespace

bool contains_folded(std::string_view text, std::string_view lower) {
  return std::search(text.begin(), text.end(), lower.begin(), lower.end(),
                     [](char a, char b) { return fold(a) == b; }) != text.end();
}

RowMatch::RowMatch(RowFilter filter, Sight sight)
    : filter_(std::move(filter)),
      sight_(std::move(sight)),
      search_(base::to_lower(filter_.search)) {
  std::string quoted;
  base::json::append_string(quoted, search_);
  plain_search_ = std::string_view(quoted).substr(1, quoted.size() - 2) == search_;
  everything_ = filter_ == RowFilter{} && sight_ == Sight{};
}

bool RowMatch::keys(const SourceRow& row) const {
  if (everything_) return true;
  const inventory::RowView& r = row.row;
  if (sight_.clusters && !contains(*sight_.clusters, row.cluster)) return false;
  if (sight_.namespaces && !contains(*sight_.namespaces, r.target_namespace) &&
      (row.inventory_namespace.empty() || !contains(*sight_.namespaces, row.inventory_namespace))) {
    return false;
  }
  if (!filter_.ns.empty() && r.ns != filter_.ns && r.target_namespace != filter_.ns) return false;
  return same(filter_.cluster, row.cluster) && same(filter_.target, r.target_name) &&
         same(filter_.group, r.group) && same(filter_.version, r.version) &&
         same(filter_.kind, r.kind) && same(filter_.name, r.name) && same(filter_.uid, r.uid) &&
         (row.inventory.empty() || (same(filter_.inventory, row.inventory) &&
                                    same(filter_.inventory_namespace, row.inventory_namespace)));
}

bool RowMatch::found(const SourceRow& row) {
  if (contains_folded(row.row.name, search_) || contains_folded(row.row.ns, search_) ||
      contains_folded(row.row.kind, search_)) {
    return true;
  }
  if (plain_search_ && !contains_folded(row.row.attributes, search_)) return false;
  const auto all = columns_.attributes();
  if (!all) return false;
  std::string text;
  for (const auto& member : all->members()) {
    if (member.value.is_string()) {
      if (contains_folded(member.value.as_string(), search_)) return true;
      continue;
    }
    text.clear();
    base::json::append_canonical(text, member.value);
    if (contains_folded(text, search_)) return true;
  }
  return false;
}

bool RowMatch::attributes(const SourceRow& row) {
  if (!reads_attributes()) return true;
  columns_.at(row);
  for (const auto& [name, wanted] : filter_.attributes) {
    const auto value = columns_.attribute(name);
    if (!value) return false;
    if (value->is_string() ? value->as_string() != wanted
                           : base::json::canonical(*value) != wanted) {
      return false;
    }
  }
  return search_.empty() || found(row);
}

}  // namespace kollect::readapi
