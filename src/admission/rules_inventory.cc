// KollectInventory (I1 to I10) and KollectClusterInventory (R1 to R11) (spec: crds 5.3, 5.10).
#include <algorithm>
#include <array>
#include <set>

#include "admission/checks.h"
#include "admission/rules.h"
#include "base/strings.h"

namespace kollect::admission {

namespace {

constexpr std::size_t kMaxReferences = 20;

struct ReferenceList {
  const char* path;
  const std::vector<api::SinkReference>* references;
  const std::vector<std::string> api::ScopeSpec::*allowed;
};

/// The three lists in the order in which rules report them.
template <class Spec>
std::array<ReferenceList, 3> lists_of(const Spec& spec) {
  return {{{"spec.snapshotSinkRefs", &spec.snapshot_sink_refs, &api::ScopeSpec::snapshot_sink_refs},
           {"spec.databaseSinkRefs", &spec.database_sink_refs, &api::ScopeSpec::database_sink_refs},
           {"spec.eventSinkRefs", &spec.event_sink_refs, &api::ScopeSpec::event_sink_refs}}};
}

void check_size(Findings& findings, const std::string& path,
                const std::optional<std::int64_t>& bytes, const Settings& settings) {
  if (bytes && (*bytes < 1 || *bytes > static_cast<std::int64_t>(settings.max_export_bytes))) {
    findings.invalid(path,
                     fmt::format("{} must be between 1 and {}", *bytes, settings.max_export_bytes));
  }
}

void check_reference_namespace(Findings& findings, const std::string& path, const std::string& ns,
                               bool cluster) {
  if (base::trim(ns).empty()) {
    return;
  }
  if (!cluster) {
    findings.forbidden(path, "sinks must live in the namespace of the inventory");
  } else if (!base::is_dns1123_label(ns)) {
    findings.invalid(path, fmt::format("\"{}\" is no valid namespace name", ns));
  }
}

/// I1 to I6 and R5.
void check_references(Findings& findings, const std::array<ReferenceList, 3>& lists, bool cluster,
                      const Settings& settings) {
  std::size_t count = 0;
  for (const ReferenceList& list : lists) {
    count += list.references->size();
  }
  if (count > kMaxReferences) {
    findings.invalid(
        "spec", fmt::format("{} sink references; at most {} are allowed", count, kMaxReferences));
    return;
  }
  for (const ReferenceList& list : lists) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < list.references->size(); ++i) {
      const api::SinkReference& reference = (*list.references)[i];
      const std::string path = fmt::format("{}[{}]", list.path, i);
      check_name_ref(findings, path + ".name", reference.name);
      if (!base::trim(reference.name).empty() && !names.insert(reference.name).second) {
        findings.duplicate(path + ".name",
                           fmt::format("\"{}\" stands twice in this list", reference.name));
      }
      check_reference_namespace(findings, path + ".namespace", reference.ns, cluster);
      check_interval(findings, path + ".exportMinInterval", reference.export_min_interval);
      check_size(findings, path + ".maxExportBytes", reference.max_export_bytes, settings);
    }
  }
}

/// I10: neither the inventory's interval nor a reference's may be below the floor.
void check_floors(Findings& findings, const std::string& interval,
                  const std::array<ReferenceList, 3>& lists, const std::string& floor) {
  check_floor(findings, "spec.exportMinInterval", interval, floor);
  for (const ReferenceList& list : lists) {
    for (std::size_t i = 0; i < list.references->size(); ++i) {
      check_floor(findings, fmt::format("{}[{}].exportMinInterval", list.path, i),
                  (*list.references)[i].export_min_interval, floor);
    }
  }
}

/// R3: a list of namespace names.
void check_namespaces(Findings& findings, const std::vector<std::string>& namespaces) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < namespaces.size(); ++i) {
    const std::string path = fmt::format("spec.namespaces[{}]", i);
    const std::string& ns = namespaces[i];
    const std::string_view trimmed = base::trim(ns);
    if (trimmed.empty()) {
      findings.required(path, "must be the name of a namespace");
    } else if (trimmed.size() != ns.size()) {
      findings.invalid(path, fmt::format("\"{}\" has blanks around it", ns));
    } else if (!seen.insert(ns).second) {
      findings.duplicate(path, fmt::format("\"{}\" stands twice", ns));
    } else if (!base::is_dns1123_label(ns)) {
      findings.invalid(path, fmt::format("\"{}\" is no valid namespace name", ns));
    }
  }
}

