// Widths of text in a terminal.
#pragma once

#include <string>
#include <string_view>

namespace kollect::top {

/// Fit for a terminal: control characters (escape sequences of somebody else among them) and
/// invalid bytes become "?", line ends and tabs a blank.
std::string printable(std::string_view text);
/// Columns that a printable text takes: 2 for wide characters, 0 for combining ones.
std::size_t cells(std::string_view text);
/// Exactly so many columns: cut (with "…" at the end) or filled with blanks behind it, or before
/// it with `right`.
std::string fit(std::string_view text, std::size_t columns, bool right = false);
/// At most so many columns, without filling.
std::string cut(std::string_view text, std::size_t columns);

}  // namespace kollect::top
