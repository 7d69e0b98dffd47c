#include "pipeline/validate_sample.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "extract/jsonpath.h"
#include "extract/program.h"

namespace kollect::pipeline {
namespace {

using base::json::View;

bool is_of_kind(View object, const api::GroupVersionKind& gvk) {
  const std::string_view version = object.text("apiVersion");
  const std::size_t slash = version.find('/');
  const std::string_view group = slash == std::string_view::npos ? "" : version.substr(0, slash);
  return object.text("kind") == gvk.kind && group == gvk.group;
}

/// Counts for one attribute.
struct Tally {
  std::string name;
  std::size_t absent = 0;
  std::size_t null = 0;
  std::size_t failed = 0;
  std::size_t mistyped = 0;
  std::string error;
  std::string hint;
};

void count(Tally& tally, const extract::AttributeTrace& trace) {
  using Yield = extract::AttributeTrace::Yield;
  tally.name = trace.name;
  tally.absent += trace.yield == Yield::kAbsent ? 1 : 0;
  tally.null += trace.yield == Yield::kNull ? 1 : 0;
  tally.failed += trace.yield == Yield::kError ? 1 : 0;
  tally.mistyped += trace.type_mismatch ? 1 : 0;
  if (trace.error && tally.error.empty()) {
    tally.error = trace.error->message;
  }
  if (trace.hint && tally.hint.empty()) {
    tally.hint = *trace.hint;
  }
}

void report(std::vector<SampleFinding>& findings, std::size_t index, const Tally& tally,
            std::size_t objects) {
  std::vector<std::string> parts;
  const auto add = [&](std::size_t number, const std::string& what) {
    if (number > 0) {
      parts.push_back(fmt::format("{} on {} of {} objects", what, number, objects));
    }
  };
  add(tally.failed, tally.error.empty() ? "fails" : fmt::format("fails ({})", tally.error));
  add(tally.absent, "absent");
  add(tally.null, "null");
  add(tally.mistyped, "of another type than declared");
  if (parts.empty()) {
    return;
  }
  std::string text = fmt::format("attribute \"{}\": {}", tally.name, fmt::join(parts, "; "));
  if (!tally.hint.empty()) {
    text += fmt::format("; did you mean {}", tally.hint);
  }
  findings.push_back({fmt::format("spec.attributes[{}]", index), std::move(text)});
}

/// The CustomResourceDefinition of a kind among the objects.
std::optional<View> definition_of(const api::GroupVersionKind& gvk,
                                  const std::vector<View>& objects) {
  for (const View object : objects) {
    if (object.text("kind") != "CustomResourceDefinition") continue;
    const auto spec = object.find("spec");
    const auto names = spec ? spec->find("names") : std::nullopt;
    if (spec && names && spec->text("group") == gvk.group && names->text("kind") == gvk.kind)
      return spec;
  }
  return std::nullopt;
}

/// What the definition says of the profile: is the version served, are the fields there?
void compare(const api::ProfileSpec& spec, View definition, std::vector<SampleFinding>& findings) {
  std::vector<std::string> served;
  std::optional<View> schema;
  const auto versions = definition.find("versions");
  if (!versions || !versions->is_array()) return;
  for (const View version : versions->items()) {
    const auto is_served = version.find("served");
    if (!is_served || !is_served->is_bool() || !is_served->as_bool()) continue;
    served.emplace_back(version.text("name"));
    if (served.back() == spec.target_gvk.version) {
      schema = version.at_path({"schema", "openAPIV3Schema"});
    }
  }
  if (std::ranges::find(served, spec.target_gvk.version) == served.end()) {
    findings.push_back(
        {"spec.targetGVK.version", fmt::format("{} is not served in this version; served: {}",
                                               spec.target_gvk.kind, base::join(served, ", "))});
    return;
  }
  if (!schema) return;
  for (std::size_t i = 0; i < spec.attributes.size(); ++i) {
    // Expressions and Helm fields do not compile as JSON paths: they are judged by what they yield.
    const auto path = extract::JsonPath::compile(spec.attributes[i].path);
    const auto unknown = path ? path->field_unknown_to(*schema) : std::nullopt;
    if (!unknown) continue;
    findings.push_back(
        {fmt::format("spec.attributes[{}].path", i),
         fmt::format(
             "{} has no field {}{}", spec.target_gvk.kind, unknown->path,
             unknown->near.empty() ? "" : "; near names: " + base::join(unknown->near, ", "))});
  }
}

}  // namespace

std::vector<SampleFinding> try_profile(const api::Profile& profile,
                                       const std::vector<View>& objects,
                                       const NamespaceLabels& namespaces) {
  extract::Program::CompileInput input;
  input.spec = &profile.spec;
  input.annotations = profile.metadata.annotations;
  const auto program = extract::Program::compile(input);
  if (!program.has_value()) {
    return {};
  }
  std::vector<SampleFinding> findings;
  std::vector<Tally> tallies(profile.spec.attributes.size());
  std::size_t tried = 0;
  for (const View object : objects) {
    if (!is_of_kind(object, profile.spec.target_gvk)) {
      continue;
    }
    ++tried;
    const auto traces = program->explain(object, {"", namespaces.of(object)});
    for (std::size_t i = 0; i < traces.size() && i < tallies.size(); ++i) {
      count(tallies[i], traces[i]);
    }
  }
  if (const auto definition = definition_of(profile.spec.target_gvk, objects)) {
    compare(profile.spec, *definition, findings);
  }
  if (tried == 0) {
    findings.push_back(
        {"", fmt::format("no object of kind {} in the sample", profile.spec.target_gvk.kind)});
    return findings;
  }
  for (std::size_t i = 0; i < tallies.size(); ++i) {
    report(findings, i, tallies[i], tried);
  }
  return findings;
}

}  // namespace kollect::pipeline
