// Rights as manifests, and as values of the chart.
#pragma once

#include <string>

#include "base/json/value.h"
#include "install/rights.h"

namespace kollect::install {

/// A rule of a Role.
base::json::Value rule_value(const Rule& rule);

/// Who gets the rights, and how the objects are called.
struct Grantee {
  std::string role;  ///< name of roles and bindings
  std::string ns;    ///< of the service account
  std::string service_account;
};
/// A ClusterRole with its binding for what holds everywhere, a Role with its binding per namespace,
/// as one stream of YAML documents.
std::string rights_manifests(const Rights& rights, const Grantee& grantee);

/// Values of charts/kollect that give an operator these rights to read:
/// collector.rules and collector.namespaceRules.
std::string rights_values(const Rights& rights);

}  // namespace kollect::install
