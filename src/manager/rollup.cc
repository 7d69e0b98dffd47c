#include "manager/rollup.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "select/label_selector.h"

namespace kollect::manager {
namespace {

constexpr const char* kFailed = "InformerRegistrationFailed";

base::Result<select::LabelSelector> compile(const std::optional<api::LabelSelector>& selector,
                                            const char* field) {
  if (!selector) return select::LabelSelector();
  auto compiled = select::LabelSelector::compile(*selector);
  if (compiled) return compiled;
  base::Error error = compiled.error().with_prefix(field);
  error.reason = kFailed;
  return error;
}

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

base::Result<std::optional<std::vector<std::string>>> namespaces_of(
    const api::ClusterInventorySpec& spec, const RollupWorld& world) {
  KL_ASSIGN(const auto selector, compile(spec.namespace_selector, "spec.namespaceSelector"));
  std::vector<std::string> named;
  for (const std::string& name : spec.namespaces) named.emplace_back(base::trim(name));
  if (named.empty() && selector.empty()) return std::optional<std::vector<std::string>>();
  std::vector<std::string> chosen;
  if (world.namespaces == nullptr) {
    if (!selector.empty()) {
      return base::configuration(
          "namespaces are chosen by labels, but cannot be listed and watched: " + world.why_unknown,
          kFailed);
    }
    chosen = std::move(named);  // as they are, without proof (L-12)
  } else {
    for (const auto& [name, one] : *world.namespaces) {
      if (!named.empty() && !contains(named, name)) continue;
      if (selector.matches(one.labels)) chosen.push_back(name);
    }
  }
  std::ranges::sort(chosen);
  chosen.erase(std::ranges::unique(chosen).begin(), chosen.end());
  return std::optional(std::move(chosen));
}

/// L-20. A target of which nobody knows where it collects takes part: what it might bring is
/// missing.
bool takes_part(const ClusterTargetStanding& standing, const Rollup& rollup) {
  if (standing.cluster_scoped || !standing.namespaces) return true;
  return std::ranges::any_of(*standing.namespaces, [&](const std::string& ns) {
    return !rollup.namespaces || std::ranges::binary_search(*rollup.namespaces, ns);
  });
}

}  // namespace

base::Result<Rollup> roll_up(const api::ClusterInventorySpec& spec, const RollupWorld& world) {
  KL_ASSIGN(const auto selector, compile(spec.target_selector, "spec.targetSelector"));
  Rollup rollup;
  KL_ASSIGN(rollup.namespaces, namespaces_of(spec, world));
  std::set<std::string> missing(spec.target_refs.begin(), spec.target_refs.end());
  for (const auto& target : world.targets) {
    if (target->deleting()) continue;
    const std::string& name = target->meta().name;
    missing.erase(name);
    const bool chosen = spec.target_refs.empty() ? selector.matches(target->meta().labels)
                                                 : contains(spec.target_refs, name);
    if (!chosen) continue;
    const ClusterTargetStanding standing = world.standing(name);
    if (!takes_part(standing, rollup)) continue;
    rollup.targets.push_back(name);
    if (standing.phase == ClusterTargetStanding::Phase::kWaiting) rollup.waiting.push_back(name);
    if (standing.phase == ClusterTargetStanding::Phase::kDegraded) rollup.degraded.push_back(name);
  }
  std::ranges::sort(rollup.targets);
  rollup.missing.assign(missing.begin(), missing.end());
  return rollup;
}

std::function<bool(const inventory::Owner&)> rows_of(const Rollup& rollup) {
  return [targets = rollup.targets, namespaces = rollup.namespaces](const inventory::Owner& owner) {
    return owner.owner_class == inventory::OwnerClass::kClusterTarget &&
           std::ranges::binary_search(targets, owner.name) &&
           (owner.ns.empty() || !namespaces || std::ranges::binary_search(*namespaces, owner.ns));
  };
}

std::string key_of(const Rollup& rollup) {
  return "cluster targets " + base::join(rollup.targets, ",") + " in " +
         (rollup.namespaces ? base::join(*rollup.namespaces, ",") : "*");
}

}  // namespace kollect::manager
