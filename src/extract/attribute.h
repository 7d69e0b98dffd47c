// One attribute of a profile, compiled, and its evaluation. Private to the program.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json/document.h"
#include "cel/cel.h"
#include "extract/cel_environment.h"
#include "extract/guards.h"
#include "extract/helm.h"
#include "extract/jsonpath.h"
#include "extract/program.h"
#include "extract/scrub.h"
#include "extract/type_fit.h"

namespace kollect::extract {

struct CelSource {
  cel::Program program;
  bool sees_secret_data = true;  ///< false: evaluated on the object without data and stringData
};

struct CompiledAttribute {
  std::string name;
  std::string path;  ///< trimmed, for messages
  bool optional = false;
  TypeHint type = TypeHint::kAny;
  std::variant<std::monostate, JsonPath, CelSource, HelmField> source;
  Place place;
};

/// Why a path does not compile.
struct SourceProblem {
  CompileProblem::Kind kind = CompileProblem::Kind::kInvalid;
  ErrorClass error_class = ErrorClass::kPath;
  std::string message;
};

/// Compiles the path by its prefix. `forbidden` gets the guard's objection to a path that compiles.
std::expected<CompiledAttribute, SourceProblem> compile_attribute(
    const api::Attribute& attribute, const Scrubber& scrubber, const GuardState& guards,
    std::optional<SourceProblem>& forbidden);

/// What is shared by the attributes of one object while they are evaluated. One thread.
class ObjectScope {
 public:
  ObjectScope(base::json::View object, const ObjectContext& context, const GuardState& guards,
              std::size_t helm_max_bytes);

  [[nodiscard]] base::json::View object() const { return object_; }
  /// The object as paths may see it: a Secret that the profile was not judged for has no data.
  base::json::View visible_object();
  /// Without data and stringData.
  base::json::View without_secret_data();
  CelBindings& bindings(bool with_secret_data);
  /// Decoded once, however many attributes ask.
  const std::expected<HelmRelease, HelmError>& helm_release();
  [[nodiscard]] bool is_secret() const { return is_secret_; }
  [[nodiscard]] bool guarded_secret() const { return is_secret_ && !guards_.allow_extraction; }
  std::vector<base::json::View>& values() { return values_; }

 private:
  base::json::View object_;
  const ObjectContext& context_;
  const GuardState& guards_;
  std::size_t helm_max_bytes_;
  bool is_secret_;
  std::optional<base::json::Document> stripped_;
  std::optional<CelBindings> bindings_;
  std::optional<CelBindings> stripped_bindings_;
  std::optional<std::expected<HelmRelease, HelmError>> helm_;
  std::vector<base::json::View> values_;
};

/// What one attribute yielded on one object.
struct Yielded {
  AttributeTrace::Yield yield = AttributeTrace::Yield::kValue;
  ErrorClass error_class = ErrorClass::kIndex;
  std::string cause;  ///< of an error
  std::optional<std::uint64_t> cost;
  bool type_mismatch = false;
};

/// Appends the scrubbed value to `out` when there is one or it is null; on an error `out` is as it
/// was.
Yielded evaluate_attribute(const CompiledAttribute& attribute, ObjectScope& scope,
                           const Scrubber& scrubber, std::string& out);

/// The text that status and logs show: attribute, path, object and cause, at most 256 bytes (E-33).
std::string error_text(std::string_view attribute, std::string_view path, base::json::View object,
                       std::string_view cause);

}  // namespace kollect::extract
