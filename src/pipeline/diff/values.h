// Differences of two JSON values, path by path.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json/value.h"

namespace kollect::pipeline {

/// One place where two values differ. Absent on the side where the path does not exist.
struct ValueChange {
  std::string path;
  std::optional<base::json::Value> before;
  std::optional<base::json::Value> after;
};

/// Appends the places below `path` ("attributes") where the values differ. Members are compared by
/// key; elements of lists by their `name` or `key` member when every element of both lists has a
/// different one, else by position.
void diff_values(const std::string& path, const base::json::Value& before,
                 const base::json::Value& after, std::vector<ValueChange>& out);

}  // namespace kollect::pipeline
