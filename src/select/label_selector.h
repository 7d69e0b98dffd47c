// Standard label selectors, compiled (spec: selection 3).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/types.h"
#include "base/json/document.h"
#include "base/result.h"

namespace kollect::select {

using Labels = std::map<std::string, std::string>;

class LabelSelector {
 public:
  /// Fits everything.
  LabelSelector() = default;
  /// Error (configuration): bad key, value or operator; the message names the part.
  static base::Result<LabelSelector> compile(const api::LabelSelector& selector);

  [[nodiscard]] bool empty() const { return requirements_.empty(); }
  [[nodiscard]] bool matches(const Labels& labels) const;
  /// `labels` is the object's metadata.labels, none when it has none. Does not allocate.
  [[nodiscard]] bool matches(std::optional<base::json::View> labels) const;
  /// Text for the API server's labelSelector parameter.
  [[nodiscard]] std::string to_query() const;

 private:
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist };
  struct Requirement {
    std::string key;
    Operator op;
    std::vector<std::string> values;
  };
  template <class Lookup>
  [[nodiscard]] bool matches_with(const Lookup& lookup) const;
  std::vector<Requirement> requirements_;
};

}  // namespace kollect::select
