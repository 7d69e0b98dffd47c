// What the status of our objects says, in a word.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"

namespace kollect::install {

struct State {
  /// "Ready", "Partly" (some sinks fail), "Degraded", "Waiting", "Pending" (a change that no
  /// operator has looked at yet), "Unseen" (no operator has ever looked), "Deleting", "-" (nothing
  /// is said of it).
  std::string word;
  std::string reason;
  std::string message;
  [[nodiscard]] bool is_bad() const {
    return word == "Degraded" || word == "Partly" || word == "Unseen" || word == "Pending";
  }
};

/// Whether the operator looks at objects of this kind by themselves: profiles and scopes are only
/// read for others.
bool is_looked_at(std::string_view kind);
/// A condition of an object or of an entry of sinkExports; nullptr: there is none.
const base::json::Value* find_condition(const base::json::Value& status, std::string_view type);
State state_of(const base::json::Value& object);

/// The text, number or list at a path of members; "", `otherwise` or an empty list when there is
/// none.
std::string text_at(const base::json::Value& object, std::initializer_list<std::string_view> path);
std::int64_t number_at(const base::json::Value& object,
                       std::initializer_list<std::string_view> path, std::int64_t otherwise = 0);
const std::vector<base::json::Value>& list_at(const base::json::Value& object,
                                              std::initializer_list<std::string_view> path);

/// "a, b,,a" to {"a", "b"}: the lists of flags.
std::vector<std::string> comma_list(std::string_view text);

std::string namespace_in(const base::json::Value& object);
std::string name_in(const base::json::Value& object);
/// "shop/all", or the name alone.
std::string place_of(const base::json::Value& object);
/// A text of the status, or "".
std::string status_text(const base::json::Value& object, std::string_view field);
std::optional<std::int64_t> status_number(const base::json::Value& object, std::string_view field);

}  // namespace kollect::install
