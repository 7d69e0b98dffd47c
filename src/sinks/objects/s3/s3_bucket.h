// Sinks of type s3, and of type gcs with HMAC keys, which speak the same protocol (spec: sinks 9).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/types.h"
#include "base/result.h"
#include "sinks/objects/object_sink.h"
#include "sinks/objects/s3/client.h"
#include "sinks/sink.h"

namespace kollect::sinks::objects::s3 {

struct BucketOptions {
  std::string storage_class;
  std::string sse;          ///< "AES256", "aws:kms" or empty
  std::string sse_kms_key;  ///< with aws:kms; empty: the account's own
  std::string location;     ///< of a bucket that is created; empty: the region
  std::string project;      ///< of a bucket that is created at Google
  std::size_t part_bytes = std::size_t{16} << 20U;  ///< of multipart uploads
};

std::unique_ptr<Bucket> make_bucket(std::shared_ptr<Client> client, BucketOptions options);

/// A sink's settings.
struct S3SinkOptions {
  ObjectSinkOptions objects;
  BucketOptions bucket;
  ClientOptions client;
  std::optional<Credentials> keys;  ///< of the Secret; none: the process's own identity
  Environment environment = process_environment();
};

/// True when the Secret of a gcs sink has HMAC keys.
bool has_hmac_keys(const SecretData& secret);

/// From a sink of type s3 or gcs, its Secret and the certificates of its tls block. The guard and
/// resolver are the caller's. Errors (configuration) name the field or the Secret's key.
base::Result<S3SinkOptions> s3_options(const api::SnapshotSink& sink, const SecretData& secret,
                                       const std::optional<std::string>& ca_pem);

/// Nothing is contacted yet.
std::unique_ptr<Sink> make_s3_sink(S3SinkOptions options);

}  // namespace kollect::sinks::objects::s3
