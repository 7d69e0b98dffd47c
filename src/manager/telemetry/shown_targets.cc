#include "manager/telemetry/shown_targets.h"

#include "manager/owners.h"

namespace kollect::manager {

std::vector<ShownTarget> shown_targets(const ObjectCache<api::Profile>& profiles,
                                       const ObjectCache<api::Target>& targets,
                                       const ObjectCache<api::ClusterTarget>& cluster_targets,
                                       const Tenures& tenures) {
  std::vector<ShownTarget> shown;
  const auto add = [&](const inventory::Owner& owner, const Key& profile_key) {
    const auto profile = profiles.get(profile_key);
    if (!profile || profile->problem || !tenures.is_open(owner.ns)) return;
    shown.push_back(shown_target(owner, profile->object));
  };
  for (const auto& target : targets.all()) {
    const Key key = target->key();
    add(owner_of_target(key), {.ns = key.ns, .name = target->object.spec.profile_ref});
  }
  for (const auto& target : cluster_targets.all()) {
    const auto& ref = target->object.spec.profile_ref;
    add(owner_of_cluster_target(target->key().name), {.ns = ref.ns, .name = ref.name});
  }
  return shown;
}

}  // namespace kollect::manager
