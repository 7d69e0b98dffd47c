// What CEL expressions of a profile may name, and its values for one object (spec: extraction 4).
#pragma once

#include <optional>
#include <vector>

#include "cel/cel.h"
#include "extract/program.h"

namespace kollect::extract {

/// object, self, cluster, namespaceLabels.
cel::Environment attribute_environment();
/// These, and path and value (spec: extraction 7).
cel::Environment prune_environment();

/// Bindings of one object. Values that few expressions use are made when first asked for. One
/// thread; views in the bindings live as long as this.
class CelBindings {
 public:
  CelBindings(base::json::View object, const ObjectContext& context)
      : object_(object), context_(context) {}
  /// The bindings that `program` mentions.
  std::vector<cel::Binding> of(const cel::Program& program);

 private:
  base::json::View object_;
  const ObjectContext& context_;
  std::optional<base::json::Document> cluster_;
  std::optional<base::json::Document> namespace_labels_;
};

}  // namespace kollect::extract
