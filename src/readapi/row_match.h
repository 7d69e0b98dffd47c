// Whether a row is one that was asked for.
#pragma once

#include <string>
#include <string_view>

#include "readapi/item.h"
#include "readapi/source.h"

namespace kollect::readapi {

/// A filter with what the caller may see, for rows that lie in memory. One thread at a time. What
/// belongs to which inventory it does not know: `inventory` and its namespace are compared only
/// with what the row says.
class RowMatch {
 public:
  RowMatch(RowFilter filter, Sight sight);

  /// By everything but attributes.
  [[nodiscard]] bool keys(const SourceRow& row) const;
  /// By attributes and search.
  bool attributes(const SourceRow& row);
  bool matches(const SourceRow& row) { return keys(row) && attributes(row); }
  /// Something is asked for that only the attributes tell.
  [[nodiscard]] bool reads_attributes() const {
    return !filter_.attributes.empty() || !filter_.search.empty();
  }
  /// Every row matches.
  [[nodiscard]] bool everything() const { return everything_; }

 private:
  bool found(const SourceRow& row);

  const RowFilter filter_;
  const Sight sight_;
  const std::string search_;   ///< in lower case
  bool plain_search_ = false;  ///< stands in the text of JSON as it is
  bool everything_ = false;
  ColumnReader columns_;
};

/// ASCII letters are compared without their case.
bool contains_folded(std::string_view text, std::string_view lower);

}  // namespace kollect::readapi
