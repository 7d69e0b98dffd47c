// Sinks of type azureblob: containers of Azure Blob Storage under the contract of object stores
// (spec: sinks 9).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/types.h"
#include "base/result.h"
#include "sinks/objects/azure/client.h"
#include "sinks/objects/bucket.h"
#include "sinks/objects/object_sink.h"
#include "sinks/sink.h"

namespace kollect::sinks::objects::azure {

struct BucketOptions {
  std::string access_tier;                         ///< "Hot", "Cool", "Cold"; "": the account's own
  std::size_t part_bytes = std::size_t{8} << 20U;  ///< of large objects
};

/// Names of user metadata are identifiers there: "-" is written as "_" and comes back as "-".
std::unique_ptr<Bucket> make_bucket(std::shared_ptr<Client> client, BucketOptions options);

/// A sink's settings.
struct AzureSinkOptions {
  ObjectSinkOptions objects;
  BucketOptions bucket;
  ClientOptions client;
  SecretParts secret;  ///< neither key nor signature: the process's own identity
  Environment environment = process_environment();
  /// For tests: an emulator may see a token of the process's own identity.
  bool trust_any_host = false;
};

/// From a sink of type azureblob, its Secret and the certificates of its tls block. The guard and
/// resolver are the caller's. Errors (configuration) name the field or the Secret's key.
base::Result<AzureSinkOptions> azure_options(const api::SnapshotSink& sink,
                                             const SecretData& secret,
                                             const std::optional<std::string>& ca_pem);

/// Nothing is contacted yet. Error (configuration): the process's own identity would go to a host
/// that is none of Azure's.
base::Result<std::unique_ptr<Sink>> make_azure_sink(AzureSinkOptions options);

}  // namespace kollect::sinks::objects::azure
