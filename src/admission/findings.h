// Collected rule violations. Internal to the room.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "admission/admission.h"
#include "admission/lookup.h"
#include "api/types.h"

namespace kollect::admission {

/// Violations in the order of the rules (spec: crds 4.3).
class Findings {
 public:
  void required(std::string path, std::string message = "must be given") {
    add(std::move(path), "Required", std::move(message));
  }
  void invalid(std::string path, std::string message) {
    add(std::move(path), "Invalid", std::move(message));
  }
  void not_supported(std::string path, std::string message) {
    add(std::move(path), "NotSupported", std::move(message));
  }
  void duplicate(std::string path, std::string message) {
    add(std::move(path), "Duplicate", std::move(message));
  }
  void forbidden(std::string path, std::string message) {
    add(std::move(path), "Forbidden", std::move(message));
  }
  void too_many(std::string path, std::string message) {
    add(std::move(path), "TooMany", std::move(message));
  }
  void internal(std::string message) { add("", "Internal", std::move(message)); }
  void plain(std::string message) { add("", "plain", std::move(message)); }
  void warn(std::string message) { warnings_.push_back(std::move(message)); }

  [[nodiscard]] bool clean() const { return errors_.empty(); }
  [[nodiscard]] std::vector<FieldError>& errors() { return errors_; }
  [[nodiscard]] std::vector<std::string>& warnings() { return warnings_; }

 private:
  void add(std::string path, const char* kind, std::string message) {
    errors_.push_back({std::move(path), kind, std::move(message)});
  }
  std::vector<FieldError> errors_;
  std::vector<std::string> warnings_;
};

/// What a look-up gave. One that failed refuses the request: nobody passes a scope because it could
/// not be read.
template <class T>
std::optional<T> found(Findings& findings, base::Result<std::optional<T>> looked_up) {
  if (looked_up) return std::move(*looked_up);
  findings.internal(looked_up.error().message);
  return std::nullopt;
}

/// What every rule function gets.
struct RuleContext {
  const Lookup& lookup;
  const Settings& settings;
};

}  // namespace kollect::admission
