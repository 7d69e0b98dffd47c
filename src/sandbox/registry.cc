#include "sandbox/registry.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace kollect::sandbox {

namespace {

/// Kube-aware versions (v1, v2beta3) rank by stability, then number; others come last, by name.
struct Rank {
  int stability = -1;  ///< 2: stable, 1: beta, 0: alpha, -1: none of these
  int major = 0;
  int minor = 0;
};

Rank rank_of(std::string_view version) {
  Rank rank;
  if (!version.starts_with('v')) return rank;
  const char* at = version.data() + 1;
  const char* end = version.data() + version.size();
  auto [next, error] = std::from_chars(at, end, rank.major);
  if (error != std::errc()) return {};
  std::string_view rest(next, static_cast<std::size_t>(end - next));
  if (rest.empty()) {
    rank.stability = 2;
    return rank;
  }
  for (const auto& [word, stability] :
       {std::pair<std::string_view, int>{"alpha", 0}, {"beta", 1}}) {
    if (!rest.starts_with(word)) continue;
    rest.remove_prefix(word.size());
    const auto [last, bad] = std::from_chars(rest.data(), rest.data() + rest.size(), rank.minor);
    if (bad == std::errc() && last == rest.data() + rest.size()) {
      rank.stability = stability;
      return rank;
    }
  }
  return {};
}

}  // namespace

bool version_before(std::string_view a, std::string_view b) {
  const Rank x = rank_of(a);
  const Rank y = rank_of(b);
  if (x.stability != y.stability) return x.stability > y.stability;
  if (x.stability < 0) return a < b;
  if (x.major != y.major) return x.major > y.major;
  return x.minor > y.minor;
}

ServedPtr Catalog::find(std::string_view group, std::string_view version,
                        std::string_view plural) const {
  for (const ServedPtr& one : all_) {
    if (one->plural == plural && one->version == version && one->group == group) return one;
  }
  return nullptr;
}

ServedPtr Catalog::find_kind(std::string_view group, std::string_view version,
                             std::string_view kind) const {
  ServedPtr other;
  for (const ServedPtr& one : all_) {
    if (one->kind != kind || one->group != group) continue;
    if (one->version == version) return one;
    if (!other || version_before(one->version, other->version)) other = one;
  }
  return other;
}

ServedPtr Catalog::find_name(std::string_view name) const {
  ServedPtr found;
  for (const ServedPtr& one : all_) {
    const bool fits = one->kind == name || one->plural == name ||
                      (!one->group.empty() && one->plural + "." + one->group == name);
    if (fits && (!found || version_before(one->version, found->version))) found = one;
    if (fits && one->group.empty()) return one;
  }
  return found;
}

std::vector<std::string> Catalog::groups() const {
  std::set<std::string> names;
  for (const ServedPtr& one : all_) names.insert(one->group);
  return {names.begin(), names.end()};
}

std::vector<std::string> Catalog::versions(std::string_view group) const {
  std::vector<std::string> out;
  for (const ServedPtr& one : all_) {
    if (one->group == group && std::ranges::find(out, one->version) == out.end()) {
      out.push_back(one->version);
    }
  }
  std::ranges::sort(out, version_before);
  return out;
}

Registry::Registry()
    : builtin_(builtin_kinds()), catalog_(std::make_shared<const Catalog>(builtin_)) {}

std::shared_ptr<const Catalog> Registry::catalog() const {
  const std::scoped_lock lock(mutex_);
  return catalog_;
}

void Registry::set_custom(const std::string& name, std::vector<ServedPtr> served) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(custom_, [&](const auto& entry) { return entry.first == name; });
  if (!served.empty()) custom_.emplace_back(name, std::move(served));
  std::vector<ServedPtr> all = builtin_;
  for (const auto& [definition, kinds] : custom_) all.insert(all.end(), kinds.begin(), kinds.end());
  catalog_ = std::make_shared<const Catalog>(std::move(all));
}

}  // namespace kollect::sandbox
