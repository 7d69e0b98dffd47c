// Bytes of files that are written and read at places.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <span>
#include <string_view>

#include "base/result.h"
#include "sinks/files/folder.h"

namespace kollect::sinks {

/// Writes all of the text at this place of the file, which errors call `shown`.
base::Result<> write_at(const Fd& file, off_t at, std::string_view text, std::string_view shown);

/// Fills `to` from this place of the file; a file that ends before is an error.
base::Result<> read_at(const Fd& file, off_t at, std::span<char> to, std::string_view shown);

/// An empty file without a name; `path` is where it is made. Gone with its handle. What is left
/// there is removed; callers with one path at the same time get a file each.
base::Result<Fd> nameless_file(const std::filesystem::path& path);

}  // namespace kollect::sinks
