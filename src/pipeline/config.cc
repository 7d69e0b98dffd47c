#include "pipeline/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "admission/admission.h"
#include "api/codec.h"
#include "base/strings.h"

namespace kollect::pipeline {
namespace {

class Loader {
 public:
  Loader(Config& config, const ConfigOptions& options)
      : config_(config), set_(*config.manifests), options_(options) {}

  void run() {
    config_.warnings = set_.warnings;
    for (Manifest& manifest : set_.ours) {
      if (judge(manifest)) sort_in(manifest);
    }
    for (const auto& inventory : config_.inventories) {
      warn_suspended(*inventory.manifest, inventory.object.spec.suspend);
      warn_missing_sinks(inventory, inventory.manifest->ns);
    }
    for (const auto& inventory : config_.cluster_inventories) {
      warn_suspended(*inventory.manifest, inventory.object.spec.suspend);
      warn_missing_sinks(inventory, inventory.object.spec.sink_namespace);
      warn_missing_targets(inventory);
    }
  }

 private:
  /// Schema and admission; the manifest's value becomes the defaulted one (L-44).
  bool judge(Manifest& manifest) {
    admission::Settings settings;
    settings.allow_private_sinks = options_.allow_private_sinks;
    settings.allow_loopback_sinks = options_.allow_loopback_sinks;
    settings.allow_local_sinks = true;
    // The folder is the policy: no scopes, no look-ups (spec: pipeline 3).
    admission::Verdict verdict =
        admission::review(manifest.value, std::vector<base::json::Value>{}, settings);
    for (const std::string& path : verdict.pruned) {
      set_.problems.push_back(
          problem_at(manifest, path, admission::unknown_field_message(manifest.kind, path)));
    }
    for (const admission::FieldError& error : verdict.errors) {
      set_.problems.push_back(problem_at(manifest, error.path, error.message));
    }
    for (const std::string& warning : verdict.warnings) {
      config_.warnings.push_back(warning_at(manifest, warning).text());
    }
    if (verdict.stage != admission::Verdict::Stage::kAccept || !verdict.pruned.empty()) {
      return false;
    }
    manifest.value = std::move(verdict.defaulted);
    return true;
  }

  void sort_in(const Manifest& manifest) {
    const std::string& kind = manifest.kind;
    if (kind == "KollectProfile") return decode(config_.profiles, manifest);
    if (kind == "KollectTarget") return decode(config_.targets, manifest);
    if (kind == "KollectClusterTarget") return decode(config_.cluster_targets, manifest);
    if (kind == "KollectInventory") return decode(config_.inventories, manifest);
    if (kind == "KollectClusterInventory") return decode(config_.cluster_inventories, manifest);
    if (kind == "KollectSnapshotSink") return decode(config_.snapshot_sinks, manifest);
    if (kind == "KollectDatabaseSink") return decode(config_.database_sinks, manifest);
    if (kind == "KollectEventSink") return decode(config_.event_sinks, manifest);
    config_.warnings.push_back(fmt::format(
        "{}: {} is checked by validate and otherwise not used: one-shot commands go by the rights "
        "of the kubeconfig",
        manifest.where(), manifest.title()));
  }

  void warn_suspended(const Manifest& manifest, const std::optional<bool>& suspend) {
    if (!suspend.value_or(false)) return;
    config_.warnings.push_back(
        problem_at(manifest, "spec.suspend", "has no influence on a single run").text());
  }

  void warn(const Manifest& manifest, std::string field, std::string message) {
    config_.warnings.push_back(problem_at(manifest, std::move(field), std::move(message)).text());
  }

  /// Nothing of the inventory goes to a sink that the folder does not have.
  template <class T>
  void warn_missing_sinks(const Loaded<T>& inventory, const std::string& home) {
    const auto check = [&](const char* list, const std::vector<api::SinkReference>& references,
                           const auto& sinks, const char* kind) {
      for (std::size_t i = 0; i < references.size(); ++i) {
        const std::string& ns = references[i].ns.empty() ? home : references[i].ns;
        const bool found = std::ranges::any_of(sinks, [&](const auto& sink) {
          return sink.manifest->ns == ns && sink.manifest->name == references[i].name;
        });
        if (found) continue;
        warn(*inventory.manifest, fmt::format("spec.{}[{}]", list, i),
             fmt::format("there is no {} {}/{} here", kind, ns, references[i].name));
      }
    };
    const auto& spec = inventory.object.spec;
    check("snapshotSinkRefs", spec.snapshot_sink_refs, config_.snapshot_sinks,
          "KollectSnapshotSink");
    check("databaseSinkRefs", spec.database_sink_refs, config_.database_sinks,
          "KollectDatabaseSink");
    check("eventSinkRefs", spec.event_sink_refs, config_.event_sinks, "KollectEventSink");
  }

