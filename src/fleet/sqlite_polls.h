// Polls that were noted, in a file of SQLite beside a fleet's own: writing them must not look like
// a change of the fleet to other processes.
#pragma once

#include <filesystem>

#include "dbfile/database.h"
#include "fleet/polls.h"

namespace kollect::fleet {

class SqlitePolls {
 public:
  static base::Result<SqlitePolls> open(const std::filesystem::path& file);

  base::Result<> add(const PollNotes& notes);
  base::Result<PollNotes> all();

 private:
  explicit SqlitePolls(dbfile::Database database) : database_(std::move(database)) {}
  dbfile::Database database_;
};

}  // namespace kollect::fleet
