// What is wrong with an object, for the overview.
#pragma once

#include <compare>
#include <optional>
#include <string>

#include "base/json/value.h"

namespace kollect::readapi {

/// The worst condition of one object. Ordered: worst first, then what has lasted longest.
struct Problem {
  int rank = 0;  ///< 0: worst
  std::string since;
  std::string kind;
  std::string ns;
  std::string name;
  std::string type;
  std::string reason;
  std::string message;
  auto operator<=>(const Problem&) const = default;

  [[nodiscard]] base::json::Value json() const;
};

/// Of a ResourceStatus; none: nothing is wrong, or it is meant to be so (suspended).
std::optional<Problem> problem_of(const base::json::Value& status);

}  // namespace kollect::readapi
