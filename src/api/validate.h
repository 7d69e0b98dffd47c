// Schema walk shared by codec.cc's public functions. Internal to the room.
#pragma once

#include <string>
#include <vector>

#include "api/codec.h"
#include "api/schema.h"

namespace kollect::api {

/// Steps 1 to 3 of spec crds 2.2 on one object of the given schema; paths of dropped members go to
/// `pruned`.
void prune_and_default(const Schema& schema, base::json::Value& value, const std::string& path,
                       std::vector<std::string>& pruned);
/// Step 4; errors in the order of the walk.
void validate(const Schema& schema, const base::json::Value& value, const std::string& path,
              std::vector<SchemaError>& errors);

}  // namespace kollect::api
