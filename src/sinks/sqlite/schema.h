// Tables and views of the SQLite sink.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "sinks/sqlite/database.h"

namespace kollect::sinks::sqlite {

/// Creates what is missing. Errors: configuration when the table exists with other columns.
base::Result<> ensure_schema(Database& database, const std::string& table);
/// True when the table exists.
base::Result<bool> has_table(Database& database, std::string_view table);

}  // namespace kollect::sinks::sqlite
