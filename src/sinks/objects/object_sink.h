// Inventories as documents in a bucket (spec: sinks 5, 9.3): one object per inventory, or per part
// of a split set with a manifest that closes it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/types.h"
#include "sinks/objects/bucket.h"
#include "sinks/objects/compression.h"
#include "sinks/objects/encoder.h"
#include "sinks/sink.h"

namespace kollect::sinks::objects {

/// Names of the user metadata of every object that a sink writes.
inline constexpr const char* kChecksumKey = "kollect-checksum";  ///< of the uncompressed bytes
inline constexpr const char* kExportedAtKey = "kollect-exported-at";
inline constexpr const char* kInventoryKey = "kollect-inventory";  ///< namespace/name
inline constexpr const char* kClusterKey = "kollect-cluster";      ///< percent-encoded

struct ObjectSinkOptions {
  std::string shown;  ///< the bucket as messages name it ("s3://bucket"); no user information
  std::string prefix;
  std::string path_template;
  std::shared_ptr<const Encoder> encoder;
  Compression compression = Compression::kNone;
  bool existing = false;  ///< provisioning.mode existing: the bucket must be there
  bool create_bucket = false;
  std::uint32_t retain_generations = 0;              ///< 0: all
  std::size_t whole_up_to = std::size_t{64} << 20U;  ///< larger bodies go by an Upload
};

/// The settings that all object stores share: serialization, objectStore, pathTemplate,
/// provisioning, options createBucket and retainGenerations. `shown` and `prefix` are the caller's.
/// Error (configuration): a value that cannot work, with the field's name.
base::Result<ObjectSinkOptions> object_sink_options(const api::SnapshotSink& sink);

/// Reads a switch of spec.options ("true", "false"). Error (configuration) names the key.
base::Result<bool> switch_option(const std::map<std::string, std::string>& options,
                                 const std::string& key, bool otherwise);
/// Reads a number from `least` to `most`.
base::Result<std::uint32_t> number_option(const std::map<std::string, std::string>& options,
                                          const std::string& key, std::uint32_t least,
                                          std::uint32_t most, std::uint32_t otherwise);

/// Writes only what changed: what an object holds is asked from the bucket at the first pass of an
/// inventory (and after an error), then remembered.
std::unique_ptr<Sink> make_object_sink(ObjectSinkOptions options, std::unique_ptr<Bucket> bucket);

}  // namespace kollect::sinks::objects
