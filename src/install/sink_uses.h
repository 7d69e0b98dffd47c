// Sinks of a cluster, who writes to them, and how that goes.
#pragma once

#include <string>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "install/state.h"
#include "kube/client.h"

namespace kollect::install {

/// Stands for the inventory of a sink that nobody writes to.
inline constexpr const char* kNobody = "(none)";

struct SinkUse {
  std::string sink;       ///< "family/namespace/name"
  std::string type;       ///< "" of a sink that is named and not there
  std::string inventory;  ///< "namespace/name", or kNobody
  /// As in state.h, and "Failed" (the last export) and "Missing"; "" before the first export.
  State state;
  std::string last_export;
};

/// One for each sink and inventory, by family; sinks of `ns` alone unless it is empty. Errors: a
/// kind of sinks that may not be listed; inventories that may not be listed are passed over.
base::Result<std::vector<SinkUse>> read_sink_uses(kube::Client& client,
                                                  const base::Context& context,
                                                  const std::string& ns);

}  // namespace kollect::install
