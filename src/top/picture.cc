#include "top/picture.h"

#include <fmt/format.h>

#include <algorithm>

namespace kollect::top {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

Object object_of(std::initializer_list<std::pair<const char*, Value>> members) {
  Object out;
  for (const auto& [key, value] : members) out.set(key, value);
  return out;
}

template <class T, class Make>
Array array_of(const std::vector<T>& all, Make make) {
  Array out;
  for (const T& one : all) out.emplace_back(make(one));
  return out;
}

/// Texts of one format compare as their moments do, fractions apart; "" is never.
bool earlier(const std::string& a, const std::string& b) {
  const auto left = base::parse_rfc3339(a);
  const auto right = base::parse_rfc3339(b);
  if (!left || !right) return !left && right.has_value();
  return *left < *right;
}

}  // namespace

std::uint64_t Picture::rows() const {
  std::uint64_t sum = 0;
  for (const Cluster& cluster : clusters) sum += cluster.rows;
  return sum;
}

std::vector<Cluster> clusters_of(const std::vector<Inventory>& inventories) {
  std::vector<Cluster> out;
  for (const Inventory& inventory : inventories) {
    auto found = std::ranges::find(out, inventory.cluster, &Cluster::name);
    if (found == out.end()) {
      out.push_back({.name = inventory.cluster,
                     .inventories = 0,
                     .rows = 0,
                     .exported_at = inventory.exported_at,
                     .oldest = inventory.exported_at});
      found = out.end() - 1;
    }
    ++found->inventories;
    found->rows += inventory.rows;
    if (earlier(found->exported_at, inventory.exported_at)) {
      found->exported_at = inventory.exported_at;
    }
    if (earlier(inventory.exported_at, found->oldest)) found->oldest = inventory.exported_at;
  }
  return out;
}

Value to_json(const Picture& picture) {
  return object_of({{"source", picture.source},
                    {"at", base::format_rfc3339_seconds(picture.at)},
                    {"rows", picture.rows()},
                    {"targets", picture.targets ? Value(*picture.targets) : Value()},
                    {"clusters", array_of(picture.clusters,
                                          [](const Cluster& one) {
                                            return object_of({{"cluster", one.name},
                                                              {"inventories", one.inventories},
                                                              {"rows", one.rows},
                                                              {"exportedAt", one.exported_at},
                                                              {"oldestExportedAt", one.oldest}});
                                          })},
                    {"inventories", array_of(picture.inventories,
                                             [](const Inventory& one) {
                                               return object_of({{"cluster", one.cluster},
                                                                 {"namespace", one.ns},
                                                                 {"name", one.name},
                                                                 {"rows", one.rows},
                                                                 {"exportedAt", one.exported_at},
                                                                 {"state", one.state},
                                                                 {"reason", one.reason},
                                                                 {"message", one.message}});
                                             })},
                    {"sinks", array_of(picture.sinks,
                                       [](const Sink& one) {
                                         return object_of({{"sink", one.name},
                                                           {"type", one.type},
                                                           {"inventory", one.inventory},
                                                           {"state", one.state},
                                                           {"reason", one.reason},
                                                           {"exportedAt", one.exported_at},
                                                           {"message", one.message}});
                                       })},
                    {"problems", array_of(picture.problems,
                                          [](const Problem& one) {
                                            return object_of({{"kind", one.kind},
                                                              {"namespace", one.ns},
                                                              {"name", one.name},
                                                              {"reason", one.reason},
                                                              {"message", one.message},
                                                              {"since", one.since}});
                                          })},
                    {"problemCount", picture.problem_count}});
}

std::string age_text(const std::string& rfc3339, base::WallTime now) {
  if (rfc3339.empty()) return "never";
  const auto then = base::parse_rfc3339(rfc3339);
  if (!then) return rfc3339;
  const auto seconds = std::max<std::int64_t>(
      0, std::chrono::duration_cast<std::chrono::seconds>(now - *then).count());
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  if (seconds < 2 * kMinute) return fmt::format("{}s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{}m", seconds / kMinute);
  if (seconds < 2 * kDay) return fmt::format("{}h", seconds / kHour);
  return fmt::format("{}d", seconds / kDay);
}

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  constexpr std::size_t kGroup = 3;
  for (std::size_t at = text.size(); at > kGroup;) text.insert(at -= kGroup, ",");
  return text;
}

}  // namespace kollect::top