  /// The rest is exported (spec: selection L-21).
  void warn_missing_targets(const Loaded<api::ClusterInventory>& inventory) {
    const auto& names = inventory.object.spec.target_refs;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const bool found = std::ranges::any_of(config_.cluster_targets, [&](const auto& target) {
        return target.manifest->name == names[i];
      });
      if (found) continue;
      warn(*inventory.manifest, fmt::format("spec.targetRefs[{}]", i),
           fmt::format("there is no cluster target \"{}\" here", names[i]));
    }
  }

  template <class T>
  void decode(std::deque<Loaded<T>>& list, const Manifest& manifest) {
    auto object = api::decode<T>(manifest.value);
    if (object) {
      list.push_back({.object = std::move(*object), .manifest = &manifest});
    } else {
      set_.problems.push_back(problem_at(manifest, "", object.error().message));
    }
  }

  Config& config_;
  ManifestSet& set_;
  const ConfigOptions& options_;
};

base::Result<> refuse_problems(std::vector<ManifestProblem> problems) {
  if (problems.empty()) return {};
  std::ranges::stable_sort(problems, {},
                           [](const ManifestProblem& p) { return std::tie(p.file, p.line); });
  std::string text = problems.front().one_line();
  if (problems.size() > 1) {
    text += fmt::format(" (and {} more, see kollect validate)", problems.size() - 1);
  }
  return base::configuration(std::move(text));
}

bool has_subfolder(const std::string& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored)) return true;
  }
  return false;
}

/// Nothing of a kind is there: with what was probably meant to be it.
base::Error missing(std::string_view kind, const std::vector<std::string>& paths,
                    const ManifestSet& set) {
  std::string text = fmt::format("{}: there is no {}", base::join(paths, ", "), kind);
  if (!set.near_misses.empty()) {
    text += "; " + set.near_misses.front();
  } else if (std::ranges::any_of(paths, has_subfolder)) {
    text += "; files of subfolders are not read, give each folder with --config";
  }
  return base::configuration(std::move(text));
}

}  // namespace

base::Result<Config> load_config(const std::vector<std::string>& paths,
                                 const ConfigOptions& options) {
  Config config;
  KL_ASSIGN(ManifestSet set, load_manifests(paths, options.stdin_text));
  config.manifests = std::make_unique<ManifestSet>(std::move(set));
  Loader(config, options).run();
  KL_TRY(refuse_problems(config.manifests->problems));
  const ManifestSet& read = *config.manifests;
  if (options.only_sinks) {
    if (config.has_sinks()) return config;
    return missing("KollectSnapshotSink, KollectDatabaseSink or KollectEventSink", paths, read);
  }
  if (config.profiles.empty()) return missing("KollectProfile", paths, read);
  if (config.targets.empty() && config.cluster_targets.empty()) {
    return missing("KollectTarget", paths, read);
  }
  return config;
}

base::Result<ProfileLookup> find_profile(const Config& config, const Manifest& target,
                                         const std::string& name) {
  std::vector<const Loaded<api::Profile>*> elsewhere;
  for (const Loaded<api::Profile>& profile : config.profiles) {
    if (profile.manifest->name != name) continue;
    if (profile.manifest->ns == target.ns) return ProfileLookup{.profile = &profile, .warning = {}};
    elsewhere.push_back(&profile);
  }
  const auto at_reference = [&target](std::string message) {
    return problem_at(target, "spec.profileRef", std::move(message)).text();
  };
  if (elsewhere.empty()) {
    std::vector<std::string> known;
    for (const auto& profile : config.profiles) known.push_back(profile.manifest->name);
    const auto near = base::near_names(name, known);
    return base::configuration(
        at_reference(fmt::format("there is no profile \"{}\"{}", name,
                                 near.empty() ? "" : "; near names: " + base::join(near, ", "))));
  }
  if (elsewhere.size() > 1) {
    return base::configuration(
        at_reference(fmt::format("none of the {} profiles named \"{}\" is in namespace {}",
                                 elsewhere.size(), name, target.ns)));
  }
  return ProfileLookup{.profile = elsewhere.front(),
                       .warning = at_reference(fmt::format(
                           "\"{}\" is taken from namespace {}; a cluster would refuse that", name,
                           elsewhere.front()->manifest->ns))};
}

base::Result<const Loaded<api::Profile>*> find_cluster_profile(const Config& config,
                                                               const Manifest& target,
                                                               const api::ObjectReference& ref) {
  for (const Loaded<api::Profile>& profile : config.profiles) {
    if (profile.manifest->name == ref.name && profile.manifest->ns == ref.ns) return &profile;
  }
  return base::configuration(problem_at(target, "spec.profileRef",
                                        fmt::format("there is no profile {}/{}", ref.ns, ref.name))
                                 .text());
}

}  // namespace kollect::pipeline
