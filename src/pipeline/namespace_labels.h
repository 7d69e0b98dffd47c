// Labels of namespaces for profiles that are tried on single objects (`namespaceLabels` in CEL).
#pragma once

#include <map>
#include <string>

#include "api/types.h"
#include "base/json/document.h"

namespace kollect::pipeline {

/// Does an expression of the profile read labels of namespaces?
bool wants_namespace_labels(const api::ProfileSpec& profile);

/// What is known of namespaces. Not thread-safe while notes are taken.
class NamespaceLabels {
 public:
  using Labels = std::map<std::string, std::string>;

  /// Takes the labels of a Namespace; other objects are passed over. The label with the name itself
  /// (kubernetes.io/metadata.name) is there whether or not a file has it.
  void note(base::json::View object);
  /// Takes what `other` knows over, in place of older notes.
  void add(const NamespaceLabels& other);
  /// Labels of the namespace that an object lies in. nullptr: it lies in none, or in one that is
  /// not known. Valid until the next note.
  [[nodiscard]] const Labels* of(base::json::View object) const;

 private:
  std::map<std::string, Labels, std::less<>> by_name_;
};

}  // namespace kollect::pipeline
