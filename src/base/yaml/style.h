// How a string is spelled in YAML: the decisions, apart from the writing.
#pragma once

#include <cstdint>
#include <string_view>

namespace kollect::base::yaml {

enum class Style : std::uint8_t { kPlain, kSingleQuoted, kDoubleQuoted, kLiteral };

/// Style of a string in block context (spec: sinks 4.1). `text` is UTF-8.
Style choose_style(std::string_view text);

/// True when a YAML 1.1 or 1.2 reader would take the plain text for something else than a string.
bool reads_as_other_type(std::string_view text);

/// True when a character cannot stand raw in our YAML: controls, tab, CR, line separators, BOM,
/// non-characters and everything outside the Basic Multilingual Plane.
bool must_be_escaped(char32_t c);

/// Decodes the character at `at` of valid UTF-8 and moves behind it.
char32_t next_character(std::string_view text, std::size_t& at);

}  // namespace kollect::base::yaml
