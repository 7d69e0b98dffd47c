// A configuration folder, checked and typed (spec: pipeline 2 and 3).
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "api/types.h"
#include "base/result.h"
#include "pipeline/manifest_set.h"

namespace kollect::pipeline {

/// A typed object and the manifest it was read from.
template <class T>
struct Loaded {
  T object;
  const Manifest* manifest = nullptr;
};

/// Everything a run needs from the folder. Movable; the manifests stay where they are.
struct Config {
  std::unique_ptr<ManifestSet> manifests;
  std::deque<Loaded<api::Profile>> profiles;
  std::deque<Loaded<api::Target>> targets;
  std::deque<Loaded<api::ClusterTarget>> cluster_targets;
  std::deque<Loaded<api::Inventory>> inventories;
  std::deque<Loaded<api::ClusterInventory>> cluster_inventories;
  std::deque<Loaded<api::SnapshotSink>> snapshot_sinks;
  std::deque<Loaded<api::DatabaseSink>> database_sinks;
  std::deque<Loaded<api::EventSink>> event_sinks;
  std::vector<std::string> warnings;

  [[nodiscard]] bool has_sinks() const {
    return !snapshot_sinks.empty() || !database_sinks.empty() || !event_sinks.empty();
  }
};

struct ConfigOptions {
  bool allow_private_sinks = false;
  bool allow_loopback_sinks = false;
  /// Only the sinks matter: there must be one; profiles and targets need not be there.
  bool only_sinks = false;
  std::string stdin_text = {};  ///< read for the path "-"
};

/// Loads the folders and files and judges every manifest by schema and admission rules (L-42).
/// Errors (configuration) are one line: the first problem in order of file and line, and how many
/// more there are.
base::Result<Config> load_config(const std::vector<std::string>& paths,
                                 const ConfigOptions& options);

/// Profile of a target (L-48): the one in its namespace, else the only one of that name (with a
/// warning).
struct ProfileLookup {
  const Loaded<api::Profile>* profile = nullptr;
  std::string warning;
};
base::Result<ProfileLookup> find_profile(const Config& config, const Manifest& target,
                                         const std::string& name);
/// Profile of a cluster target: exactly the namespace and name given.
base::Result<const Loaded<api::Profile>*> find_cluster_profile(const Config& config,
                                                               const Manifest& target,
                                                               const api::ObjectReference& ref);

}  // namespace kollect::pipeline
