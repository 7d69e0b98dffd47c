// What an evaluation computes once and uses again: compiled patterns and time zones.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "cel/regex.h"
#include "cel/timezone.h"

namespace kollect::cel {

/// One belongs to each program, filled at compile time with what the expression names itself, and
/// one to each evaluation that meets others.
struct EvaluationCache {
  std::map<std::string, std::unique_ptr<Regex>, std::less<>> patterns;
  std::map<std::string, std::unique_ptr<TimeZone>, std::less<>> zones;
};

}  // namespace kollect::cel
