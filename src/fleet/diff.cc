#include "fleet/diff.h"

#include <algorithm>
#include <set>

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

/// A list of objects, each with an id of its own.
bool goes_by_id(const Value& list) {
  std::set<std::string_view> seen;
  return list.is_array() && std::ranges::all_of(list.as_array(), [&](const Value& one) {
           const Value* id = one.find("id");
           return id != nullptr && id->is_string() && seen.insert(id->as_string()).second;
         });
}

const Value* with_id(const Value& list, std::string_view id) {
  const auto& items = list.as_array();
  const auto found =
      std::ranges::find_if(items, [&](const Value& one) { return one.text("id") == id; });
  return found == items.end() ? nullptr : &*found;
}

class Walk {
 public:
  std::vector<Difference> found;

  void compare(const Value& before, const Value& after) {
    if (before == after) return;
    if (before.is_object() && after.is_object()) return objects(before, after);
    if (before.is_array() && after.is_array() && goes_by_id(before) && goes_by_id(after)) {
      if (lists(before, after)) return;
    }
    found.push_back({.path = path_, .before = before, .after = after});
  }

 private:
  void inside(const std::string& name, const Value* before, const Value* after) {
    path_.push_back(name);
    if (before != nullptr && after != nullptr) {
      compare(*before, *after);
    } else {
      found.push_back({.path = path_,
                       .before = before != nullptr ? *before : Value(),
                       .after = after != nullptr ? *after : Value()});
    }
    path_.pop_back();
  }
  void objects(const Value& before, const Value& after) {
    for (const auto& [key, value] : before.as_object()) inside(key, &value, after.find(key));
    for (const auto& [key, value] : after.as_object()) {
      if (before.find(key) == nullptr) inside(key, nullptr, &value);
    }
  }
  /// False: the order differs, and nothing else.
  bool lists(const Value& before, const Value& after) {
    const std::size_t known = found.size();
    for (const Value& one : before.as_array()) {
      inside(std::string(one.text("id")), &one, with_id(after, one.text("id")));
    }
    for (const Value& one : after.as_array()) {
      if (with_id(before, one.text("id")) == nullptr)
        inside(std::string(one.text("id")), nullptr, &one);
    }
    return found.size() > known;
  }

  std::vector<std::string> path_;
};

}  // namespace

std::vector<Difference> differences(const Value& before, const Value& after) {
  Walk walk;
  walk.compare(before, after);
  return std::move(walk.found);
}

Value to_value(const std::vector<Difference>& differences) {
  Array out;
  for (const Difference& one : differences) {
    Object entry;
    Array path;
    for (const std::string& step : one.path) path.emplace_back(step);
    entry.set("path", std::move(path));
    entry.set("before", one.before);
    entry.set("after", one.after);
    out.emplace_back(std::move(entry));
  }
  return out;
}

const Value* value_at(const Value& record, const std::vector<std::string>& path) {
  const Value* at = &record;
  for (const std::string& step : path) {
    at = at->is_array() ? with_id(*at, step) : at->find(step);
    if (at == nullptr) return nullptr;
  }
  return at;
}

void set_at(Value& record, const std::vector<std::string>& path, const Value& value) {
  Value* at = &record;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::string& step = path[i];
    const bool last = i + 1 == path.size();
    if (at->is_array()) {
      Array& list = at->as_array();
      const auto found =
          std::ranges::find_if(list, [&](const Value& one) { return one.text("id") == step; });
      if (last && value.is_null()) {
        if (found != list.end()) list.erase(found);
        return;
      }
      if (found == list.end()) {
        Object made;
        made.set("id", step);
        list.emplace_back(std::move(made));
        at = &list.back();
      } else {
        at = &*found;
      }
    } else {
      if (!at->is_object()) *at = Object{};
      if (last && value.is_null()) {
        at->as_object().erase(step);
        return;
      }
      at = &at->as_object()[step];
    }
  }
  *at = value;
}

}  // namespace kollect::fleet
