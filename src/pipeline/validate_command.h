// `kollect validate`: schema and admission rules for folders, files and stdin (spec: pipeline 13).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/types.h"
#include "base/result.h"
#include "pipeline/validate_sample.h"

namespace kollect::pipeline {

struct ValidateOptions {
  /// --config: folders and files that are one configuration. They stand for the cluster in rules
  /// that look objects up; duplicates are errors, references between them are checked, and a
  /// profile and a target must be there.
  std::vector<std::string> config;
  /// Arguments: files, folders and "-", each manifest judged for itself.
  std::vector<std::string> files;
  /// --existing: files with objects that the rules look up.
  std::vector<std::string> existing;
  std::string stdin_text;  ///< what "-" stands for
  bool json = false;       ///< --json: a line per document instead of text
  bool tenant_mode = false;
  bool allow_private_sinks = false;
  bool allow_loopback_sinks = false;
  /// --check-env: variables and files that placeholders name must be there.
  bool check_env = false;
  std::map<std::string, std::string> env;
  /// --sample FILE: manifests that the profiles are tried on.
  std::vector<std::string> samples;
  /// --sample live: objects of a profile's kind from a cluster, and the definition of the kind.
  /// Asked for each profile that is valid. An error with reason "gvk-not-found" or "forbidden" is a
  /// finding of the profile; any other fails the command, which still reports what it found in the
  /// manifests.
  std::function<base::Result<Sample>(const api::ProfileSpec&)> live;
};

/// What the program prints and returns: 0 valid, 2 not.
struct ValidateReport {
  std::string out;
  std::string err;
  int exit_code = 0;
};

/// Judges the manifests. One thread; reads the named files and nothing else.
ValidateReport run_validate(const ValidateOptions& options);

}  // namespace kollect::pipeline
