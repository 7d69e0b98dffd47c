// A profile compiled once; objects become attribute maps with it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/types.h"
#include "base/json/document.h"
#include "base/result.h"

namespace kollect::extract {

/// Class of an extraction error (spec: extraction 10).
enum class ErrorClass { kPath, kIndex, kCel, kHelm, kLimit };
std::string_view to_string(ErrorClass c);

/// Settings of the process, not of a profile.
struct Options {
  std::vector<std::string> scrub_keys;              ///< --scrub-keys, added to the built-in words
  std::size_t helm_release_max_bytes = 32U << 20U;  ///< unpacked size
  std::vector<std::string> sensitive_kinds;         ///< --sensitive-kinds group/Kind
};

/// Why a profile does not compile: each with the field it points at.
struct CompileProblem {
  std::string field;  ///< "spec.attributes[2].path"
  enum class Kind { kInvalid, kForbidden } kind = Kind::kInvalid;
  ErrorClass error_class = ErrorClass::kPath;
  std::string attribute;  ///< name of the attribute, when it is one
  std::string message;    ///< what is wrong and how to spell it right
};

/// Facts about the object's surroundings that expressions may use. Views must outlive the call.
struct ObjectContext {
  std::string_view cluster;
  const std::map<std::string, std::string>* namespace_labels = nullptr;
};

struct ExtractError {
  std::string attribute;
  ErrorClass error_class = ErrorClass::kIndex;
  std::string message;  ///< at most 256 bytes, never object content (E-33)
};

/// What one attribute yielded; for `extract --explain`.
struct AttributeTrace {
  enum class Yield { kValue, kAbsent, kNull, kError } yield = Yield::kValue;
  std::string name;
  std::string value_json;
  std::optional<ExtractError> error;
  std::optional<std::uint64_t> cost;
  std::uint64_t nanoseconds = 0;  ///< time the evaluation took
  std::optional<std::string>
      hint;  ///< e.g. the quoted spelling that would find a key (field-label-keys-with-dots)
  bool type_mismatch = false;
};

/// The row's attributes as canonical JSON ("{}" when there are none), Resource-mode object
/// included.
struct Extracted {
  std::string attributes_json;
  std::uint32_t type_mismatches = 0;
  /// Names of the attributes whose values do not fit their types; valid as long as the program.
  std::vector<std::string_view> mistyped = {};
  std::uint32_t prune_errors = 0;  ///< failed evaluations of prune.cel, which counted as false
};

/// Immutable after compile; shared by threads.
class Program {
 public:
  struct CompileInput {
    const api::ProfileSpec* spec = nullptr;
    /// Annotations of the profile; decide the guards of spec extraction 6.
    std::map<std::string, std::string> annotations;
    /// Kinds beside spec.targetGVK that the guards hold for (kinds of resource rules, L-13).
    std::vector<api::GroupVersionKind> rule_kinds;
    Options options;
  };
  /// All problems, in the order of admission, or the program.
  static std::expected<Program, std::vector<CompileProblem>> compile(const CompileInput& input);

  [[nodiscard]] std::expected<Extracted, ExtractError> extract(base::json::View object,
                                                               const ObjectContext& context) const;
  /// Every attribute judged on its own; the object itself is never refused.
  [[nodiscard]] std::vector<AttributeTrace> explain(base::json::View object,
                                                    const ObjectContext& context) const;

  [[nodiscard]] bool exports_resource() const;
  /// Attribute key of the embedded object ("resource" by default).
  [[nodiscard]] const std::string& resource_key() const;

 private:
  struct Impl;
  explicit Program(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace kollect::extract
