#include "sandbox/strategy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/strings.h"
#include "sandbox/objects.h"

namespace kollect::sandbox {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

/// stringData becomes data, as the API promises.
void fold_string_data(Value& secret) {
  const Value* plain = secret.find("stringData");
  if (plain == nullptr) return;
  if (plain->is_object()) {
    const Object members = plain->as_object();
    if (Object* data = ensure_object(secret, "data")) {
      for (const auto& [key, value] : members) {
        if (value.is_string()) data->set(key, base::base64_encode(value.as_string()));
      }
    }
  }
  secret.as_object().erase("stringData");
}

void prepare_namespace(Value& object) {
  if (Object* spec = ensure_object(object, "spec")) {
    if (!spec->contains("finalizers")) spec->set("finalizers", Array{"kubernetes"});
  }
  if (Object* status = ensure_object(object, "status")) {
    if (!status->contains("phase")) status->set("phase", "Active");
  }
  Value& metadata = object.as_object()["metadata"];
  if (Object* labels = ensure_object(metadata, "labels")) {
    labels->set("kubernetes.io/metadata.name", metadata.text("name"));
  }
}

bool is_label_value(std::string_view text) {
  if (text.size() > 63) return false;
  const auto inner = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  };
  const auto edge = [&](char c) { return inner(c) && c != '-' && c != '_' && c != '.'; };
  return text.empty() ||
         (std::ranges::all_of(text, inner) && edge(text.front()) && edge(text.back()));
}

bool is_qualified_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos && !base::is_dns1123_subdomain(text.substr(0, slash))) {
    return false;
  }
  const std::string_view name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  return !name.empty() && is_label_value(name);
}

/// Names that are path segments, not DNS names.
bool has_free_names(const Served& served) {
  return served.group == "rbac.authorization.k8s.io";
}

void check_name(const Served& served, const Value& object, std::vector<Cause>& causes) {
  const std::string_view name = metadata_text(object, "name");
  if (name.empty()) {
    causes.push_back({"FieldValueRequired", "metadata.name",
                      "Required value: name or generateName is required"});
    return;
  }
  if (has_free_names(served)) return;
  const bool label =
      served.group.empty() && (served.kind == "Namespace" || served.kind == "Service");
  if (label ? base::is_dns1123_label(name) : base::is_dns1123_subdomain(name)) return;
  causes.push_back(
      {"FieldValueInvalid", "metadata.name",
       label
           ? fmt::format("Invalid value: \"{}\": a lowercase RFC 1123 label must consist of lower "
                         "case alphanumeric characters or '-', and must start and end with an "
                         "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
                         "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
                         name)
           : fmt::format("Invalid value: \"{}\": a lowercase RFC 1123 subdomain must consist of "
                         "lower case alphanumeric characters, '-' or '.', and must start and end "
                         "with an alphanumeric character (e.g. 'example.com', regex used for "
                         "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*"
                         "[a-z0-9])?)*')",
                         name)});
}

}  // namespace

void prepare_new(const Served& served, Value& object, bool keep_status) {
  // Kinds that keep the status they are made with.
  const bool status_stays = served.kind == "Node" && served.group.empty();
  if (served.has_status && !keep_status && !status_stays) object.as_object().erase("status");
  if (served.group.empty() && served.kind == "Namespace") prepare_namespace(object);
  if (served.group.empty() && served.kind == "Pod") {
    Object* status = ensure_object(object, "status");
    if (status != nullptr && !status->contains("phase")) status->set("phase", "Pending");
  }
  prepare_changed(served, object);
}

void prepare_changed(const Served& served, Value& object) {
  if (!served.group.empty() || (served.kind != "Secret" && served.kind != "ConfigMap")) return;
  for (const char* key : {"data", "binaryData", "stringData"}) {
    const Value* data = object.find(key);
    if (data != nullptr && data->is_object() && data->as_object().empty()) {
      object.as_object().erase(key);
    }
  }
  if (served.kind != "Secret") return;
  fold_string_data(object);
  if (object.text("type").empty()) object.as_object().set("type", "Opaque");
}

std::vector<Cause> check_metadata(const Served& served, const Value& object) {
  std::vector<Cause> causes;
  check_name(served, object, causes);
  const Value* labels = object.at_path({"metadata", "labels"});
  if (labels == nullptr || !labels->is_object()) return causes;
  for (const auto& [key, value] : labels->as_object()) {
    if (!is_qualified_name(key)) {
      causes.push_back({"FieldValueInvalid", "metadata.labels",
                        fmt::format("Invalid value: \"{}\": must be a qualified name", key)});
    }
    if (!value.is_string() || !is_label_value(value.as_string())) {
      causes.push_back({"FieldValueInvalid", "metadata.labels",
                        fmt::format("Invalid value: \"{}\": a valid label must be an empty string "
                                    "or consist of alphanumeric characters, '-', '_' or '.'",
                                    value.is_string() ? value.as_string() : "")});
    }
  }
  return causes;
}

bool content_differs(const Served& served, const Value& a, const Value& b) {
  const auto content = [&](const Value& object) {
    Value copy = object;
    if (copy.is_object()) {
      for (const char* key : {"metadata", "apiVersion", "kind"}) copy.as_object().erase(key);
      if (served.has_status) copy.as_object().erase("status");
    }
    return copy;
  };
  return !(content(a) == content(b));
}

}  // namespace kollect::sandbox
