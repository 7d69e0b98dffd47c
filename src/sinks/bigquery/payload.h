// A row as the text that BigQuery prints for its JSON value.
//
// TO_JSON_STRING sorts keys and writes no blanks, so both sides can hash the same bytes and a row
// that did not change is recognised without sending it. A text that differs from the service's
// (numbers in exponent form are written in several ways) costs a transfer and nothing else, because
// the MERGE compares the values again.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/json/document.h"
#include "base/result.h"
#include "inventory/row.h"

namespace kollect::sinks::bigquery {

/// First 16 bytes of a SHA-256.
using Digest = std::array<char, 16>;

/// Writes one row after the other. One thread.
class Payload {
 public:
  /// The row's text; dies with the next call. Error: configuration, when the attributes are no
  /// JSON.
  base::Result<std::string_view> write(const inventory::RowView& row);

 private:
  void value(base::json::View view);
  void string(std::string_view text);

  std::string text_;
  base::json::Document document_;
};

/// Hash of resource_namespace and payload text, as kDigestSql computes it.
Digest digest_of(std::string_view resource_namespace, std::string_view payload);
/// From the hexadecimal text of a whole hash; anything else gives a digest of no row.
Digest read_digest(std::string_view hex);
/// Hexadecimal SHA-256 on the service, over a row T of the table.
inline constexpr std::string_view kDigestSql =
    "TO_HEX(SHA256(CONCAT(T.resource_namespace, '\\n', TO_JSON_STRING(T.payload))))";

}  // namespace kollect::sinks::bigquery
