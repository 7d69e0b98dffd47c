// Helm releases: fields of the payload in `data.release` (spec: extraction 5).
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/document.h"
#include "extract/jsonpath.h"

namespace kollect::extract {

/// What follows "helm:release." in a path. Immutable.
class HelmField {
 public:
  /// Aliases, dotted paths, quoted keys and indices in brackets. Error: what is wrong, or that the
  /// field is refused.
  static std::expected<HelmField, std::string> compile(std::string_view field);

  /// Nothing when a step is missing or goes below a text, a number or a list.
  [[nodiscard]] std::optional<base::json::View> find(base::json::View release) const;
  /// `config` and everything below: values of the user, which need an annotation.
  [[nodiscard]] bool in_config() const { return !keys_.empty() && keys_.front() == "config"; }
  [[nodiscard]] const std::string& last_key() const { return keys_.back(); }
  [[nodiscard]] std::string_view parent_key() const {
    return keys_.size() > 1 ? std::string_view(keys_[keys_.size() - 2]) : std::string_view();
  }
  [[nodiscard]] bool yields_element() const { return !steps_.back().is_key; }

 private:
  struct Step {
    bool is_key = true;
    std::string key;
    std::int64_t index = 0;
  };
  friend class HelmFieldParser;
  std::vector<Step> steps_;
  std::vector<std::string> keys_;  ///< of the steps that name one
};

/// Why a payload cannot be read; never holds any of it.
struct HelmError {
  bool limit = false;  ///< larger than allowed, rather than broken
  std::string message;
};

/// A decoded release; move-only.
class HelmRelease {
 public:
  /// Decodes `data.release` of the object. At most `max_bytes` are ever unpacked.
  static std::expected<HelmRelease, HelmError> decode(base::json::View object,
                                                      std::size_t max_bytes);
  [[nodiscard]] base::json::View root() const { return document_.root(); }

 private:
  base::json::Document document_;
};

}  // namespace kollect::extract
