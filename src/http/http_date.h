// Dates in HTTP fields (RFC 9110 5.6.7).
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"

namespace kollect::http {

/// Reads "Sun, 06 Nov 1994 08:49:37 GMT" and the two obsolete forms, "Sunday, 06-Nov-94 08:49:37
/// GMT" and "Sun Nov  6 08:49:37 1994". A year of two digits is the one that lies less than 50
/// years ahead of `now`. None when the text is no date; the day of the week is not compared with
/// it.
std::optional<base::WallTime> parse_http_date(std::string_view text, base::WallTime now);

}  // namespace kollect::http
