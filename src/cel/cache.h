// What an evaluation computes once and uses again: compiled patterns and time zones.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "cel/regex.h"
#include "cel/timezone.h"

namespace kollect::cel {

/// Small and per evaluation: patterns and zones known at compile time are kept in the program
/// instead.
struct EvaluationCache {
  std::map<std::string, std::unique_ptr<Regex>, std::less<>> patterns;
  std::map<std::string, std::unique_ptr<TimeZone>, std::less<>> zones;
};

}  // namespace kollect::cel
