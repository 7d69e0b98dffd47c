// Output columns and filters in the SQL of each database (docs/databases.md; spec: sinks 11.2, 15).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "readapi/source.h"
#include "readstore/session.h"

namespace kollect::readstore {

/// The columns by which rows lie together: a place is the first six, in canonical order behind
/// cluster and inventory; the last three differ only between profiles.
enum class Field {
  kCluster,
  kInventoryNamespace,
  kInventory,
  kTargetNamespace,
  kTarget,
  kNamespace,
  kGroup,
  kVersion,
  kKind,
  kName,
  kUid,
  kExportedAt,
  kAttribute,
};
inline constexpr std::size_t kPlaceFields = 6;
inline constexpr std::size_t kTallyFields = 9;  ///< place and group, version, kind

struct Column {
  Field field = Field::kName;
  std::string attribute;  ///< of kAttribute
  [[nodiscard]] bool in_tally() const { return static_cast<std::size_t>(field) < kTallyFields; }
};

/// Reads a name of the API: "name", "attributes.replicas". Error: configuration, with the names
/// there are.
base::Result<Column> read_column(std::string_view name);

/// What stands in the WHERE of a request.
class Dialect {
 public:
  Dialect(bool postgres, const Tables& tables, std::string alias = "")
      : postgres_(postgres), tables_(tables), alias_(std::move(alias)) {}

  /// The column's value. As text, as the indexes have it.
  [[nodiscard]] std::string value(Field field) const;
  /// The same with the order of bytes.
  [[nodiscard]] std::string ordered(Field field) const;
  /// The value of an attribute as the database sorts it.
  [[nodiscard]] std::string attribute(Query& query, std::string_view name) const;
  /// Its text: a string as it is, anything else as JSON, "" where it is missing.
  [[nodiscard]] std::string attribute_text(Query& query, std::string_view name) const;
  [[nodiscard]] std::string payload() const { return alias_ + "payload"; }
  /// The payload as JSON text.
  [[nodiscard]] std::string payload_text() const {
    return postgres_ ? payload() + "::text" : payload();
  }
  /// A column with a time as RFC 3339.
  [[nodiscard]] std::string time(std::string_view column) const;
  /// A parameter with a time.
  [[nodiscard]] std::string moment(Query& query, base::WallTime time) const;
  /// Of the history: rows that stood at that moment; ends with AND.
  [[nodiscard]] std::string stood_at(Query& query, base::WallTime time) const;
  /// `field` in canonical order behind cluster and inventory, each with `direction` behind it.
  [[nodiscard]] std::string canonical(std::string_view direction = "") const;

  /// "1 = 1" and what `filter` and `sight` ask for.
  [[nodiscard]] std::string where(Query& query, const readapi::RowFilter& filter,
                                  const readapi::Sight& sight) const;
  [[nodiscard]] bool postgres() const { return postgres_; }
  /// Name of the column that tells since when a row stands as it does.
  void set_since(std::string column) { since_ = std::move(column); }
  /// Where an index on texts is there, searching begins with it. Pays where the whole table would
  /// be searched.
  void use_search_index() { search_index_ = postgres_ || !tables_.search.empty(); }
  /// SQLite: it is there and can find this text.
  [[nodiscard]] bool searches_by_index(std::string_view search) const;
  [[nodiscard]] std::string since() const { return alias_ + since_; }

 private:
  [[nodiscard]] std::string equals(Query& query, Field field, std::string_view text) const;
  [[nodiscard]] std::string one_of(Query& query, Field field,
                                   const std::vector<std::string>& texts) const;
  [[nodiscard]] std::string attribute_is(Query& query, std::string_view name,
                                         std::string_view text) const;
  [[nodiscard]] std::string found(Query& query, std::string_view search) const;
  [[nodiscard]] std::string path(Query& query, std::string_view attribute) const;

  bool postgres_;
  const Tables& tables_;
  std::string alias_;
  std::string since_ = "exported_at";
  bool search_index_ = false;
};

/// Holds a text that no row can have (U+0000, bytes that are no UTF-8): nothing is found.
bool impossible(const readapi::RowFilter& filter);
/// Asks for nothing but columns of the tally.
bool in_tally(const readapi::RowFilter& filter);
/// An unmistakable text of filter and sight, for caches.
std::string key_of(const readapi::RowFilter& filter, const readapi::Sight& sight);
/// The text of a time column of SQLite: UTC, fixed width.
std::string fixed_time(base::WallTime time);
/// An attribute's name that can stand in a path of SQLite as it is.
bool plain_attribute(std::string_view name);

}  // namespace kollect::readstore
