// JSONPath, the Kubernetes dialect made strict: compile once, evaluate on borrowed JSON.
// Format: spec extraction 3.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/document.h"
#include "extract/node_set.h"

namespace kollect::extract {

namespace ast {
struct Path;
}

/// A compiled path. Immutable, cheap to copy, shared by threads.
class JsonPath {
 public:
  /// kPrune: the leading "$" may be missing ("spec.strategy", ".spec.selector"; spec: extraction 7
  /// step 5).
  enum class Dialect { kAttribute, kPrune };

  struct CompileError {
    std::size_t position = 1;  ///< in characters of the trimmed path, from 1
    std::string message;       ///< cause, position and, where one is near, the right spelling
  };
  struct EvalError {
    std::size_t position = 1;  ///< of the step that failed
    bool limit = false;   ///< too much work or a number out of range, rather than a wrong index
    std::string message;  ///< never holds values of the object
  };

  /// White space around the text is ignored.
  static std::expected<JsonPath, CompileError> compile(std::string_view text,
                                                       Dialect dialect = Dialect::kAttribute);

  /// Appends the values found to `out`, in order. Views point into the document of `root`.
  [[nodiscard]] std::expected<void, EvalError> evaluate(base::json::View root,
                                                        std::vector<base::json::View>& out) const;
  /// For pruning: passes over removed places (indices still count them) and takes a step on a value
  /// of the wrong type as one that finds nothing. The only errors left are limits.
  [[nodiscard]] std::expected<void, EvalError> evaluate_lenient(
      base::json::View root, const NodeSet& removed, std::vector<base::json::View>& out) const;

  /// "$[]...": the result is an array, whatever was found.
  [[nodiscard]] bool always_array() const;
  /// Keys that the last naming step gives its values; several for a union, none when no step names
  /// a key.
  [[nodiscard]] const std::vector<std::string>& last_keys() const;
  /// The key before the last one, "" when there is none: "tls" in "$.spec.tls.key".
  [[nodiscard]] const std::string& parent_key() const;
  /// True when the values found may be elements of an array.
  [[nodiscard]] bool yields_elements() const;
  /// True when the path can read the root's member `key` (letter case ignored): by any step of that
  /// name, by a wildcard, filter or descent at the root, as part of the whole object, or inside a
  /// filter.
  [[nodiscard]] bool reaches(std::string_view key) const;
  /// When unquoted names split a key that holds dots: the spelling that finds it in this object.
  [[nodiscard]] std::optional<std::string> quoted_spelling(base::json::View root) const;

  /// A field that a path names and no object of a kind can have.
  struct UnknownField {
    std::string path;  ///< "spec.rules[].hosts"
    std::vector<std::string> near;
  };
  /// The first such field by the kind's structural OpenAPI v3 schema, those in filters included;
  /// none when all are known or the schema leaves them open (preserved unknown fields, embedded
  /// objects, metadata).
  [[nodiscard]] std::optional<UnknownField> field_unknown_to(base::json::View schema) const;

 private:
  explicit JsonPath(std::shared_ptr<const ast::Path> path) : path_(std::move(path)) {}
  std::shared_ptr<const ast::Path> path_;
};

}  // namespace kollect::extract
