// Reading discovery documents. Pure functions; the requests are the client's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/client.h"

namespace kollect::kube {

/// Accept header of aggregated discovery, with the older and the classic form behind.
std::string_view aggregated_accept();
/// The answer's Content-Type says that it is aggregated discovery.
bool is_aggregated(std::string_view content_type);

/// Adds an APIGroupDiscoveryList. A version whose answer is stale makes its group a failed one as
/// well.
base::Result<> add_aggregated(Discovery& into, std::string_view body);

/// A group version to be asked for in the classic way.
struct GroupVersion {
  std::string group;
  std::string version;
  [[nodiscard]] std::string path() const;
};
/// Group versions of an APIVersions (core) or APIGroupList document; notes the order of preference.
base::Result<std::vector<GroupVersion>> read_group_versions(Discovery& into, std::string_view body);
/// Adds an APIResourceList.
base::Result<> add_resource_list(Discovery& into, const GroupVersion& group_version,
                                 std::string_view body);
/// Sorts and drops doubled kinds (of two entries the one first in name order; selection 2).
void finish_discovery(Discovery& discovery);

/// Order of versions as Kubernetes has it: v2 > v1 > v1beta2 > v1beta1 > v1alpha1 > others by name.
bool version_before(std::string_view a, std::string_view b);

}  // namespace kollect::kube
