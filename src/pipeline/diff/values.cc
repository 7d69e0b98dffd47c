#include "pipeline/diff/values.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/json/write.h"

namespace kollect::pipeline {

namespace {

using base::json::Array;
using base::json::Object;
using base::json::Value;

std::string below(const std::string& path, const std::string& key) {
  const bool plain = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  if (plain) {
    return path.empty() ? key : path + "." + key;
  }
  std::string quoted;
  base::json::append_string(quoted, key);
  return path + "[" + quoted + "]";
}

void diff_objects(const std::string& path, const Object& before, const Object& after,
                  std::vector<ValueChange>& out) {
  std::set<std::string> keys;
  for (const auto& [key, value] : before) {
    keys.insert(key);
  }
  for (const auto& [key, value] : after) {
    keys.insert(key);
  }
  for (const std::string& key : keys) {
    const Value* old_value = before.find(key);
    const Value* new_value = after.find(key);
    if (old_value == nullptr) {
      out.push_back({below(path, key), std::nullopt, *new_value});
    } else if (new_value == nullptr) {
      out.push_back({below(path, key), *old_value, std::nullopt});
    } else {
      diff_values(below(path, key), *old_value, *new_value, out);
    }
  }
}

/// Elements by name, or none when they have no names that tell them apart.
std::optional<std::map<std::string, const Value*>> by_name(const Array& list,
                                                           std::string_view key) {
  std::map<std::string, const Value*> named;
  for (const Value& element : list) {
    const std::string name(element.text(key));
    if (name.empty() || !named.emplace(name, &element).second) {
      return std::nullopt;
    }
  }
  return named;
}

bool diff_named(const std::string& path, const Array& before, const Array& after,
                std::string_view key, std::vector<ValueChange>& out) {
  const auto old_named = by_name(before, key);
  const auto new_named = by_name(after, key);
  if (!old_named || !new_named || old_named->empty() || new_named->empty()) {
    return false;
  }
  const std::size_t found = out.size();
  for (const auto& [name, value] : *old_named) {
    const std::string place = fmt::format("{}[{}={}]", path, key, name);
    if (const auto other = new_named->find(name); other == new_named->end()) {
      out.push_back({place, *value, std::nullopt});
    } else {
      diff_values(place, *value, *other->second, out);
    }
  }
  for (const auto& [name, value] : *new_named) {
    if (!old_named->contains(name)) {
      out.push_back({fmt::format("{}[{}={}]", path, key, name), std::nullopt, *value});
    }
  }
  if (out.size() == found) {  // same elements in another order
    out.push_back({path, Value(before), Value(after)});
  }
  return true;
}

void diff_arrays(const std::string& path, const Array& before, const Array& after,
                 std::vector<ValueChange>& out) {
  if (diff_named(path, before, after, "name", out) || diff_named(path, before, after, "key", out)) {
    return;
  }
  for (std::size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
    const std::string place = fmt::format("{}[{}]", path, i);
    if (i >= before.size()) {
      out.push_back({place, std::nullopt, after[i]});
    } else if (i >= after.size()) {
      out.push_back({place, before[i], std::nullopt});
    } else {
      diff_values(place, before[i], after[i], out);
    }
  }
}

}  // namespace

void diff_values(const std::string& path, const Value& before, const Value& after,
                 std::vector<ValueChange>& out) {
  if (before == after) {
    return;
  }
  if (before.is_object() && after.is_object()) {
    diff_objects(path, before.as_object(), after.as_object(), out);
  } else if (before.is_array() && after.is_array()) {
    diff_arrays(path, before.as_array(), after.as_array(), out);
  } else {
    out.push_back({path, before, after});
  }
}

}  // namespace kollect::pipeline
