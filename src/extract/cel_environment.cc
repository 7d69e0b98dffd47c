#include "extract/cel_environment.h"

namespace kollect::extract {

using base::json::Document;
using base::json::Value;

cel::Environment attribute_environment() {
  cel::Environment environment;
  environment.variables = {
      {"object", "dyn"},
      {"self", "dyn"},
      {"cluster", "string"},
      {"namespaceLabels", "map(string, string)"},
  };
  return environment;
}

cel::Environment prune_environment() {
  auto environment = attribute_environment();
  environment.variables.push_back({"path", "list(string)"});
  environment.variables.push_back({"value", "dyn"});
  return environment;
}

std::vector<cel::Binding> CelBindings::of(const cel::Program& program) {
  std::vector<cel::Binding> bindings = {{"object", object_}, {"self", object_}};
  if (program.uses("cluster")) {
    if (!cluster_) cluster_ = Document::from_value(Value(context_.cluster));
    bindings.push_back({"cluster", cluster_->root()});
  }
  if (program.uses("namespaceLabels")) {
    if (!namespace_labels_) {
      base::json::Object labels;
      if (context_.namespace_labels != nullptr) {
        for (const auto& [key, value] : *context_.namespace_labels) labels.set(key, Value(value));
      }
      namespace_labels_ = Document::from_value(Value(std::move(labels)));
    }
    bindings.push_back({"namespaceLabels", namespace_labels_->root()});
  }
  return bindings;
}

}  // namespace kollect::extract
