// What two trees do not have in common.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "sinks/git/object_store.h"

namespace kollect::sinks::git {

/// Calls `visit` with the path of everything that is no folder (file, link, submodule) and is in
/// one tree only or differs between them. Reads only folders that differ. Order: none. Error:
/// reason "damaged"; the first one of `visit`.
base::Result<> for_each_difference(const ObjectStore& store, const std::optional<Oid>& left,
                                   const std::optional<Oid>& right,
                                   const std::function<base::Result<>(std::string&& path)>& visit);

}  // namespace kollect::sinks::git
