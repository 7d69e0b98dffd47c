// Makes the indexes of docs/read-api-stores.md: the only thing of this room that writes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "readstore/store.h"

namespace kollect::readstore {

/// The statements for a store that nobody has looked at: with those of the history.
base::Result<std::vector<std::string>> index_statements_of(
    const StoreAddress& address, const std::vector<std::string>& attributes, bool search);

/// Runs what the store lacks, on a connection that writes; sinks wait meanwhile (SQLite) or go on
/// (PostgreSQL: the table is not locked against writers). `tell` gets each statement before it
/// runs.
base::Result<> create_indexes(const base::Context& context, const StoreAddress& address,
                              const std::vector<std::string>& attributes, bool search,
                              const std::function<void(std::string_view)>& tell);

}  // namespace kollect::readstore
