// What a run collects: targets with their compiled selection and profile (spec: pipeline 3).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "extract/program.h"
#include "pipeline/config.h"
#include "select/selection.h"
#include "sinks/sink.h"

namespace kollect::pipeline {

/// A target ready to be collected. Immutable; shared by all contexts.
struct TargetPlan {
  std::string ns;  ///< "" for cluster targets
  std::string name;
  bool cluster_target = false;
  bool suspended = false;
  select::Selection selection;
  extract::Program program;
  std::string where;                          ///< file and line, for messages
  std::vector<api::Attribute> declared = {};  ///< of its profile

  [[nodiscard]] std::string title() const { return cluster_target ? name : ns + "/" + name; }
  /// Identity of the target's own document: a cluster target's namespace is the word "cluster".
  [[nodiscard]] sinks::InventoryId inventory() const {
    return {.ns = cluster_target ? "cluster" : ns, .name = name};
  }
};

/// Targets in the order of the folder.
struct Plan {
  std::vector<TargetPlan> targets;
  std::vector<std::string> warnings;
  [[nodiscard]] bool all_suspended() const;
};

/// Compiles everything. `only_namespace` is --namespace: it replaces the namespaces of every target
/// (L-58); empty: none. Errors (configuration) name file and line.
base::Result<Plan> make_plan(const Config& config, const std::string& only_namespace);

}  // namespace kollect::pipeline
