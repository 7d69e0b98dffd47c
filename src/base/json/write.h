// JSON text out: canonical, compact and indented.
#pragma once

#include <string>
#include <string_view>

#include "base/json/document.h"
#include "base/json/value.h"

namespace kollect::base::json {

/// Canonical JSON (spec: sinks 3): keys sorted bytewise, no white space, shortest numbers,
/// HTML-safe escapes.
void append_canonical(std::string& out, View view);
void append_canonical(std::string& out, const Value& value);
std::string canonical(View view);
std::string canonical(const Value& value);

/// The same spelling of scalars with members in their own order.
void append_compact(std::string& out, View view);
void append_compact(std::string& out, const Value& value);
std::string compact(const Value& value);
std::string compact(View view);

/// Two-space indent, ": " after keys, members in their own order, newline at the end; {} and []
/// when empty.
std::string pretty(View view);
std::string pretty(const Value& value);

/// A string in quotes with the escapes of canonical JSON; invalid UTF-8 becomes \ufffd.
void append_string(std::string& out, std::string_view text);
/// A number in canonical form: integers of 64 bits as they are, else shortest double (spec: sinks
/// 3).
void append_number(std::string& out, std::string_view json_number_text);
void append_double(std::string& out, double value);

}  // namespace kollect::base::json
