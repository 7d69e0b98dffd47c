#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/strings.h"
#include "sandbox/patch.h"

namespace kollect::sandbox {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

using Steps = std::vector<std::string>;

Status does_not_fit() {
  Status status;
  status.code = 422;
  status.reason = "Invalid";
  status.message = "the server rejected our request due to an error in our request";
  return status;
}

/// RFC 6901.
std::optional<Steps> read_pointer(const Value* pointer) {
  if (pointer == nullptr || !pointer->is_string()) return std::nullopt;
  const std::string& text = pointer->as_string();
  Steps steps;
  if (text.empty()) return steps;
  if (!text.starts_with('/')) return std::nullopt;
  for (const auto part : base::split(std::string_view(text).substr(1), '/')) {
    steps.push_back(base::replace_all(base::replace_all(std::string(part), "~1", "/"), "~0", "~"));
  }
  return steps;
}

/// Index in a list; `end` when one behind the last may be meant.
std::optional<std::size_t> read_index(const std::string& step, std::size_t size, bool end) {
  if (step == "-") return end ? std::optional(size) : std::nullopt;
  std::size_t index = 0;
  const auto [stop, error] = std::from_chars(step.data(), step.data() + step.size(), index);
  if (error != std::errc() || stop != step.data() + step.size()) return std::nullopt;
  if (index > size || (index == size && !end)) return std::nullopt;
  return index;
}

Value* step_into(Value& from, const std::string& step) {
  if (from.is_object()) return from.find(step);
  if (!from.is_array()) return nullptr;
  const auto index = read_index(step, from.as_array().size(), false);
  return index ? &from.as_array()[*index] : nullptr;
}

Value* walk(Value& root, const Steps& steps, std::size_t count) {
  Value* at = &root;
  for (std::size_t i = 0; i < count && at != nullptr; ++i) at = step_into(*at, steps[i]);
  return at;
}

bool add(Value& root, const Steps& steps, Value value) {
  if (steps.empty()) {
    root = std::move(value);
    return true;
  }
  Value* parent = walk(root, steps, steps.size() - 1);
  if (parent == nullptr) return false;
  if (parent->is_object()) {
    parent->as_object().set(steps.back(), std::move(value));
    return true;
  }
  if (!parent->is_array()) return false;
  Array& list = parent->as_array();
  const auto index = read_index(steps.back(), list.size(), true);
  if (!index) return false;
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
  return true;
}

bool take(Value& root, const Steps& steps, Value* taken) {
  if (steps.empty()) return false;
  Value* parent = walk(root, steps, steps.size() - 1);
  Value* found = parent != nullptr ? step_into(*parent, steps.back()) : nullptr;
  if (found == nullptr) return false;
  if (taken != nullptr) *taken = *found;
  if (parent->is_object()) {
    parent->as_object().erase(steps.back());
  } else {
    Array& list = parent->as_array();
    list.erase(list.begin() + (found - list.data()));
  }
  return true;
}

bool apply_one(Value& target, std::string_view op, const Steps& path, const Steps& from,
               const Value& value) {
  if (op == "add") return add(target, path, value);
  if (op == "remove") return take(target, path, nullptr);
  if (op == "replace") {
    Value* found = walk(target, path, path.size());
    if (found != nullptr) *found = value;
    return found != nullptr;
  }
  if (op == "test") {
    const Value* found = walk(target, path, path.size());
    return found != nullptr ? *found == value : value.is_null();
  }
  if (op == "copy") {
    const Value* found = walk(target, from, from.size());
    return found != nullptr && add(target, path, Value(*found));
  }
  Value moved;
  return take(target, from, &moved) && add(target, path, std::move(moved));
}

}  // namespace

Outcome<> json_patch(Value& target, const Value& patch) {
  if (!patch.is_array()) return std::unexpected(bad_request("a JSON patch is a list"));
  for (const Value& one : patch.as_array()) {
    const std::string_view op = one.text("op");
    const auto path = read_pointer(one.find("path"));
    const auto from = read_pointer(one.find("from"));
    const Value* value = one.find("value");
    const bool needs_from = op == "move" || op == "copy";
    const bool needs_value = op == "add" || op == "replace" || op == "test";
    if (!path || (!needs_from && !needs_value && op != "remove") || (needs_from && !from)) {
      return std::unexpected(bad_request("error decoding patch: malformed operation"));
    }
    const Value none;
    if (!apply_one(target, op, *path, from.value_or(Steps{}), value != nullptr ? *value : none)) {
      return std::unexpected(does_not_fit());
    }
  }
  return {};
}

}  // namespace kollect::sandbox
