// Sinks from their specs.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/types.h"
#include "base/address_guard.h"
#include "sinks/layout.h"
#include "sinks/sink.h"

namespace kollect::sinks {

struct SinkOptions {
  /// Refuses addresses by crds 4.9 and sinks 16.4. Off in the one-shot commands, where the user is
  /// the author.
  bool guard_addresses = true;
  bool allow_private = false;        ///< --allow-private-sinks
  bool allow_loopback = false;       ///< --allow-loopback-sinks
  bool allow_local = false;          ///< file://, local repositories and folders
  std::filesystem::path sqlite_dir;  ///< of type sqlite; empty: refused unless allow_local
  std::filesystem::path mirror_dir;  ///< of git; empty: the default places
  /// Replaces pathTemplate's default (not a template that the sink has): several clusters in one
  /// sink (L-59).
  std::string default_document_template;
  /// Of folders: as in FilesSinkOptions.
  bool prune = false;
  std::vector<InventoryId> configured;
  /// Replaces the system's resolver: connections go to the addresses that it gives.
  std::function<base::Result<std::vector<std::string>>(const std::string&)> resolver;

  /// The guard of these settings; null when nothing is refused.
  [[nodiscard]] std::shared_ptr<const base::AddressGuard> address_guard() const;
};

/// A sink of the types git, gitlab, s3, gcs, azureblob and local. `auth` is the
/// sink's Secret, `ca_pem` the certificates of its tls block. Errors: configuration, for settings
/// that cannot work and for types that are not built yet.
base::Result<std::unique_ptr<Sink>> make_snapshot_sink(const api::SnapshotSink& sink,
                                                       const SecretData& auth,
                                                       const std::optional<std::string>& ca_pem,
                                                       const SinkOptions& options);
/// A sink of the types postgres, bigquery and sqlite; nothing is contacted yet. `auth` is the
/// Secret of its databaseRef (bigquery: of its secretRef).
/// Errors: configuration.
base::Result<std::unique_ptr<Sink>> make_database_sink(const api::DatabaseSink& sink,
                                                       const SecretData& auth,
                                                       const std::optional<std::string>& ca_pem,
                                                       const SinkOptions& options);
/// A sink of type kafka or nats; nothing is contacted yet. Errors: configuration.
base::Result<std::unique_ptr<Sink>> make_event_sink(const api::EventSink& sink,
                                                    const SecretData& auth,
                                                    const std::optional<std::string>& ca_pem,
                                                    const SinkOptions& options);

}  // namespace kollect::sinks
