// The collection and its index (spec: sinks 12; K-13, K-43).
#pragma once

#include <string>

#include "sinks/mongo/client.h"

namespace kollect::sinks::mongo {

/// Looks whether the collection exists. Error: as Client::failed().
base::Result<bool> collection_exists(Client& client, const std::string& database,
                                     const std::string& collection);

/// The collection must exist. Error: terminal, reason "table-missing".
base::Result<> require_collection(Client& client, const std::string& database,
                                  const std::string& collection);

/// Creates the collection and, where there is neither the five-field index nor the four-field one
/// (without cluster), a unique index (cluster, inventory_namespace, inventory_name, target_name,
/// source_uid). What exists is never changed; a user who may not create what exists is fine.
base::Result<> ensure_collection(Client& client, const std::string& database,
                                 const std::string& collection);

}  // namespace kollect::sinks::mongo
