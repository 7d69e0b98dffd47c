// The four families of records: their fields, how bodies become records, how records are kept.
//
// A record is a JSON object with the keys of the API in a fixed order (spec: fleet-api 2): the same
// data gives the same bytes. Members of maps (labels, patches) are sorted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/document.h"
#include "base/json/value.h"
#include "base/result.h"
#include "fleet/problem.h"

namespace kollect::fleet {

enum class Family : std::uint8_t { kCluster, kComponent, kNamespace, kRoleBinding };
inline constexpr std::size_t kFamilies = 4;
inline constexpr Family kAllFamilies[] = {Family::kCluster, Family::kComponent, Family::kNamespace,
                                          Family::kRoleBinding};
/// What clusters refer to.
inline constexpr Family kDefinitions[] = {Family::kComponent, Family::kNamespace,
                                          Family::kRoleBinding};

/// "clusters", "platform_components", "namespaces", "rolebindings": paths, and members of a seed.
std::string_view collection_of(Family family);
/// "cluster", "component", "namespace", "role binding": for messages.
std::string_view noun_of(Family family);
/// The member of a cluster that refers to the family; not for clusters.
std::string_view references_of(Family family);

/// A record from the body of a POST: required members, types, defaults. Null and absent mean the
/// same. 422 for the wrong shape, 400 for an id that is null, blank or no text.
Outcome<base::json::Value> read_new(Family family, const base::json::Value& body);
/// `record` with the members that the body of a PUT gives; its id stays. 422.
Outcome<base::json::Value> read_change(Family family, const base::json::Value& record,
                                       const base::json::Value& body);

/// A record from a seed or from a store: keys of spec fleet-api 9 ("_id" for clusters and
/// components), nothing checked but types and required members. Error (configuration): names the
/// record and the member.
base::Result<base::json::Value> from_storage(Family family, const base::json::Value& stored);
/// The other way: as the reference writes it, so that both can read one file.
base::json::Value to_storage(Family family, const base::json::Value& record);

/// The record as CRUD routes show it.
base::json::Value shown(Family family, const base::json::Value& record);

/// Ids of the references of a cluster to a family, in their order.
std::vector<std::string_view> referred(const base::json::Value& cluster, Family family);

/// True if an object anywhere in it has a member twice.
bool has_repeated_members(base::json::View value);

}  // namespace kollect::fleet
