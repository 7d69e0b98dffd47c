// What the table of versions tells: changes and the versions of an object.
#pragma once

#include <vector>

#include "readapi/source.h"
#include "readstore/session.h"

namespace kollect::readstore {

/// See readapi::Source.
base::Result<readapi::ChangePage> read_changes(Session& session, bool postgres,
                                               const readapi::ChangeRequest& request);
base::Result<std::vector<readapi::RowVersion>> read_versions(Session& session, bool postgres,
                                                             const readapi::RowFilter& object,
                                                             const readapi::Sight& sight);

}  // namespace kollect::readstore
