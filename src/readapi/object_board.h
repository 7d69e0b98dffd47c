// Kollect's own objects with their conditions, for /v1alpha1/status/... (spec: runtime 13.3).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"

namespace kollect::readapi {

/// Thread-safe. Nothing that it gives holds a secret.
class ObjectBoard {
 public:
  virtual ~ObjectBoard() = default;
  /// ResourceStatus of all objects of a kind ("KollectTarget") in a namespace ("": in all), in the
  /// order of namespace and name: name, namespace, kind, generation, observedGeneration, itemCount,
  /// conditions, lastExportTime, sinkExports, usedBy, spec; what there is not is left out.
  [[nodiscard]] virtual std::vector<base::json::Value> statuses(std::string_view kind,
                                                                const std::string& ns) const = 0;
  /// ExportStatus of an inventory, one per binding, in the order of its spec. An inventory that is
  /// not there has none.
  [[nodiscard]] virtual std::vector<base::json::Value> exports(bool cluster, const std::string& ns,
                                                               const std::string& name) const = 0;
};

}  // namespace kollect::readapi
