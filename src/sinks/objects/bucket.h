// What an object store must offer to the object sink (spec: sinks 9). S3, Google Cloud Storage and
// Azure Blob Storage differ in how they are asked, not in what is asked.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/result.h"

namespace kollect::sinks::objects {

struct ObjectInfo {
  std::string key;
  std::uint64_t bytes = 0;
  /// User metadata, names in lower case without the store's prefix. Not filled by list().
  std::map<std::string, std::string> metadata;
};

/// What is stored beside the bytes.
struct ObjectMeta {
  std::string content_type;
  std::string content_encoding;  ///< "gzip", "zstd" or empty
  std::map<std::string, std::string> metadata;
  /// Hex SHA-256 of the bytes that put() is given, for stores that send it along; empty: not known.
  std::string body_sha256 = {};
};

/// An object that grows piece by piece and appears as a whole with finish(). Without finish()
/// nothing appears: the destructor aborts what was begun.
class Upload {
 public:
  virtual ~Upload() = default;
  /// Any sizes; memory held is bounded by the store's part size.
  virtual base::Result<> write(const base::Context& context, std::string_view data) = 0;
  virtual base::Result<> finish(const base::Context& context) = 0;
};

/// Reason of errors about a bucket that does not exist.
inline constexpr std::string_view kNoBucket = "no-bucket";

/// One bucket (Azure: container). Keys are whole, prefix included. Called by one thread at a time.
/// Errors: terminal ones for what a change of settings must mend (no such bucket with the reason
/// kNoBucket, other 4xx), denied ones with the reason "access-denied" for refused credentials and
/// missing rights, transient ones for the rest (408, 429, 5xx, the network). Metadata names have
/// lower-case letters and "-", values printable ASCII.
class Bucket {
 public:
  virtual ~Bucket() = default;
  /// Asks for the bucket itself; without side effects.
  virtual base::Result<> check(const base::Context& context) = 0;
  virtual base::Result<> create(const base::Context& context) = 0;
  virtual base::Result<std::optional<ObjectInfo>> head(const base::Context& context,
                                                       const std::string& key) = 0;
  virtual base::Result<> put(const base::Context& context, const std::string& key,
                             std::string_view body, const ObjectMeta& meta) = 0;
  virtual base::Result<std::unique_ptr<Upload>> start_upload(const base::Context& context,
                                                             const std::string& key,
                                                             const ObjectMeta& meta) = 0;
  virtual base::Result<std::optional<std::string>> get(const base::Context& context,
                                                       const std::string& key) = 0;
  /// A missing object is a success.
  virtual base::Result<> remove(const base::Context& context, const std::string& key) = 0;
  /// All objects whose key begins with `prefix`, in key order.
  virtual base::Result<std::vector<ObjectInfo>> list(const base::Context& context,
                                                     const std::string& prefix) = 0;
};

}  // namespace kollect::sinks::objects
