// The indexes that make pages of large tables quick: docs/read-api-stores.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "readstore/session.h"

namespace kollect::readstore {

struct IndexWishes {
  std::string schema = {};  ///< of PostgreSQL
  std::string table = "inventory";
  std::vector<std::string> attributes = {};  ///< to filter and sort by
  bool history = false;                      ///< the table of versions is there
  /// For searching: SQLite, and PostgreSQL with pg_trgm.
  bool search = false;
};

/// Statements that make what is missing; each may run for a while. Error (configuration): an
/// attribute whose name no index can have.
base::Result<std::vector<std::string>> index_statements(bool postgres, const IndexWishes& wishes);

/// Notes an index by the rest of its name behind the table's.
void note_index(Tables& tables, std::string_view suffix);

}  // namespace kollect::readstore
