// Bytes of the files of a pack.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/result.h"
#include "sinks/files/folder.h"
#include "sinks/git/oid.h"

namespace kollect::sinks::git {

/// Writes all of the text at this place of the file, which errors call `shown`.
base::Result<> write_at(const Fd& file, off_t at, std::string_view text, std::string_view shown);

/// SHA-1 of all that the file holds.
base::Result<Oid> sha1_of(const Fd& file, std::string_view shown);

}  // namespace kollect::sinks::git
