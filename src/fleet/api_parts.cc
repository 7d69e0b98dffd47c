// Routes of the parts of a cluster: one reference, the patches of one component. Their version is
// the cluster's.
#include <fmt/format.h>

#include "fleet/api.h"
#include "fleet/api_call.h"
#include "fleet/cluster_parts.h"

namespace kollect::fleet {

using base::json::Value;

namespace {

http::Answer shown_part(const Call& call, const Value& part, std::uint64_t version) {
  return shown_record(call, Family::kCluster, {.data = part, .version = version});
}

std::unexpected<Problem> no_part(const Call& call, std::string_view what) {
  return not_found(fmt::format("cluster {} has no {} {}", call.id, what, call.part));
}

}  // namespace

Outcome<http::Answer> Api::change_part(const Call& call,
                                       const std::function<Outcome<>(Draft& draft)>& edit) {
  FLEET_ASSIGN(const auto expected, call.expected());
  FLEET_ASSIGN(
      const Kept kept,
      fleet_.write_one(Family::kCluster, call.actor, [&](Draft& draft) -> Outcome<std::string> {
        FLEET_TRY(draft.get(Family::kCluster, call.id));
        FLEET_TRY(draft.check_version(Family::kCluster, call.id, expected));
        FLEET_TRY(edit(draft));
        return call.id;
      }));
  tell(call, kept.record);
  return written(Family::kCluster, kept);
}

Outcome<http::Answer> Api::show_reference(const Call& call) {
  FLEET_ASSIGN(const Record cluster, fleet_.get(Family::kCluster, call.id));
  const Value* reference = reference_in(cluster.data, call.definitions, call.part);
  if (reference == nullptr) return no_part(call, noun_of(call.definitions));
  return shown_part(call, *reference, cluster.version);
}

Outcome<http::Answer> Api::put_reference(const Call& call) {
  FLEET_ASSIGN(const Value body, call.body());
  return change_part(call, [&](Draft& draft) {
    return assign(draft, call.id, call.definitions, call.part, body);
  });
}

Outcome<http::Answer> Api::remove_reference(const Call& call) {
  return change_part(
      call, [&](Draft& draft) { return unassign(draft, call.id, call.definitions, call.part); });
}

Outcome<http::Answer> Api::show_patches(const Call& call) {
  FLEET_ASSIGN(const Record cluster, fleet_.get(Family::kCluster, call.id));
  const Value* patches = patches_in(cluster.data, call.part);
  if (patches == nullptr) return no_part(call, "patches of");
  return shown_part(call, *patches, cluster.version);
}

Outcome<http::Answer> Api::put_patches(const Call& call) {
  FLEET_ASSIGN(const Value body, call.body());
  return change_part(call,
                     [&](Draft& draft) { return set_patches(draft, call.id, call.part, body); });
}

Outcome<http::Answer> Api::remove_patches(const Call& call) {
  return change_part(call, [&](Draft& draft) -> Outcome<> {
    FLEET_ASSIGN(const Value* cluster, draft.get(Family::kCluster, call.id));
    if (patches_in(*cluster, call.part) == nullptr) return no_part(call, "patches of");
    return set_patches(draft, call.id, call.part, Value());
  });
}

}  // namespace kollect::fleet
