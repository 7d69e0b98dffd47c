// Objects from manifest files and dumps instead of a cluster (spec: pipeline 7.3).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "pipeline/run/intake.h"
#include "pipeline/run/plan.h"
#include "pipeline/run/result.h"

namespace kollect::pipeline {

/// An object as compact JSON, with what selection must know about it.
struct ManifestObject {
  ObjectType type;
  std::string ns;
  std::string name;
  std::string json;
};

struct ManifestObjects {
  std::vector<ManifestObject> objects;  ///< each identity once, the last one read
  select::Namespaces namespaces;
  std::vector<std::string> warnings;  ///< objects that stood twice
  std::vector<std::string> problems;  ///< unreadable documents: file, document, line
};

/// Reads files, folders (`object_files`) and "-" (`stdin_text`). Error (configuration): a missing
/// file, an input without a document, or nothing could be read at all.
base::Result<ManifestObjects> read_manifest_objects(const std::vector<std::string>& paths,
                                                    std::string_view stdin_text);

/// A target whose kind is not among the inputs is empty, and that is no fault unless something
/// among them that no target reads looks like what was meant: another spelling or group of the
/// kind. A line for each.
std::vector<std::string> near_misses(const ManifestObjects& input, const Plan& plan);

/// Judges and extracts all objects for all targets. `only_namespace`: --namespace, warned about
/// when nothing mentions it.
ContextResult collect_manifests(const base::Context& context, const ManifestObjects& input,
                                const Plan& plan, const std::string& cluster,
                                const std::string& only_namespace);

/// Scope of built-in kinds; none when the kind is not a built-in one.
std::optional<bool> builtin_is_namespaced(std::string_view group, std::string_view kind);

/// The uid given to objects without one, so that reruns keep identities.
std::string made_up_uid(std::string_view cluster, const ObjectType& type, std::string_view ns,
                        std::string_view name);

}  // namespace kollect::pipeline
