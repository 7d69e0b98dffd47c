#include "manager/telemetry/shown_targets.h"

#include <fmt/format.h>

namespace kollect::manager {

std::vector<ShownTarget> shown_targets(const ObjectCache<api::Profile>& profiles,
                                       const ObjectCache<api::Target>& targets,
                                       const ObjectCache<api::ClusterTarget>& cluster_targets,
                                       const Tenures& tenures) {
  std::vector<ShownTarget> shown;
  const auto add = [&](const inventory::Owner& owner, const Key& profile_key) {
    const auto profile = profiles.get(profile_key);
    if (!profile || profile->problem || !tenures.is_open(owner.ns)) return;
    const api::ProfileSpec& spec = profile->object.spec;
    shown.push_back(
        {.target = owner,
         .profile = profile_key.name,
         .profile_version = fmt::format("{} {}", profile->meta().uid, profile->meta().generation),
         .gvk = spec.target_gvk,
         .definitions = spec.metrics});
  };
  using Class = inventory::OwnerClass;
  for (const auto& target : targets.all()) {
    const Key key = target->key();
    add({.owner_class = Class::kTarget, .ns = key.ns, .name = key.name},
        {.ns = key.ns, .name = target->object.spec.profile_ref});
  }
  for (const auto& target : cluster_targets.all()) {
    const auto& ref = target->object.spec.profile_ref;
    add({.owner_class = Class::kClusterTarget, .ns = "", .name = target->key().name},
        {.ns = ref.ns, .name = ref.name});
  }
  return shown;
}

}  // namespace kollect::manager
