// KollectProfile: rules P1 to P13, warnings PW1 to PW3 (spec: crds 5.1, extraction 10).
#include <algorithm>
#include <set>

#include "admission/checks.h"
#include "admission/rules.h"
#include "base/strings.h"
#include "extract/metric_path.h"
#include "extract/program.h"

namespace kollect::admission {

namespace {

constexpr std::size_t kMaxMetricLabels = 5;

using Problems = std::vector<extract::CompileProblem>;

/// The guard at admission is for core Secret in exactly this spelling; a kind in another one is
/// never served.
bool is_secret(const api::GroupVersionKind& gvk) {
  return gvk.kind == "Secret" && (gvk.group.empty() || gvk.group == "core");
}

Problems compile(const api::Profile& profile) {
  extract::Program::CompileInput input;
  input.spec = &profile.spec;
  input.annotations = profile.metadata.annotations;
  // Helm may keep releases in ConfigMaps, whose `config` needs the opt-in as well.
  const api::GroupVersionKind& gvk = profile.spec.target_gvk;
  const bool is_config_map = gvk.kind == "ConfigMap" && (gvk.group.empty() || gvk.group == "core");
  if (!is_secret(gvk) && !is_config_map) {
    input.annotations[api::kAllowSecretExtraction] = "true";
    input.annotations[api::kAllowFullResourceExport] = "true";
  }
  auto program = extract::Program::compile(input);
  return program.has_value() ? Problems{} : std::move(program.error());
}

void report(Findings& findings, const Problems& problems, const std::string& field,
            extract::CompileProblem::Kind kind) {
  for (const extract::CompileProblem& problem : problems) {
    if (problem.field != field || problem.kind != kind) {
      continue;
    }
    if (kind == extract::CompileProblem::Kind::kForbidden) {
      findings.forbidden(field, problem.message);
    } else {
      findings.invalid(field, problem.message);
    }
  }
}

void check_attributes(Findings& findings, const api::ProfileSpec& spec, const Problems& problems) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < spec.attributes.size(); ++i) {
    const api::Attribute& attribute = spec.attributes[i];
    const std::string path = fmt::format("spec.attributes[{}]", i);
    if (attribute.name.empty()) {
      findings.required(path + ".name");
    } else if (!names.insert(attribute.name).second) {
      findings.duplicate(path + ".name", fmt::format("\"{}\" stands twice", attribute.name));
    }
    if (attribute.path.empty()) {
      findings.required(path + ".path");
    } else {
      report(findings, problems, path + ".path", extract::CompileProblem::Kind::kInvalid);
    }
  }
}

/// Attribute key of the exported object; "" when none is exported.
std::string resource_key(const api::ProfileSpec& spec) {
  if (!spec.export_spec || spec.export_spec->mode != "Resource") {
    return {};
  }
  return spec.export_spec->as.empty() ? "resource" : spec.export_spec->as;
}

/// The value of a metric: an attribute, or a place in the exported object.
void check_metric_path(Findings& findings, const std::string& field, const std::string& path,
                       const std::set<std::string_view>& attributes, const std::string& key) {
  if (attributes.contains(path)) {
    return;
  }
  const auto nested = extract::object_metric(path, key);
  if (!nested) {
    findings.invalid(field, fmt::format("\"{}\" is no attribute of this profile", path));
  } else if (!*nested) {
    findings.invalid(field, nested->error());
  }
}

void check_metric(Findings& findings, const std::string& path, const api::Metric& metric,
                  const std::set<std::string_view>& attributes, const std::string& key) {
  if (metric.path.empty()) {
    findings.required(path + ".path");
    return;
  }
  check_metric_path(findings, path + ".path", metric.path, attributes, key);
  if (metric.labels.size() > kMaxMetricLabels) {
    findings.too_many(path + ".labels", fmt::format("has {} entries, at most {} are allowed",
                                                    metric.labels.size(), kMaxMetricLabels));
  }
  for (std::size_t i = 0; i < metric.labels.size(); ++i) {
    const std::string at = fmt::format("{}.labels[{}]", path, i);
    if (metric.labels[i].empty()) {
      findings.required(at);
    } else if (!attributes.contains(metric.labels[i])) {
      findings.invalid(at, fmt::format("\"{}\" is no attribute of this profile", metric.labels[i]));
    }
  }
}

void check_metrics(Findings& findings, const api::ProfileSpec& spec) {
  std::set<std::string_view> attributes;
  for (const api::Attribute& attribute : spec.attributes) {
    attributes.insert(attribute.name);
  }
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < spec.metrics.size(); ++i) {
    const api::Metric& metric = spec.metrics[i];
    const std::string path = fmt::format("spec.metrics[{}]", i);
    if (metric.name.empty()) {
      findings.required(path + ".name");
    } else if (!names.insert(metric.name).second) {
      findings.duplicate(path + ".name", fmt::format("\"{}\" stands twice", metric.name));
    }
    check_metric(findings, path, metric, attributes, resource_key(spec));
  }
}

