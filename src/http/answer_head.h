// The head of an answer as bytes. Internal to the room.
#pragma once

#include <string>
#include <string_view>

#include "http/server.h"

namespace kollect::http {

/// Whether an answer of that status has a body (RFC 9110 6.4.1).
bool has_body(int status);
/// "name: value" with its line end; no value can begin a new line.
void append_header(std::string& out, std::string_view name, std::string_view value);
/// The status line.
std::string start_of_head(int status);

}  // namespace kollect::http
