#include "manager/shards/assignment.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/hash.h"

namespace kollect::manager {
namespace {

/// Of the exports of cluster inventories (ClusterInventoryController::kPlace).
constexpr std::string_view kClusterPlace = "cluster";

/// How many parts each member should have. Those who have most keep one more than the others, so
/// that nothing moves that need not.
std::map<std::string, std::size_t> quotas_of(const std::set<std::string>& members,
                                             const std::vector<std::string>& holders) {
  std::vector<std::pair<std::size_t, std::string>> by_load;
  for (const std::string& member : members) {
    by_load.emplace_back(static_cast<std::size_t>(std::ranges::count(holders, member)), member);
  }
  std::ranges::sort(by_load, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::map<std::string, std::size_t> quotas;
  for (std::size_t i = 0; i < by_load.size(); ++i) {
    const std::size_t more = i < holders.size() % members.size() ? 1 : 0;
    quotas[by_load[i].second] = holders.size() / members.size() + more;
  }
  return quotas;
}

}  // namespace

std::size_t part_of(std::string_view ns, std::size_t parts) {
  if (parts < 2 || ns.empty() || ns == kClusterPlace) return 0;
  return base::xxh64(ns) % parts;
}

std::vector<std::string> assign(const std::set<std::string>& members,
                                const std::vector<std::string>& holders) {
  std::vector<std::string> result(holders.size());
  if (members.empty()) return result;
  std::map<std::string, std::size_t> room = quotas_of(members, holders);
  for (std::size_t part = 0; part < holders.size(); ++part) {
    const auto holder = room.find(holders[part]);
    if (holder == room.end() || holder->second == 0) continue;
    result[part] = holders[part];
    --holder->second;
  }
  for (std::string& holder : result) {
    if (!holder.empty()) continue;
    const auto most = std::ranges::max_element(
        room, [](const auto& a, const auto& b) { return a.second < b.second; });
    holder = most->first;
    --most->second;
  }
  return result;
}

std::set<std::size_t> parts_to_have(const std::vector<std::string>& assigned,
                                    const std::string& replica,
                                    const std::vector<std::size_t>& held) {
  const auto quota = static_cast<std::size_t>(std::ranges::count(assigned, replica));
  if (held.size() >= quota) {
    return {held.begin(), held.begin() + static_cast<std::ptrdiff_t>(quota)};
  }
  std::set<std::size_t> parts(held.begin(), held.end());
  for (std::size_t part = 0; part < assigned.size(); ++part) {
    if (assigned[part] == replica) parts.insert(part);
  }
  return parts;
}

}  // namespace kollect::manager