/// RFC 6901 text that points at something: "/…" with "~0" and "~1" as the only escapes.
bool is_pointer(std::string_view text) {
  text = base::trim(text);
  if (!text.starts_with('/')) {
    return false;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '~' && (i + 1 == text.size() || (text[i + 1] != '0' && text[i + 1] != '1'))) {
      return false;
    }
  }
  return true;
}

void check_export(Findings& findings, const api::ProfileSpec& spec, const Problems& problems) {
  const api::ExportSpec& ex = *spec.export_spec;
  const bool resource = ex.mode == "Resource";
  if (!resource && spec.attributes.empty()) {
    findings.required("spec.attributes", "at least one is needed in mode Attributes");
  }
  const std::string key = ex.as.empty() ? "resource" : ex.as;
  const bool taken =
      std::any_of(spec.attributes.begin(), spec.attributes.end(),
                  [&](const api::Attribute& attribute) { return attribute.name == key; });
  if (resource && taken) {
    findings.duplicate("spec.export.as", fmt::format("\"{}\" is the name of an attribute", key));
  }
  if (!ex.prune) {
    return;
  }
  for (std::size_t i = 0; i < ex.prune->json_pointers.size(); ++i) {
    if (!is_pointer(ex.prune->json_pointers[i])) {
      findings.invalid(
          fmt::format("spec.export.prune.jsonPointers[{}]", i),
          fmt::format(
              "\"{}\" is no JSON pointer such as /spec/replicas; write ~0 for ~ and ~1 for /",
              ex.prune->json_pointers[i]));
    }
  }
  const auto report_prune = [&](const std::string& member) {
    report(findings, problems, "spec.export.prune." + member,
           extract::CompileProblem::Kind::kInvalid);
  };
  report_prune("preset");
  for (const auto& [list, size] :
       {std::pair{"jsonPaths", ex.prune->json_paths.size()},
        std::pair{"jqPathExpressions", ex.prune->jq_path_expressions.size()},
        std::pair{"cel", ex.prune->cel.size()}}) {
    for (std::size_t i = 0; i < size; ++i) report_prune(fmt::format("{}[{}]", list, i));
  }
}

void add_warnings(Findings& findings, const api::ProfileSpec& spec) {
  for (std::size_t i = 0; i < spec.attributes.size(); ++i) {
    if (spec.attributes[i].path.find("[?(") != std::string::npos) {
      findings.warn(fmt::format(
          "spec.attributes[{}].path: other readers of this profile may not apply filters reliably",
          i));
    }
  }
  if (!spec.export_spec || !spec.export_spec->prune) {
    return;
  }
  const api::Prune& prune = *spec.export_spec->prune;
  for (std::size_t i = 0; i < prune.cel.size(); ++i) {
    findings.warn(fmt::format("spec.export.prune.cel[{}]: older releases ignore this member", i));
  }
  for (std::size_t i = 0; i < prune.json_paths.size(); ++i) {
    if (prune.json_paths[i].find("[?(") != std::string::npos ||
        prune.json_paths[i].find("[*]") != std::string::npos) {
      findings.warn(fmt::format(
          "spec.export.prune.jsonPaths[{}]: older releases do not apply filters and wildcards", i));
    }
  }
}

}  // namespace

void check_profile(Findings& findings, const api::Profile& profile,
                   const RuleContext& /*context*/) {
  const api::ProfileSpec& spec = profile.spec;
  const Problems problems = compile(profile);
  if (spec.target_gvk.version.empty()) {
    findings.required("spec.targetGVK.version");
  }
  if (spec.target_gvk.kind.empty()) {
    findings.required("spec.targetGVK.kind");
  }
  check_attributes(findings, spec, problems);
  check_metrics(findings, spec);
  for (std::size_t i = 0; i < spec.attributes.size(); ++i) {
    report(findings, problems, fmt::format("spec.attributes[{}].path", i),
           extract::CompileProblem::Kind::kForbidden);
  }
  if (spec.export_spec) {
    check_export(findings, spec, problems);
    const auto full = profile.metadata.annotations.find(api::kAllowFullResourceExport);
    const bool allowed = full != profile.metadata.annotations.end() && full->second == "true";
    if (spec.export_spec->mode == "Resource" && is_secret(spec.target_gvk) && !allowed) {
      findings.forbidden(
          "spec.export.mode",
          fmt::format("whole Secrets are exported only with the annotation {}: \"true\"",
                      api::kAllowFullResourceExport));
    }
  }
  add_warnings(findings, spec);
}

}  // namespace kollect::admission
