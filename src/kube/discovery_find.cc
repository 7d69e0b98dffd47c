// Which served resource a group, version and kind mean (spec: selection 2).
#include <fmt/format.h>

#include <charconv>

#include "base/hash.h"
#include "base/strings.h"
#include "kube/discovery.h"

namespace kollect::kube {

namespace {

/// "v1beta2" taken apart; stage 3 for a stable version, 2 beta, 1 alpha, 0 for other names.
struct VersionRank {
  int stage = 0;
  int major = 0;
  int minor = 0;
};

int read_int(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

VersionRank rank_of(std::string_view text) {
  if (!text.starts_with('v')) return {};
  text.remove_prefix(1);
  VersionRank rank;
  rank.major = read_int(text);
  if (rank.major < 0) return {};
  if (text.empty()) {
    rank.stage = 3;
    return rank;
  }
  const bool beta = text.starts_with("beta");
  if (!beta && !text.starts_with("alpha")) return {};
  text.remove_prefix(beta ? 4 : 5);
  rank.minor = read_int(text);
  if (rank.minor < 0 || !text.empty()) return {};
  rank.stage = beta ? 2 : 1;
  return rank;
}

std::string group_text(std::string_view group) {
  return group.empty() ? std::string("the core group") : fmt::format("group \"{}\"", group);
}

/// What the user may have meant, for the message.
std::string near_misses(const Discovery& discovery, std::string_view group, std::string_view kind) {
  std::vector<std::string> other_groups;
  std::vector<std::string> other_case;
  std::vector<std::string> same_group;
  for (const Resource& r : discovery.resources) {
    const std::string name = r.group.empty() ? r.kind : fmt::format("{}.{}", r.kind, r.group);
    if (r.kind == kind && r.group != group) other_groups.push_back(name);
    if (r.kind != kind && base::iequals(r.kind, kind)) other_case.push_back(name);
    if (r.group == group) same_group.push_back(r.kind);
  }
  std::vector<std::string> hints;
  const auto add = [&hints](std::string_view text, std::vector<std::string> names) {
    std::ranges::sort(names);
    const auto doubled = std::ranges::unique(names);
    names.erase(doubled.begin(), doubled.end());
    if (names.size() > 5) names.resize(5);
    if (!names.empty()) hints.push_back(fmt::format("{} {}", text, base::join(names, ", ")));
  };
  if (group == "core") hints.emplace_back("leave the group empty for core kinds");
  for (const Resource& r : discovery.not_listable) {
    if (r.kind == kind && r.group == group) {
      hints.emplace_back("it is served but cannot be listed");
      break;
    }
  }
  add("the kind is served as", std::move(other_groups));
  add("in other spelling there is", std::move(other_case));
  if (hints.empty()) add("near to it:", base::near_names(kind, same_group));
  return base::join(hints, "; ");
}

}  // namespace

bool Resource::can(std::string_view verb) const {
  return std::ranges::find(verbs, verb) != verbs.end();
}

std::string Resource::path(std::string_view ns) const {
  std::string out = GroupVersion{group, version}.path();
  if (!ns.empty()) out += "/namespaces/" + base::percent_encode(ns);
  return out + "/" + plural;
}

bool version_before(std::string_view a, std::string_view b) {
  const VersionRank left = rank_of(a);
  const VersionRank right = rank_of(b);
  const auto key = [](const VersionRank& r) { return std::tuple(r.stage, r.major, r.minor); };
  if (key(left) != key(right)) return key(left) > key(right);
  return a < b;
}

base::Result<Discovery::Found> Discovery::find(std::string_view group, std::string_view version,
                                               std::string_view kind) const {
  const Resource* best = nullptr;
  const auto order = group_versions.find(std::string(group));
  const std::string_view preferred = order == group_versions.end() || order->second.empty()
                                         ? std::string_view()
                                         : std::string_view(order->second.front());
  for (const Resource& r : resources) {
    if (r.group != group || r.kind != kind) continue;
    if (r.version == version) return Found{r, false};
    const bool better = best == nullptr || (r.version == preferred) ||
                        (best->version != preferred && version_before(r.version, best->version));
    if (better) best = &r;
  }
  if (best != nullptr) return Found{*best, true};
  if (const auto failed = failed_groups.find(std::string(group)); failed != failed_groups.end()) {
    return failed->second;
  }
  const std::string hints = near_misses(*this, group, kind);
  return base::not_found(fmt::format("kind {} is not served in {}{}{}", kind, group_text(group),
                                     hints.empty() ? "" : "; ", hints),
                         "gvk-not-found");
}

}  // namespace kollect::kube
