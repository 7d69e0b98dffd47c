// Names of tables and indexes within PostgreSQL's limit.
#pragma once

#include <string>
#include <string_view>

namespace kollect::pgsql {

/// `table` and a suffix within PostgreSQL's 63 bytes: a name that is too long is cut and gets a
/// hash, so that two names stay two.
std::string companion_name(std::string_view table, std::string_view suffix);

}  // namespace kollect::pgsql
