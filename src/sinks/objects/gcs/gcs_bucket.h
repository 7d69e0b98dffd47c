// Sinks of type gcs that log in with a service account's key or workload identity: Google Cloud
// Storage by its JSON API (spec: sinks 9.2).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/types.h"
#include "base/result.h"
#include "sinks/google/api.h"
#include "sinks/objects/object_sink.h"
#include "sinks/sink.h"

namespace kollect::sinks::objects::gcs {

struct BucketOptions {
  std::string name;
  std::string storage_class;  ///< of objects; empty: the bucket's
  std::string kms_key;        ///< "projects/…/cryptoKeys/…"; empty: the bucket's
  std::string location;       ///< of a bucket that is created; empty: Google's default
  std::string project;        ///< of a bucket that is created
  std::size_t chunk_bytes = std::size_t{16} << 20U;  ///< of uploads; a multiple of 256 KiB
};

/// check() lists at most one object: that takes no rights beyond those that writing needs.
std::unique_ptr<Bucket> make_bucket(std::shared_ptr<google::Api> api, BucketOptions options);

/// A sink's settings.
struct GcsSinkOptions {
  ObjectSinkOptions objects;
  BucketOptions bucket;
  google::ApiOptions api;
};

/// From a sink of type gcs, its Secret and the certificates of its tls block. STORAGE_EMULATOR_HOST
/// of the environment leads to an emulator, which is sent no token. Errors (configuration) name the
/// field or the Secret's key.
base::Result<GcsSinkOptions> gcs_options(const api::SnapshotSink& sink, const SecretData& secret,
                                         const std::optional<std::string>& ca_pem,
                                         const google::Environment& environment,
                                         google::Network network);

/// Nothing is contacted yet.
std::unique_ptr<Sink> make_gcs_sink(GcsSinkOptions options);

}  // namespace kollect::sinks::objects::gcs
