#include "cel/evaluation.h"

#include <algorithm>

#include "cel/cache.h"

namespace kollect::cel {

namespace json = base::json;

Evaluation::Evaluation(const Budget& budget, const Value* variables)
    : arena_(budget.memory), variables_(variables), cost_limit_(budget.cost) {}

Evaluation::~Evaluation() = default;

EvaluationCache& Evaluation::cache() {
  if (!cache_) cache_ = std::make_unique<EvaluationCache>();
  return *cache_;
}

Value Evaluation::limit_error(std::string_view message) {
  if (!stopped_) {
    stopped_ = true;
    limit_error_.message = message;
    limit_error_.limit = true;
    cost_limit_ = 0;  // everything that still charges stops at once
  }
  return Value::of_error(&limit_error_);
}

Value Evaluation::over_budget() {
  return limit_error("the expression costs too much: the limit of run-time cost is passed");
}

Value Evaluation::number_out_of_range() {
  return limit_error("a number of the object is beyond the range of doubles");
}

Value Evaluation::out_of_memory() {
  return limit_error(
      "the expression needs too much memory: the limit of intermediate values is passed");
}

Value Evaluation::error(std::string_view message) {
  auto* info = arena_.make<ErrorInfo>();
  if (info == nullptr) return out_of_memory();
  info->message = arena_.copy(message);
  return Value::of_error(info);
}

Value Evaluation::text_value(Kind kind, std::string_view text) {
  if (text.empty()) return Value::of_text(kind, {});
  const auto copy = arena_.copy(text);
  return copy.empty() ? out_of_memory() : Value::of_text(kind, copy);
}

Value Evaluation::some(const Value& value) {
  auto* held = arena_.make<Value>(value);
  return held == nullptr ? out_of_memory() : Value::of_optional(held);
}

bool Evaluation::make_slots(std::size_t count) {
  slots_ = arena_.make_array<Value>(count);
  return slots_ != nullptr;
}

bool ListBuilder::grow(std::size_t capacity) {
  if (evaluation_.over()) return false;
  auto* items = evaluation_.arena().make_array<Value>(capacity);
  if (items == nullptr) return false;
  std::copy(items_, items_ + count_, items);
  items_ = items;
  capacity_ = capacity;
  return true;
}

bool MapBuilder::grow(std::size_t capacity) {
  if (evaluation_.over()) return false;
  auto* entries = evaluation_.arena().make_array<MapEntry>(capacity);
  if (entries == nullptr) return false;
  std::copy(entries_, entries_ + count_, entries);
  entries_ = entries;
  capacity_ = capacity;
  return true;
}

Value MapBuilder::add(const Value& key, const Value& value) {
  if (!is_key(key)) {
    return evaluation_.errorf("a key of a map cannot be of type {}", type_name(key));
  }
  if (count_ == capacity_ && !grow(capacity_ == 0 ? 8 : capacity_ * 2)) {
    return evaluation_.out_of_memory();
  }
  entries_[count_++] = {key, value};
  return Value::null();
}

Value MapBuilder::value() {
  const auto less = [](const MapEntry& a, const MapEntry& b) {
    return compare_keys(a.key, b.key) < 0;
  };
  if (!std::is_sorted(entries_, entries_ + count_, less)) {
    std::stable_sort(entries_, entries_ + count_, less);
  }
  for (std::size_t n = 1; n < count_; ++n) {
    if (compare_keys(entries_[n - 1].key, entries_[n].key) == 0) {
      return evaluation_.error("a map cannot hold the same key twice");
    }
  }
  return Value::of_map(entries_, count_);
}

SortedEntries sorted_entries(Evaluation& evaluation, const Value& map) {
  if (!map.json) return {map.entries, map.count, false};
  auto* entries = evaluation.arena().make_array<MapEntry>(map.count);
  if (entries == nullptr) return {nullptr, 0, true};
  std::size_t count = 0;
  bool sorted = true;
  for (const auto& member : json::View(map.node).members()) {
    // Distinct rising keys need no sorting; anything else does.
    if (count > 0 && entries[count - 1].key.as_text() >= member.key) sorted = false;
    entries[count++] = {Value::of_string(member.key), Value::of_json(member.value)};
  }
  if (!sorted) {
    std::stable_sort(entries, entries + count, [](const MapEntry& a, const MapEntry& b) {
      return a.key.as_text() < b.key.as_text();
    });
    std::size_t kept = 0;
    for (std::size_t n = 0; n < count; ++n) {
      if (kept > 0 && entries[kept - 1].key.as_text() == entries[n].key.as_text()) --kept;
      entries[kept++] = entries[n];
    }
    count = kept;
  }
  return {entries, count, false};
}

}  // namespace kollect::cel
