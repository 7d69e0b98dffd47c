// Current rows as documents in MongoDB (spec: sinks 12).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/types.h"
#include "sinks/mongo/access.h"
#include "sinks/sink.h"

namespace kollect::sinks {

struct MongoOptions {
  mongo::Access access;
  std::string database;
  std::string collection;
  /// Name of the collection with {cluster}, {namespace}, {name}; empty: `collection`.
  std::string naming_template;
  bool ensure = true;  ///< create the collection and its index where they are missing
  mongo::BatchLimits limits;
};

/// One document per row (mongo/document.h) under a unique index that begins with the cluster
/// (K-43). Unchanged rows are not written again: exported_at tells when a row last changed (K-45).
///
/// There is no transaction: new and changed rows are written first, stale ones removed last, and a
/// pass that broke off is repaired by the next one. A lost connection is opened anew by the next
/// call. Memory is some 32 bytes per row and one batch. MongoDB 5 or later, because of keys with
/// dots and dollars.
std::unique_ptr<Sink> make_mongo_sink(MongoOptions options);

/// Options from a sink's spec; `auth` is the Secret of its databaseRef. Nothing is contacted.
/// Errors: configuration; they name the Secret and its keys, never a value.
base::Result<MongoOptions> mongo_options(const api::DatabaseSink& sink, const SecretData& auth,
                                         const std::optional<std::string>& ca_pem);

}  // namespace kollect::sinks
