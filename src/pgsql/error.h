// From SQLSTATE and connection failures to errors (spec: sinks 11.3, 16.3).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace kollect::pgsql {

/// What a failed statement means. `doing` and `where` (the table) are ours; the server's own text
/// is never used: it may hold values, users and databases. `object` is a name of the schema that
/// the server pointed at (constraint, column), may be empty.
///
/// Retryable: 08, 40, 53, 55, 57, 58, 25 (a standby), XX and whatever is not known. Denied: 28 and
/// 42501. Terminal: 22, 23, 42, 54, 0A. Configuration: 3D, 3F. Reasons: "lock-conflict" for 40001
/// and 40P01, "duplicate-key" for 21000, "table-missing" for 42P01, "timeout", "auth", "forbidden".
base::Error statement_error(std::string_view doing, std::string_view where,
                            std::string_view sqlstate, std::string_view object);

/// What a failed connection attempt means, from libpq's message (made with verbosity "sqlstate").
/// Its text names hosts, users and databases, so it is only looked at, never passed on.
base::Error connect_error(std::string_view message);

/// The connection was lost between two words.
base::Error lost_error(std::string_view doing, std::string_view where);

}  // namespace kollect::pgsql
