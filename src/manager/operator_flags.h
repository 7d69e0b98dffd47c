// Flags of `kollect operator`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "cli/invocation.h"
#include "manager/leader/election.h"
#include "manager/manager.h"
#include "manager/read_api/server.h"
#include "manager/telemetry/metrics_server.h"
#include "manager/webhooks.h"

namespace kollect::manager {

struct OperatorFlags {
  std::string kubeconfig;
  std::string context;
  std::string health_address = ":8081";
  base::LogLevel log_level = base::LogLevel::kInfo;
  base::LogFormat log_format = base::LogFormat::kJson;
  MetricsOptions metrics;
  bool leader_elect = false;
  ElectionTimes election;
  std::string lease_name = "3274ac8a.kollect.dev";
  std::string lease_namespace;  ///< empty: the one of the service account or the context
  ManagerOptions manager;
  WebhookOptions webhooks;
  ReadApiOptions read_api;
  bool pprof = false;
  std::string pprof_address = ":6060";
  std::vector<std::string> without_effect;  ///< flags of the original that mean nothing here
  std::string given;  ///< all flags that were given, for the log: none of them holds a secret
};

/// Reads the flags behind the command's name, then the environment. An exit code when the command
/// ends here (help, an error).
std::optional<int> read_operator_flags(const cli::Invocation& invocation,
                                       const std::vector<std::string>& args, OperatorFlags& flags);

}  // namespace kollect::manager
