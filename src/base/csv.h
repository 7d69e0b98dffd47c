// Comma-separated values (RFC 4180).
#pragma once

#include <string>
#include <string_view>

namespace kollect::base {

/// True for text that a field holds in quotes only.
bool csv_needs_quotes(std::string_view text);
/// The field in quotes, those within it doubled; the text is as it is otherwise.
void append_csv_quoted(std::string& out, std::string_view text);

}  // namespace kollect::base
