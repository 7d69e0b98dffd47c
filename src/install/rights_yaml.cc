#include "install/rights_yaml.h"

#include "base/yaml/write.h"

namespace kollect::install {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

Value strings(const std::vector<std::string>& list) {
  return Array(list.begin(), list.end());
}

Value rules_value(const std::vector<Rule>& rules) {
  Array list;
  for (const Rule& rule : rules) list.push_back(rule_value(rule));
  return list;
}

Object header(const std::string& kind, const std::string& name, const std::string& ns) {
  Object metadata;
  metadata.set("name", name);
  if (!ns.empty()) metadata.set("namespace", ns);
  Object object;
  object.set("apiVersion", "rbac.authorization.k8s.io/v1");
  object.set("kind", kind);
  object.set("metadata", std::move(metadata));
  return object;
}

Value binding(const std::string& role_kind, const std::string& ns, const Grantee& grantee) {
  Object object = header(role_kind + "Binding", grantee.role, ns);
  Object role;
  role.set("apiGroup", "rbac.authorization.k8s.io");
  role.set("kind", role_kind);
  role.set("name", grantee.role);
  object.set("roleRef", std::move(role));
  Object subject;
  subject.set("kind", "ServiceAccount");
  subject.set("name", grantee.service_account);
  subject.set("namespace", grantee.ns);
  object.set("subjects", Array{Value(std::move(subject))});
  return object;
}

}  // namespace

Value rule_value(const Rule& rule) {
  Object object;
  object.set("apiGroups", Array{Value(rule.group)});
  object.set("resources", strings(rule.resources));
  if (!rule.names.empty()) object.set("resourceNames", strings(rule.names));
  object.set("verbs", strings(rule.verbs));
  return object;
}

std::string rights_manifests(const Rights& rights, const Grantee& grantee) {
  std::string text;
  for (const auto& [ns, rules] : rights.rules()) {
    const std::string kind = ns.empty() ? "ClusterRole" : "Role";
    Object role = header(kind, grantee.role, ns);
    role.set("rules", rules_value(rules));
    for (const Value& one : {Value(std::move(role)), binding(kind, ns, grantee)}) {
      text += "---\n" + base::yaml::write(one);
    }
  }
  return text;
}

std::string rights_values(const Rights& rights) {
  Object by_namespace;
  Value everywhere = Array{};
  for (const auto& [ns, rules] : rights.rules()) {
    (ns.empty() ? everywhere : by_namespace[ns]) = rules_value(rules);
  }
  Object collector;
  collector.set("rules", std::move(everywhere));
  collector.set("namespaceRules", std::move(by_namespace));
  Object values;
  values.set("collector", std::move(collector));
  return base::yaml::write(Value(std::move(values)));
}

}  // namespace kollect::install
