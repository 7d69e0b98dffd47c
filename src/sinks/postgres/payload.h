// A row as the text that PostgreSQL itself prints for its jsonb value.
//
// Both sides can then hash the same bytes: a row that did not change is recognised without sending
// it. A text that differs from the server's costs a transfer and nothing else, because the server
// compares the values again before it writes. Form (PostgreSQL 12 to 17, jsonb output): keys sorted
// by length and then bytewise, ", " and ": " between, numbers in plain decimal, control characters
// escaped.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json/document.h"
#include "base/result.h"
#include "inventory/row.h"

namespace kollect::sinks::postgres {

/// First 16 bytes of a SHA-256.
using Digest = std::array<char, 16>;

/// Writes one row after the other. One thread.
class Payload {
 public:
  /// The row's text; dies with the next call. Error: configuration, when the attributes are no
  /// JSON.
  base::Result<std::string_view> write(const inventory::RowView& row);
  /// True when the last row held a U+0000, which jsonb cannot: U+FFFD stands in its place (K-46).
  [[nodiscard]] bool replaced() const { return replaced_; }
  /// Attribute of the first replacement; empty when it was in the row's own fields.
  [[nodiscard]] const std::string& replaced_in() const { return replaced_in_; }

 private:
  void value(base::json::View view);
  void object(base::json::View view);
  void string(std::string_view text);
  void number(base::json::View view);
  void member(std::string_view quoted_key, std::string_view text);

  std::string text_;
  base::json::Document document_;
  bool replaced_ = false;
  std::string replaced_in_;
};

/// Text for a text column: valid UTF-8 without U+0000.
std::string column_text(std::string_view text);

/// Hash of resource_namespace and payload text, as kDigestSql computes it.
Digest digest_of(std::string_view resource_namespace, std::string_view payload);
/// The same on the server, over a row `t` of the table.
inline constexpr std::string_view kDigestSql =
    "pg_catalog.substr(pg_catalog.sha256(pg_catalog.convert_to("
    "t.resource_namespace || E'\\n' || t.payload::text, 'UTF8')), 1, 16)";

}  // namespace kollect::sinks::postgres
