// Which columns the rows of an inventory have as a table, the same for Parquet and CSV (spec: sinks
// 10).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kollect::sinks::columns {

enum class Type : std::uint8_t { kText, kJson, kInteger, kDouble, kBoolean, kTime };

/// Where a column's values come from.
enum class Source : std::uint8_t {
  kCluster,
  kInventoryNamespace,
  kInventoryName,
  kTargetNamespace,
  kTargetName,
  kNamespace,
  kName,
  kUid,
  kKind,
  kGroup,
  kApiVersion,
  kExportedAt,
  kAttributes,
  kAttribute,  ///< one of the row's attributes
};

struct Column {
  std::string name;
  Type type = Type::kText;
  bool nullable = false;
  Source source = Source::kAttribute;
  std::string attribute = {};  ///< of kAttribute: its name, as the profile spells it
};

/// Attributes that get columns of their own when a sink names none.
std::vector<std::string> default_hot_attributes();

/// All columns, sorted by name. `hot` are the names as the sink has them: blank ones are dropped,
/// of those that differ in case alone the first stays, and column names that meet are numbered
/// (K-42). `declared` are types that profiles declare for attributes; a hot attribute that has none
/// there is text.
std::vector<Column> schema(const std::vector<std::string>& hot,
                           const std::map<std::string, std::string>& declared = {});

/// "attr_" and the name in lower case; `-`, `_` and `.` become `_`, other characters outside a-z
/// and 0-9 go; "attr_unknown" when nothing is left.
std::string attribute_column(std::string_view attribute);

/// Type of a column for a type that a profile declares: int, integer, long, int64; number, float,
/// double; bool, boolean; time, timestamp, date-time; list, array, map, object, json. Everything
/// else is text.
Type declared_type(std::string_view word);

}  // namespace kollect::sinks::columns
