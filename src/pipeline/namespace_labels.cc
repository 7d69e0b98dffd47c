#include "pipeline/namespace_labels.h"

#include <algorithm>

namespace kollect::pipeline {

bool wants_namespace_labels(const api::ProfileSpec& profile) {
  return std::ranges::any_of(profile.attributes, [](const api::Attribute& attribute) {
    return attribute.path.find("namespaceLabels") != std::string::npos;
  });
}

void NamespaceLabels::note(base::json::View object) {
  const auto metadata = object.find("metadata");
  if (object.text("kind") != "Namespace" || object.text("apiVersion") != "v1" || !metadata) return;
  Labels& labels = by_name_[std::string(metadata->text("name"))];
  labels["kubernetes.io/metadata.name"] = metadata->text("name");
  const auto written = metadata->find("labels");
  if (!written || !written->is_object()) return;
  for (const auto& [key, value] : written->members()) {
    if (value.is_string()) labels[std::string(key)] = value.as_string();
  }
}

void NamespaceLabels::add(const NamespaceLabels& other) {
  for (const auto& [name, labels] : other.by_name_) by_name_[name] = labels;
}

const NamespaceLabels::Labels* NamespaceLabels::of(base::json::View object) const {
  const auto metadata = object.find("metadata");
  if (!metadata) return nullptr;
  const auto found = by_name_.find(metadata->text("namespace"));
  return found == by_name_.end() ? nullptr : &found->second;
}

}  // namespace kollect::pipeline
