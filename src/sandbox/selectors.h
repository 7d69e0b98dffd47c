// The labelSelector and fieldSelector parameters of lists and watches.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/document.h"
#include "sandbox/status.h"

namespace kollect::sandbox {

/// "a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1".
class LabelQuery {
 public:
  static Outcome<LabelQuery> parse(std::string_view text);
  [[nodiscard]] bool empty() const { return requirements_.empty(); }
  /// `labels` is metadata.labels, none when there is none.
  [[nodiscard]] bool matches(std::optional<base::json::View> labels) const;

 private:
  enum class Operator { kIn, kNotIn, kExists, kAbsent, kGreater, kLess };
  struct Requirement {
    std::string key;
    Operator op = Operator::kExists;
    std::vector<std::string> values;
  };
  static Outcome<Requirement> parse_one(std::string_view text);
  std::vector<Requirement> requirements_;
};

/// "metadata.name=x,status.phase!=Running". Which fields may stand there depends on the resource.
class FieldQuery {
 public:
  static Outcome<FieldQuery> parse(std::string_view text);
  [[nodiscard]] bool empty() const { return terms_.empty(); }
  /// A bad request for a field that is not in `selectable` (metadata.name and .namespace always
  /// are).
  [[nodiscard]] Outcome<> check(const std::vector<std::string>& selectable) const;
  [[nodiscard]] bool matches(base::json::View object) const;
  /// The value that a field must have, when the query says so.
  [[nodiscard]] std::optional<std::string> wanted(std::string_view field) const;

 private:
  struct Term {
    std::string field;
    std::vector<std::string> path;
    std::string value;
    bool equal = true;
  };
  std::vector<Term> terms_;
};

}  // namespace kollect::sandbox
