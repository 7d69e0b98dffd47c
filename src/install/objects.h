// Our objects as rights and checks need them, from manifests.
#pragma once

#include <string>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"
#include "install/rights.h"

namespace kollect::install {

/// Adds a manifest of one of our kinds; kinds that decide nothing here are passed over. Errors
/// (configuration): it breaks its schema.
base::Result<> take(Objects& into, base::json::Value manifest);

/// Files and folders of manifests.
struct Files {
  Objects objects;
  /// Resources of CustomResourceDefinitions that stand there, each version.
  std::vector<kube::Resource> definitions;
};
/// Errors (configuration): the first thing that is wrong, with its file and line.
base::Result<Files> read_files(const std::vector<std::string>& paths,
                               std::string_view stdin_text = {});

/// The resources that a CustomResourceDefinition serves.
std::vector<kube::Resource> served_by(const base::json::Value& definition);

/// Looks a kind up in `known`, then among ours, then among those that every cluster has; any
/// version counts. Errors (configuration) say how to make it known.
base::Result<kube::Resource> find_resource(const std::vector<kube::Resource>& known,
                                           const api::GroupVersionKind& kind);

}  // namespace kollect::install
