#include "pipeline/init_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/json/document.h"
#include "base/strings.h"
#include "pipeline/init/dialogue.h"
#include "pipeline/init/session.h"
#include "pipeline/init/suggest.h"
#include "pipeline/init/wizard.h"

namespace kollect::pipeline {

namespace {

using namespace init;  // NOLINT: the pieces of this command

std::string head_of(const std::string& text) {
  return std::string(base::cut_utf8(text, 800));
}

/// Question 9, for every file that exists, before the first one is written.
base::Result<> confirm_overwrites(const std::vector<Output>& outputs, Dialogue& dialogue) {
  for (const Output& output : outputs) {
    auto old = base::read_file(output.path);
    if (!old) continue;
    if (*old == output.content) {
      dialogue.heading(fmt::format("{} exists with this content", output.path));
    } else {
      dialogue.heading(fmt::format("{} exists", output.path));
      dialogue.say(fmt::format("--- now\n{}\n+++ new\n{}", head_of(*old), head_of(output.content)));
    }
    KL_ASSIGN(bool yes, dialogue.confirm(fmt::format("Overwrite {}?", output.path), false));
    if (!yes) return cancelled_by_user();
  }
  return {};
}

base::Result<> refuse_overwrites(const std::vector<Output>& outputs) {
  for (const Output& output : outputs) {
    auto old = base::read_file(output.path);
    if (old && *old != output.content) {
      return base::configuration(output.path +
                                 " exists with another content; --force overwrites it");
    }
  }
  return {};
}

std::vector<Output> outputs_of(const Plan& plan, const std::string& folder) {
  return {{folder + "/profile.yaml", profile_yaml(plan)},
          {folder + "/target.yaml", target_yaml(plan)}};
}

base::Result<> run_wizard(const base::Context& context, const InitOptions& options,
                          const InitTerminal& terminal,
                          const std::map<std::string, std::string>& env, const base::Logger& log) {
  if (!terminal.in_is_terminal) {
    return base::configuration(
        "init asks questions and needs a terminal; without one, name kinds by --kind "
        "deployments.apps (or --all), or "
        "start from the folders in examples/inventory");
  }
  KL_ASSIGN(Cluster cluster, open_cluster(options, env, log));
  Dialogue dialogue(context, terminal.in, terminal.out, terminal.colour);
  KL_ASSIGN(Plan plan, Wizard(context, options, dialogue, cluster, log).run());
  const auto outputs = outputs_of(plan, options.output_dir);
  KL_TRY(confirm_overwrites(outputs, dialogue));
  KL_TRY(write_all(options.output_dir, outputs));
  dialogue.say(next_steps(options));
  return {};
}

// --- Without questions
// ------------------------------------------------------------------------------------------

/// "deployments.apps", "deployments", "Deployment", "Deployment.apps", "deployments.v1.apps".
base::Result<OfferedKind> find_kind(const std::string& wanted,
                                    const std::vector<OfferedKind>& kinds) {
  std::vector<std::string> known;
  std::vector<OfferedKind> found;
  for (const OfferedKind& kind : kinds) {
    const kube::Resource& r = kind.resource;
    const std::string suffix = r.group.empty() ? "" : "." + r.group;
    known.push_back(wanted.find('.') == std::string::npos ? r.plural : r.plural + suffix);
    const bool plain = wanted == r.plural || base::iequals(wanted, r.kind);
    const bool grouped = wanted == r.plural + suffix || base::iequals(wanted, r.kind + suffix);
    const bool versioned = wanted == r.plural + "." + r.version + suffix;
    if (versioned || ((plain || grouped) && kind.preferred)) found.push_back(kind);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    const auto near = base::near_names(wanted, known);
    return base::configuration(
        fmt::format("the server has no kind \"{}\"{}", wanted,
                    near.empty() ? "" : "; did you mean " + base::join(near, ", ") + "?"));
  }
  std::vector<std::string> names;
  for (const OfferedKind& kind : found)
    names.push_back(kind.resource.plural + "." + kind.resource.group);
  return base::configuration(
      fmt::format("\"{}\" is served by several groups: {}", wanted, base::join(names, ", ")));
}

base::Result<Plan> base_plan(const InitOptions& options, const OfferedKind& kind) {
  Plan plan;
  plan.kind = kind.gvk();
  plan.namespaced = kind.resource.namespaced;
  plan.target_namespace = options.target_namespace;
  plan.name = options.name.empty() ? default_name(plan.kind) : options.name;
  plan.names = options.names;
  if (plan.namespaced) {
    plan.included_namespaces = options.namespaces;
    std::ranges::sort(plan.included_namespaces);
    if (!options.namespace_selector.empty()) {
      KL_ASSIGN(plan.namespace_selector, parse_selector(options.namespace_selector));
    }
  }
  if (!options.selector.empty()) {
    KL_ASSIGN(plan.object_selector, parse_selector(options.selector));
  }
  if (options.attributes == "preset")
    plan.attributes = preset_attributes(plan.kind, plan.namespaced);
  if (options.attributes == "all") plan.attributes = safe_attributes(plan.namespaced);
  return plan;
}

/// --sample: attributes of one object are added to the plan.
base::Result<> add_sample(const base::Context& context, const InitOptions& options,
                          Cluster& cluster, const OfferedKind& kind, Plan& plan) {
  const bool sensitive = is_sensitive(plan.kind, options.sensitive);
  if (!options.sample || (sensitive && !options.sample_sensitive)) return {};
  KL_ASSIGN(auto found, candidates(context, *cluster.client, kind.resource, plan, 1));
  if (found.empty()) return {};
  KL_ASSIGN(std::string text,
            cluster.client->get(context, kind.resource, found[0].ns, found[0].name));
  KL_ASSIGN(auto document, base::json::Document::parse(text));
  for (Suggestion& suggestion : suggest(document.root(), sensitive)) {
    const bool known = std::ranges::any_of(plan.attributes, [&](const PlannedAttribute& a) {
      return a.name == suggestion.attribute.name || a.path == suggestion.attribute.path;
    });
    if (known) continue;
    plan.allow_secret_extraction |= sensitive && suggestion.secret_value;
    plan.attributes.push_back(std::move(suggestion.attribute));
  }
  return {};
}

std::string file_name(const kube::Resource& resource) {
  const std::string group = resource.group.empty() ? "core" : resource.group;
  return base::to_lower(resource.kind) + "." + group + ".yaml";
}

base::Result<std::vector<OfferedKind>> wanted_kinds(const InitOptions& options,
                                                    const std::vector<OfferedKind>& offered) {
  std::vector<OfferedKind> wanted;
  if (options.all) {
    for (const OfferedKind& kind : offered) {
      if (kind.preferred && !is_noise_kind(kind.resource)) wanted.push_back(kind);
    }
    return wanted;
  }
  for (const std::string& name : options.kinds) {
    KL_ASSIGN(OfferedKind kind, find_kind(name, offered));
    wanted.push_back(std::move(kind));
  }
  return wanted;
}

/// Kinds of one name in two groups get the group into the name of their manifests.
void make_names_unique(std::vector<Plan>& plans) {
  for (Plan& plan : plans) {
    const auto same =
        std::ranges::count_if(plans, [&](const Plan& p) { return p.name == plan.name; });
    if (same < 2) continue;
    const std::string group = plan.kind.group.empty() ? "core" : plan.kind.group;
    plan.name = base::replace_all(plan.name + "-" + group, ".", "-").substr(0, 63);
  }
}

base::Result<> run_flags(const base::Context& context, const InitOptions& options,
                         const InitTerminal& terminal,
                         const std::map<std::string, std::string>& env, const base::Logger& log) {
  if (options.attributes != "preset" && options.attributes != "all" &&
      options.attributes != "none") {
    return base::configuration("--attributes takes preset, all or none");
  }
  KL_ASSIGN(Cluster cluster, open_cluster(options, env, log));
  KL_ASSIGN(auto offered, offered_kinds(context, *cluster.client, log));
  KL_ASSIGN(auto wanted, wanted_kinds(options, offered));
  if (!options.name.empty() && wanted.size() > 1) {
    return base::configuration("--name goes with one --kind");
  }
  std::vector<Plan> plans;
  for (const OfferedKind& kind : wanted) {
    KL_ASSIGN(Plan plan, base_plan(options, kind));
    if (options.all) plan.match_policy = noise_policy(plan.kind);
    if (options.attributes == "all" && !options.sample) {
      return base::configuration("--attributes all reads one object of each kind: add --sample");
    }
    KL_TRY(add_sample(context, options, cluster, kind, plan));
    plans.push_back(std::move(plan));
  }
  make_names_unique(plans);
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    KL_TRY(check(plans[i]));
    if (wanted.size() == 1 && !options.all) {
      outputs = outputs_of(plans[i], options.output_dir);
    } else {
      outputs.push_back({options.output_dir + "/" + file_name(wanted[i].resource),
                         profile_yaml(plans[i]) + "---\n" + target_yaml(plans[i])});
    }
  }
  Dialogue dialogue(context, terminal.in, terminal.out, terminal.colour);
  for (const Output& output : outputs) dialogue.say("  " + output.path);
  if (!options.yes && terminal.in_is_terminal) {
    KL_ASSIGN(bool yes, dialogue.confirm(fmt::format("Write {} file(s)?", outputs.size()), true));
    if (!yes) return cancelled_by_user();
  }
  if (!options.force) KL_TRY(refuse_overwrites(outputs));
  KL_TRY(write_all(options.output_dir, outputs));
  dialogue.say(next_steps(options));
  return {};
}

}  // namespace

int run_init(const base::Context& context, const InitOptions& options, const InitTerminal& terminal,
             const std::map<std::string, std::string>& env, const base::Logger& log) {
  const bool flags = options.all || !options.kinds.empty();
  auto result = flags ? run_flags(context, options, terminal, env, log)
                      : run_wizard(context, options, terminal, env, log);
  if (result) return 0;
  if (result.error().kind == base::ErrorKind::kCancelled) {
    log.always(result.error().message);
  } else {
    log.error(result.error().message);
  }
  return 2;
}

}  // namespace kollect::pipeline
