#include "manager/status_draft.h"

#include <algorithm>

#include "base/json/write.h"

namespace kollect::manager {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

/// A merge patch: members that went are null, at every depth.
Value difference(const Object& before, const Object& after) {
  Object changed;
  for (const auto& [key, value] : after) {
    const Value* old = before.find(key);
    if (old != nullptr && *old == value) continue;
    const bool objects = old != nullptr && old->is_object() && value.is_object();
    changed.set(key, objects ? difference(old->as_object(), value.as_object()) : value);
  }
  for (const auto& [key, value] : before) {
    if (!after.contains(key)) changed.set(key, Value());
  }
  return {std::move(changed)};
}

}  // namespace

StatusDraft::StatusDraft(const Value& object, base::WallTime now) : now_(now) {
  const Value* status = object.find("status");
  before_ = status != nullptr && status->is_object() ? *status : Value(Object());
  status_ = before_;
  const Value* generation = object.at_path({"metadata", "generation"});
  if (generation != nullptr && generation->is_int()) generation_ = generation->as_int();
}

Array& StatusDraft::conditions() {
  Value& list = status_.as_object()["conditions"];
  if (!list.is_array()) list = Value(Array());
  return list.as_array();
}

Value StatusDraft::make(const Condition& condition, const Value* before) const {
  Object made;
  const bool same = before != nullptr && before->text("status") == condition.status &&
                    !before->text("lastTransitionTime").empty();
  made.set("lastTransitionTime", same ? Value(before->text("lastTransitionTime"))
                                      : Value(base::format_rfc3339_seconds(now_)));
  made.set("message", condition.message);
  if (generation_ > 0) made.set("observedGeneration", generation_);
  made.set("reason", condition.reason);
  made.set("status", condition.status);
  made.set("type", condition.type);
  return {made};
}

void StatusDraft::set(const Condition& condition) {
  Array& list = conditions();
  const auto it = std::ranges::find_if(
      list, [&](const Value& one) { return one.text("type") == condition.type; });
  if (it == list.end()) {
    list.push_back(make(condition, nullptr));
  } else {
    *it = make(condition, &*it);
  }
}

void StatusDraft::drop(std::string_view type) {
  if (status_.find("conditions") == nullptr) return;
  std::erase_if(conditions(), [&](const Value& one) { return one.text("type") == type; });
}

void StatusDraft::set_field(std::string_view name, Value value) {
  if (value.is_null()) {
    status_.as_object().erase(name);
  } else {
    status_.as_object().set(std::string(name), std::move(value));
  }
}

const Value* StatusDraft::field(std::string_view name) const {
  return status_.find(name);
}

std::string StatusDraft::reason_of(std::string_view type, std::string_view status) const {
  const Value* list = status_.find("conditions");
  if (list == nullptr || !list->is_array()) return {};
  for (const Value& one : list->as_array()) {
    if (one.text("type") == type && one.text("status") == status) {
      return std::string(one.text("reason"));
    }
  }
  return {};
}

Value StatusDraft::conditions_like(const Value* before, const Condition& condition) const {
  const Value* present = nullptr;
  if (before != nullptr && before->is_array()) {
    for (const Value& one : before->as_array()) {
      if (one.text("type") == condition.type) present = &one;
    }
  }
  Array list;
  list.push_back(make(condition, present));
  return {list};
}

std::optional<Value> StatusDraft::patch() {
  if (generation_ > 0 && tells_generation_) set_field("observedGeneration", generation_);
  if (status_ == before_) return std::nullopt;
  Object patch;
  patch.set("status", difference(before_.as_object(), status_.as_object()));
  return Value(std::move(patch));
}

}  // namespace kollect::manager
