// What a request asks for, read from its query (spec: runtime 13.2).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "readapi/source.h"

namespace kollect::readapi {

using Parameters = std::multimap<std::string, std::string>;

inline constexpr std::uint64_t kUsualLimit = 500;
inline constexpr std::uint64_t kMostLimit = 5000;

/// Of every route that gives rows.
struct Query {
  RowFilter filter;
  Order order;
  std::uint64_t limit = kUsualLimit;
  std::uint64_t offset = 0;
  std::optional<base::WallTime> at;
  bool bounded = false;  ///< RowRequest::bounded
  /// Members of an item that are wanted, "uid" always among them; empty: all.
  std::vector<std::string> fields;
};

/// Errors: configuration, says which parameter is wrong. Limits that are none are the usual ones,
/// and parameters that nobody knows are no error, as the spec has it.
base::Result<Query> read_query(const Parameters& parameters);

/// Of the parameters that no route knows the first one, with what was probably meant, for a header
/// `Warning`: a misspelt filter gives all rows. "" where all are known.
std::string unknown_parameter(const Parameters& parameters);

/// The first value, without blanks at its ends; "" where there is none.
std::string first_of(const Parameters& parameters, const std::string& name);
/// Error: configuration, where it is there and no RFC 3339.
base::Result<std::optional<base::WallTime>> read_time(const Parameters& parameters,
                                                      const std::string& name);
/// The usual number where it is missing, no number or zero; at most `most`.
std::uint64_t read_limit(const Parameters& parameters, std::uint64_t usual, std::uint64_t most);
std::uint64_t read_offset(const Parameters& parameters);
/// Column names, comma separated. Error: configuration, names the column that there is not.
base::Result<std::vector<std::string>> read_columns(const std::string& parameter,
                                                    const std::string& text);

/// "x" of "attributes.x"; none for another column.
std::optional<std::string_view> attribute_of(std::string_view column);

}  // namespace kollect::readapi
