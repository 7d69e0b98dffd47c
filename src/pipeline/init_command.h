// `kollect init`: proposes profiles and targets for the kinds of a cluster, by questions or from
// flags (spec: pipeline 14).
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/log.h"

namespace kollect::pipeline {

struct InitOptions {
  std::string kubeconfig;
  std::string context;
  std::string output_dir = "./collect-config";
  std::string target_namespace = "kollect-system";
  std::vector<std::string> sensitive;  ///< --sensitive GROUP/KIND

  // Without questions (14.5): any of `kinds` and `all` set.
  std::vector<std::string> kinds;
  bool all = false;
  std::string attributes = "preset";  ///< preset, all, none
  std::vector<std::string> namespaces;
  std::string namespace_selector;
  std::string selector;
  std::vector<std::string> names;
  std::string name;
  bool yes = false;    ///< write without a review
  bool force = false;  ///< overwrite existing files
  bool sample = false;
  bool sample_sensitive = false;
};

/// Where questions are asked; nothing is owned.
struct InitTerminal {
  std::FILE* in = stdin;
  std::FILE* out = stderr;
  bool in_is_terminal = false;
  bool colour = false;
};

/// Returns the exit code: 0 written, 2 refused, cancelled or failed (one line on stderr by `log`).
int run_init(const base::Context& context, const InitOptions& options, const InitTerminal& terminal,
             const std::map<std::string, std::string>& env, const base::Logger& log);

}  // namespace kollect::pipeline
