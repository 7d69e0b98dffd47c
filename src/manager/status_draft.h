// The next status of an object, made from the present one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json/value.h"

namespace kollect::manager {

/// A condition as we mean it; times and generation are filled in when it is set (spec: runtime 4).
struct Condition {
  std::string type;
  std::string status;  ///< "True", "False", "Unknown"
  std::string reason;
  std::string message;
};

/// Fields and conditions that are not touched stay as they are; lastTransitionTime moves only when
/// a condition's status flips. One thread.
class StatusDraft {
 public:
  /// `object`: the manifest as the server has it.
  StatusDraft(const base::json::Value& object, base::WallTime now);

  void set(const Condition& condition);
  void drop(std::string_view type);
  /// A null value removes the field.
  void set_field(std::string_view name, base::json::Value value);
  [[nodiscard]] const base::json::Value* field(std::string_view name) const;
  /// Reason of a condition that is there and has this status; "" otherwise.
  [[nodiscard]] std::string reason_of(std::string_view type, std::string_view status) const;

  /// Conditions in lists elsewhere in the status (sinkExports[]), by the same rules. `before` may
  /// be null.
  [[nodiscard]] base::json::Value conditions_like(const base::json::Value* before,
                                                  const Condition& condition) const;

  /// For kinds whose status has no observedGeneration.
  void without_generation() { tells_generation_ = false; }

  /// JSON merge patch (RFC 7396) that makes the status of the server this one; none when it is
  /// equal. Brings observedGeneration up to date.
  std::optional<base::json::Value> patch();

 private:
  base::json::Value make(const Condition& condition, const base::json::Value* before) const;
  base::json::Array& conditions();

  base::json::Value before_;
  base::json::Value status_;
  std::int64_t generation_ = 0;
  bool tells_generation_ = true;
  base::WallTime now_;
};

}  // namespace kollect::manager
