// One run of `kollect collect`, from checked flags to the exit code.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/log.h"
#include "http/client.h"
#include "kube/client.h"
#include "kube/kubeconfig.h"
#include "pipeline/cli_names.h"
#include "pipeline/collect_options.h"
#include "pipeline/config.h"
#include "pipeline/run/manifest_source.h"
#include "pipeline/run/outputs.h"
#include "pipeline/run/plan.h"
#include "pipeline/run/progress.h"
#include "pipeline/secrets.h"

namespace kollect::pipeline {

/// Checks in the order of spec pipeline 1.1, then collects contexts side by side and exports in
/// their order.
class CollectRun {
 public:
  CollectRun(const Invocation& invocation, CollectOptions options);
  int run();

 private:
  base::Result<> prepare();
  base::Result<> choose_contexts();
  base::Result<> check_outputs();
  /// Where there are inventories their lists choose the sinks. True: some sink is written to.
  bool warn_of_unused_sinks();
  base::Result<> check_clusters();
  base::Result<> open_outputs();
  void collect_contexts();
  ContextResult collect_context(std::size_t index);
  ContextResult collect_from_cluster(const kube::Kubeconfig& config, const std::string& name);
  /// Exports one context's rows and reports on it; false when the run should end.
  bool deliver(ContextResult result);
  int finish();
  void warn(const std::string& text);
  void report_context(const ContextResult& result);
  void report_target(const ContextResult& result, std::size_t index);
  void report_sinks(const ContextOutcome& outcome);
  void write_summary(int exit_code);
  int fail(const base::Error& error);

  const Invocation& invocation_;
  CollectOptions options_;
  base::WallTime started_at_;
  base::SteadyTime started_;
  base::Context context_;
  std::shared_ptr<base::Redactor> redactor_ = std::make_shared<base::Redactor>();
  std::unique_ptr<base::Logger> log_;
  Config config_;
  Plan plan_;
  std::optional<kube::Kubeconfig> kubeconfig_;
  std::optional<ManifestObjects> manifests_;
  std::vector<std::string> contexts_;
  std::map<std::string, std::string> clusters_;
  std::shared_ptr<http::Client> http_;
  std::unique_ptr<SecretStore> secrets_;
  std::unique_ptr<Outputs> outputs_;
  std::unique_ptr<Progress> progress_;
  std::vector<std::string> warnings_;
  std::vector<ContextOutcome> outcomes_;
  bool stdout_closed_ = false;
};

}  // namespace kollect::pipeline
