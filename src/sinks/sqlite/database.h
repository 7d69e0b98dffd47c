// The handles of SQLite under the names of this folder.
#pragma once

#include "dbfile/database.h"

namespace kollect::sinks::sqlite {

using dbfile::Database;
using dbfile::quote_name;
using dbfile::Statement;
using dbfile::Transaction;

}  // namespace kollect::sinks::sqlite
