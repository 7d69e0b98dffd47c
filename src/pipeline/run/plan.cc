#include "pipeline/run/plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace kollect::pipeline {
namespace {

base::Result<extract::Program> compile_profile(const Loaded<api::Profile>& profile,
                                               const api::CollectionFilter& filter) {
  extract::Program::CompileInput input;
  input.spec = &profile.object.spec;
  input.annotations = profile.object.metadata.annotations;
  for (const api::ResourceRule& rule : filter.resource_rules) input.rule_kinds.push_back(rule.gvk);
  auto program = extract::Program::compile(input);
  if (program) return std::move(*program);
  const extract::CompileProblem& first = program.error().front();
  return base::configuration(problem_at(*profile.manifest, first.field, first.message).one_line());
}

void restrict_to(api::CollectionFilter& filter, std::optional<api::LabelSelector>& selector,
                 const std::string& ns) {
  filter.included_namespaces = {ns};
  filter.excluded_namespaces.clear();
  filter.namespace_exclude_selector.reset();
  selector.reset();
}

base::Result<TargetPlan> compile_target(const Manifest& manifest,
                                        const Loaded<api::Profile>& profile,
                                        const select::Filter& filter) {
  auto selection = select::Selection::compile(filter, profile.object.spec.target_gvk);
  if (!selection)
    return base::configuration(problem_at(manifest, "", selection.error().message).text());
  KL_ASSIGN(extract::Program program, compile_profile(profile, *filter.common));
  return TargetPlan{.ns = manifest.ns,
                    .name = manifest.name,
                    .cluster_target = manifest.ns.empty(),
                    .suspended = false,
                    .selection = std::move(*selection),
                    .program = std::move(program),
                    .where = manifest.where(),
                    .declared = profile.object.spec.attributes};
}

class Planner {
 public:
  Planner(const Config& config, const std::string& only_namespace)
      : config_(config), only_namespace_(only_namespace) {}

  base::Result<Plan> run() {
    for (const Manifest& manifest : config_.manifests->ours) {
      if (const auto* target = find(config_.targets, manifest)) {
        KL_TRY(add(manifest, target->object.spec));
      } else if (const auto* cluster_target = find(config_.cluster_targets, manifest)) {
        KL_TRY(add(manifest, cluster_target->object.spec));
      }
    }
    return std::move(plan_);
  }

 private:
  template <class T>
  static const Loaded<T>* find(const std::deque<Loaded<T>>& list, const Manifest& manifest) {
    const auto it = std::ranges::find(list, &manifest, &Loaded<T>::manifest);
    return it == list.end() ? nullptr : &*it;
  }

  base::Result<> add(const Manifest& manifest, api::TargetSpec spec) {
    KL_ASSIGN(const ProfileLookup lookup, find_profile(config_, manifest, spec.profile_ref));
    if (!lookup.warning.empty()) plan_.warnings.push_back(lookup.warning);
    if (!spec.resource_rules.empty() && (!spec.names.empty() || spec.label_selector)) {
      plan_.warnings.push_back(
          fmt::format("{}: {}: names and labelSelector have no influence beside resourceRules",
                      manifest.where(), manifest.title()));
    }
    if (!only_namespace_.empty()) restrict_to(spec, spec.namespace_selector, only_namespace_);
    return add_compiled(
        manifest, *lookup.profile,
        {.common = &spec,
         .namespace_selector = spec.namespace_selector ? &*spec.namespace_selector : nullptr,
         .label_selector = spec.label_selector ? &*spec.label_selector : nullptr,
         .names = &spec.names,
         .opt_in = spec.watch_mode == "OptIn"},
        spec.suspend.value_or(false));
  }

  base::Result<> add(const Manifest& manifest, api::ClusterTargetSpec spec) {
    KL_ASSIGN(const Loaded<api::Profile>* profile,
              find_cluster_profile(config_, manifest, spec.profile_ref));
    if (!only_namespace_.empty()) restrict_to(spec, spec.namespace_selector, only_namespace_);
    return add_compiled(
        manifest, *profile,
        {.common = &spec,
         .namespace_selector = spec.namespace_selector ? &*spec.namespace_selector : nullptr},
        spec.suspend.value_or(false));
  }

  base::Result<> add_compiled(const Manifest& manifest, const Loaded<api::Profile>& profile,
                              const select::Filter& filter, bool suspended) {
    KL_ASSIGN(TargetPlan target, compile_target(manifest, profile, filter));
    target.suspended = suspended;
    if (suspended) {
      plan_.warnings.push_back(
          fmt::format("{}: {} is suspended and not collected", manifest.where(), manifest.title()));
    }
    plan_.targets.push_back(std::move(target));
    return {};
  }

  const Config& config_;
  const std::string& only_namespace_;
  Plan plan_;
};

}  // namespace

bool Plan::all_suspended() const {
  return std::ranges::all_of(targets, [](const TargetPlan& t) { return t.suspended; });
}

base::Result<Plan> make_plan(const Config& config, const std::string& only_namespace) {
  return Planner(config, only_namespace).run();
}

}  // namespace kollect::pipeline
