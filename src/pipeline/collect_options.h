// Flags of `kollect collect`, parsed and checked in the order of spec pipeline 1.1.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "pipeline/cli_names.h"
#include "pipeline/run/records.h"
#include "sinks/layout.h"

namespace kollect::pipeline {

enum class SummaryForm { kText, kJson, kNone };

struct CollectOptions {
  std::vector<std::string> config;
  std::string kubeconfig;
  std::vector<std::string> contexts;
  std::string ns;
  std::string output;
  std::string format;
  bool dry_run = false;
  std::string log_level = "info";
  std::string log_format;
  std::vector<std::string> manifests;
  std::vector<std::string> clusters;
  std::string layout;
  std::string path_template;
  std::string sqlite;
  bool allow_private_sinks = false;
  bool allow_loopback_sinks = false;
  bool no_sinks = false;
  bool prune = false;
  int parallel = 4;
  std::string timeout = "10m";
  std::string summary;
  std::string summary_file;
  bool strict = false;

  // From the texts above, by check().
  base::LogLevel level = base::LogLevel::kInfo;
  base::LogFormat log_form = base::LogFormat::kText;
  SummaryForm summary_form = SummaryForm::kNone;
  RecordFormat record_format = RecordFormat::kNdjson;
  sinks::LayoutSpec layout_spec;
  base::Duration time_limit{};
};

/// Returns an exit code when the command ends here (help, flag errors).
std::optional<int> parse_collect_flags(const Invocation& invocation,
                                       const std::vector<std::string>& args,
                                       CollectOptions& options);
/// Checks that need no file. Errors: configuration.
base::Result<> check_collect_options(const Invocation& invocation, CollectOptions& options);
/// Cluster names of --cluster by context name (spec: pipeline 6). Errors: unknown context, a name
/// twice.
base::Result<std::map<std::string, std::string>> cluster_names(
    const CollectOptions& options, const std::vector<std::string>& contexts);

}  // namespace kollect::pipeline