bool allows(const std::vector<std::string>& list, const std::string& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

/// R10: namespaces that the cluster scope lets static references point at.
std::optional<std::string> static_refusal(const api::ClusterScopeSpec& scope,
                                          const api::ClusterInventorySpec& spec,
                                          const std::string& sink_namespace) {
  const auto& statics = scope.allowed_static_ref_namespaces;
  if (spec.profile_ref && !allows(statics, spec.profile_ref->ns)) {
    return fmt::format("the profile is in namespace {}", spec.profile_ref->ns);
  }
  for (const ReferenceList& list : lists_of(spec)) {
    for (const api::SinkReference& reference : *list.references) {
      const std::string own(base::trim(reference.ns));
      const std::string& ns = own.empty() ? sink_namespace : own;
      if (!allows(statics, ns)) {
        return fmt::format("sink {} is in namespace {}", reference.name, ns);
      }
    }
  }
  return std::nullopt;
}

/// R11: sinks that the cluster scope does not list.
std::optional<std::string> sink_refusal(const api::ClusterScopeSpec& scope,
                                        const api::ClusterInventorySpec& spec) {
  for (const ReferenceList& list : lists_of(spec)) {
    for (const api::SinkReference& reference : *list.references) {
      if (!allows(scope.*list.allowed, reference.name)) {
        return fmt::format("sink {} is not in {}", reference.name,
                           std::string_view(list.path).substr(5));
      }
    }
  }
  return std::nullopt;
}

/// R1 to R8.
void check_cluster_fields(Findings& findings, const api::ClusterInventorySpec& spec,
                          const Settings& settings) {
  if (spec.profile_ref) {
    check_object_ref(findings, "spec.profileRef", *spec.profile_ref);
  }
  for (std::size_t i = 0; i < spec.target_refs.size(); ++i) {
    check_name_ref(findings, fmt::format("spec.targetRefs[{}]", i), spec.target_refs[i]);
  }
  check_namespaces(findings, spec.namespaces);
  // With explicit namespaces a selector may be left out (spec: crds 9 D1).
  if (spec.namespaces.empty() && (!spec.namespace_selector || spec.namespace_selector->empty())) {
    findings.required("spec.namespaceSelector",
                      "must be given and not be empty when spec.namespaces is empty");
  }
  check_selector(findings, "spec.namespaceSelector", spec.namespace_selector);
  check_selector(findings, "spec.targetSelector", spec.target_selector);
  check_references(findings, lists_of(spec), true, settings);
  if (spec.sink_namespace.find('/') != std::string::npos) {
    findings.invalid("spec.sinkNamespace",
                     fmt::format("\"{}\" is no namespace name", spec.sink_namespace));
  }
  check_interval(findings, "spec.exportMinInterval", spec.export_min_interval);
  if (!spec.dedupe.empty() && spec.dedupe != "keepAll" && spec.dedupe != "byResourceUID") {
    findings.not_supported("spec.dedupe", R"(supported values: "keepAll", "byResourceUID")");
  }
}

}  // namespace

void check_inventory(Findings& findings, const api::Inventory& inventory,
                     const RuleContext& context) {
  const api::InventorySpec& spec = inventory.spec;
  check_references(findings, lists_of(spec), false, context.settings);
  check_interval(findings, "spec.exportMinInterval", spec.export_min_interval);
  check_size(findings, "spec.maxExportBytes", spec.max_export_bytes, context.settings);
  if (!findings.clean()) {
    return;
  }
  const std::string ns = inventory.metadata.ns.empty() ? "default" : inventory.metadata.ns;
  if (const auto scope = found(findings, context.lookup.scope(ns))) {
    check_floors(findings, spec.export_min_interval, lists_of(spec),
                 scope->spec.min_export_interval);
  }
}

void check_cluster_inventory(Findings& findings, const api::ClusterInventory& inventory,
                             const RuleContext& context) {
  const api::ClusterInventorySpec& spec = inventory.spec;
  check_cluster_fields(findings, spec, context.settings);
  if (!findings.clean()) {
    return;
  }
  const std::string trimmed(base::trim(spec.sink_namespace));
  const std::string sink_namespace = trimmed.empty() ? "kollect-system" : trimmed;
  if (const auto scope = found(findings, context.lookup.scope(sink_namespace))) {
    check_floors(findings, spec.export_min_interval, lists_of(spec),
                 scope->spec.min_export_interval);
  }
  const auto scope = found(findings, context.lookup.cluster_scope());
  if (!findings.clean() || !scope) {
    return;
  }
  if (const auto refusal = static_refusal(scope->spec, spec, sink_namespace)) {
    findings.forbidden("spec", fmt::format("cluster scope {}: {}", scope->metadata.name, *refusal));
  } else if (const auto sink = sink_refusal(scope->spec, spec)) {
    findings.forbidden("spec", fmt::format("cluster scope {}: {}", scope->metadata.name, *sink));
  }
}

}  // namespace kollect::admission
