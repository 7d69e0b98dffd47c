// Credential programs of kubeconfigs (client.authentication.k8s.io v1 and v1beta1).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/context.h"
#include "base/result.h"
#include "base/secret.h"
#include "kube/kubeconfig.h"

namespace kollect::kube {

/// What a program gave: a token, a certificate with its key, or both.
struct ExecCredential {
  base::Secret token;
  std::string client_cert_pem;
  base::Secret client_key_pem;
  std::optional<base::WallTime> expires;
};

/// The document that goes into KUBERNETES_EXEC_INFO.
std::string exec_info(const ClusterConfig& config, bool interactive);
/// Reads a program's output. Errors never hold parts of it.
base::Result<ExecCredential> parse_exec_output(std::string_view output,
                                               const std::string& api_version);
/// Runs the program of `config.exec`, at most 60 s. `env` is the process environment; PATH in it is
/// searched. Errors: denied with reason "unauthorized", naming the program and its install hint.
base::Result<ExecCredential> run_exec_plugin(const base::Context& context,
                                             const ClusterConfig& config,
                                             const std::map<std::string, std::string>& env);

}  // namespace kollect::kube
