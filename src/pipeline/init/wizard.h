// The questions of `kollect init` in their order (spec: pipeline 14.2 and 14.3).
#pragma once

#include "base/context.h"
#include "base/log.h"
#include "pipeline/init/dialogue.h"
#include "pipeline/init/session.h"

namespace kollect::pipeline::init {

/// Asks everything and returns the plan; nothing is written. Cancelling is an error of kind
/// kCancelled.
class Wizard {
 public:
  Wizard(const base::Context& context, const InitOptions& options, Dialogue& dialogue,
         Cluster& cluster, const base::Logger& log)
      : context_(context), options_(options), dialogue_(dialogue), cluster_(cluster), log_(log) {}

  base::Result<Plan> run();

 private:
  base::Result<> ask_context();
  base::Result<> ask_kind();
  base::Result<> ask_namespaces();
  base::Result<> ask_namespace_list(const std::vector<NamespaceInfo>& namespaces);
  base::Result<> ask_namespace_selector();
  base::Result<> ask_namespace_pattern(const std::vector<NamespaceInfo>& namespaces);
  base::Result<> ask_object_filter();
  base::Result<> ask_sample();
  base::Result<> read_sample(const Candidate& candidate, bool sensitive);
  base::Result<> ask_attributes();
  base::Result<> ask_name();
  base::Result<> ask_review();

  const base::Context& context_;
  const InitOptions& options_;
  Dialogue& dialogue_;
  Cluster& cluster_;
  const base::Logger& log_;

  Plan plan_;
  kube::Resource resource_;
  struct Offered {
    PlannedAttribute attribute;
    std::string preview;
    bool secret_value = false;
    bool safe = false;
  };
  std::vector<Offered> offered_;
  std::string sampled_;
  bool snapshot_ = false;
};

}  // namespace kollect::pipeline::init
