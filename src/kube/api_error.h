// Answers and transport errors of an API server as our errors: the one place where they are mapped.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "http/client.h"

namespace kollect::kube {

/// The server's own words: a Status document's message, else the beginning of the text; one line.
std::string status_message(std::string_view body);
/// The error for an answer that is no success. Reasons: unauthorized, forbidden, not-found,
/// conflict, already-exists (409), invalid (422, with what is said about single fields), expired
/// (410), transient (429, 5xx), rejected. `label` says what was asked for.
base::Error error_of(std::string_view label, int status, std::string_view body);
/// A transport error with the reasons users meet: unreachable, timeout, transient.
base::Error transport_error(const base::Error& error);
/// 429 and 5xx pass by themselves.
bool is_passing(int status);
/// Wait before try `attempt` (from 0): what Retry-After says (seconds, or a date that is still to
/// come; a minute at most), else 0.5 s doubling to 10 s (spec: pipeline 7.4; RFC 9110 10.2.3).
base::Duration retry_delay(std::uint32_t attempt, const std::optional<std::string>& retry_after,
                           base::WallTime now);

}  // namespace kollect::kube
