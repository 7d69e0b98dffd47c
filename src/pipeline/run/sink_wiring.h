// From manifests of sinks and their Secrets to constructed backends.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "pipeline/config.h"
#include "pipeline/secrets.h"
#include "sinks/sink.h"

namespace kollect::pipeline {

struct WiredSink {
  std::string title;    ///< "snapshot/name"
  std::string cluster;  ///< spec.cluster, may be empty
  const Manifest* manifest = nullptr;
  std::unique_ptr<sinks::Sink> sink;
};

/// A sink of the folder, or why it could not be built (configuration).
struct SinkMade {
  const Manifest* manifest = nullptr;
  base::Result<WiredSink> sink;
};

struct WiringOptions {
  bool allow_private = false;
  bool allow_loopback = false;
  /// Default templates put {cluster} in front; a template without it is refused (L-59).
  bool several_contexts = false;
};

/// All sinks of the folder. Errors (configuration): a missing Secret, wrong settings, a type that
/// this build has not.
base::Result<std::vector<WiredSink>> make_sinks(const Config& config, SecretStore& secrets,
                                                const WiringOptions& options);
/// The same one by one: a sink that cannot be built stops no other.
std::vector<SinkMade> make_each_sink(const Config& config, SecretStore& secrets,
                                     const WiringOptions& options);
/// The SQLite file of --sqlite.
base::Result<std::unique_ptr<sinks::Sink>> make_sqlite(const std::string& path);

}  // namespace kollect::pipeline
