// State of one evaluation: memory, cost, variables, and how errors are made. Functions of the
// libraries see this.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cel/arena.h"
#include "cel/value.h"

namespace kollect::cel {

struct EvaluationCache;

/// Bounds of one evaluation.
struct Budget {
  std::uint64_t cost = 1'000'000;
  std::size_t memory = std::size_t{64} << 20U;  ///< bytes of intermediate values
};

/// Lives on the stack of the evaluating thread.
class Evaluation {
 public:
  Evaluation(const Budget& budget, const Value* variables);
  ~Evaluation();
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  /// Adds to the cost; false when the budget is used up (then return over_budget()).
  bool charge(std::uint64_t cost) {
    cost_ += cost;
    return cost_ <= cost_limit_;
  }
  [[nodiscard]] bool over() const { return cost_ > cost_limit_ || stopped_; }
  [[nodiscard]] std::uint64_t cost() const { return cost_; }
  /// True once a limit was met: whatever the result is now, it does not count.
  [[nodiscard]] bool stopped() const { return stopped_; }

  Value over_budget();
  Value out_of_memory();
  /// The value, or the error that ends the evaluation when it is a number beyond doubles.
  Value readable(const Value& value) {
    return value.out_of_range() ? number_out_of_range() : value;
  }
  Value error(std::string_view message);
  template <class... Args>
  Value errorf(fmt::format_string<Args...> format, Args&&... args) {
    return error(fmt::format(format, std::forward<Args>(args)...));
  }
  /// The arguments' types fit no form of the function; the calling node adds name and types.
  Value no_overload() { return error({}); }

  Value string(std::string_view text) { return text_value(Kind::kString, text); }
  Value bytes(std::string_view text) { return text_value(Kind::kBytes, text); }
  /// An optional that holds the value.
  Value some(const Value& value);
  static Value none() { return Value::of_optional(nullptr); }

  [[nodiscard]] Arena& arena() { return arena_; }
  [[nodiscard]] const Value& variable(std::size_t n) const { return variables_[n]; }
  Value& slot(std::size_t n) { return slots_[n]; }
  bool make_slots(std::size_t count);
  /// Compiled patterns and time zones that this evaluation has met.
  EvaluationCache& cache();
  /// Those of the program; nullptr outside of one.
  [[nodiscard]] const EvaluationCache* prepared() const { return prepared_; }
  void set_prepared(const EvaluationCache* prepared) { prepared_ = prepared; }

 private:
  Value text_value(Kind kind, std::string_view text);
  Value limit_error(std::string_view message);
  Value number_out_of_range();

  Arena arena_;
  const Value* variables_;
  Value* slots_ = nullptr;
  std::uint64_t cost_ = 0;
  std::uint64_t cost_limit_;
  bool stopped_ = false;
  ErrorInfo limit_error_;
  std::unique_ptr<EvaluationCache> cache_;
  const EvaluationCache* prepared_ = nullptr;
};

/// Collects elements of a list in the arena.
class ListBuilder {
 public:
  explicit ListBuilder(Evaluation& evaluation, std::size_t expected = 0) : evaluation_(evaluation) {
    if (expected > 0) grow(expected);
  }
  /// False when memory or cost ran out; then return failed().
  bool add(const Value& value) {
    if (count_ == capacity_ && !grow(capacity_ == 0 ? 8 : capacity_ * 2)) return false;
    items_[count_++] = value;
    return true;
  }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] Value* items() { return items_; }
  Value failed() { return evaluation_.out_of_memory(); }
  [[nodiscard]] Value value() const { return Value::of_list(items_, count_); }

 private:
  bool grow(std::size_t capacity);

  Evaluation& evaluation_;
  Value* items_ = nullptr;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
};

/// Collects entries of a map and sorts them.
class MapBuilder {
 public:
  explicit MapBuilder(Evaluation& evaluation, std::size_t expected = 0) : evaluation_(evaluation) {
    if (expected > 0) grow(expected);
  }
  /// Null when fine, else an error: a key of a wrong type, or no memory.
  Value add(const Value& key, const Value& value);
  /// The map; an error when a key stands twice.
  Value value();

 private:
  bool grow(std::size_t capacity);

  Evaluation& evaluation_;
  MapEntry* entries_ = nullptr;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
};

/// Keys of a map in sorted order, the last of duplicate JSON members only.
struct SortedEntries {
  const MapEntry* entries = nullptr;
  std::size_t count = 0;
  bool failed = false;  ///< out of memory
};
SortedEntries sorted_entries(Evaluation& evaluation, const Value& map);

}  // namespace kollect::cel
