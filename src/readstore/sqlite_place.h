// A SQLite file that others write.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "readstore/session.h"

namespace kollect::readstore {

struct SqliteStore {
  std::filesystem::path file;
  std::string table = "inventory";
};

/// Opens nothing yet. The file may be replaced, go and come back: a session is always on the file
/// that has the name now. Sessions read while a sink writes and never hold it up.
std::unique_ptr<Place> sqlite_place(SqliteStore store);

}  // namespace kollect::readstore
