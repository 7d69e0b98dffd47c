// Everything that rows are written to in a run (spec: pipeline 8 to 10).
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "pipeline/config.h"
#include "pipeline/run/export_plan.h"
#include "pipeline/run/outcome.h"
#include "pipeline/run/plan.h"
#include "pipeline/run/records.h"
#include "pipeline/secrets.h"
#include "sinks/layout.h"

namespace kollect::pipeline {

struct OutputOptions {
  std::string output;  ///< "", "-", or a folder
  RecordFormat record_format = RecordFormat::kNdjson;
  sinks::LayoutSpec layout;  ///< of --output DIR
  bool prune = false;
  std::string sqlite;
  bool use_sinks = true;
  bool dry_run = false;
  bool allow_private_sinks = false;
  bool allow_loopback_sinks = false;
  bool several_contexts = false;
  base::WallTime exported_at{};
};

/// Sinks in the order they are reported: output, stdout, sqlite, then the folder's. Used by one
/// thread; sinks of one context run side by side.
class Outputs {
 public:
  /// Builds all sinks; `secrets` resolves their credentials. Errors (configuration).
  static base::Result<std::unique_ptr<Outputs>> open(const Config& config, const Plan& plan,
                                                     const OutputOptions& options,
                                                     SecretStore& secrets, std::FILE* out);
  /// Exports what one context gave. With dry_run nothing is written.
  std::vector<SinkOutcome> deliver(const base::Context& context, const ContextResult& result);
  /// Ends stdout. Errors as of RecordWriter.
  base::Result<> finish();

 private:
  struct Backend {
    std::string title;
    std::string cluster;  ///< spec.cluster; empty: the run's
    std::vector<ExportUnit> units;
    std::unique_ptr<sinks::Sink> sink;
  };
  Outputs(const Plan& plan, OutputOptions options) : plan_(plan), options_(std::move(options)) {}
  base::Result<> open_folder(const Config& config);
  base::Result<> open_sqlite();
  base::Result<> open_sinks(const Config& config, SecretStore& secrets);
  SinkOutcome write_records(const ContextResult& result);
  SinkOutcome run_backend(const base::Context& context, Backend& backend,
                          const ContextResult& result) const;

  const Plan& plan_;
  OutputOptions options_;
  std::optional<RecordWriter> records_;
  std::vector<Backend> backends_;
};

}  // namespace kollect::pipeline
