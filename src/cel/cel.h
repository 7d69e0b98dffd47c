// CEL for dynamic (JSON) data: compile once, evaluate on borrowed JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/json/document.h"
#include "base/json/value.h"
#include "base/result.h"

namespace kollect::cel {

/// A declared variable. `type` in the simple syntax: "dyn", "string", "list(string)", "map(string,
/// dyn)", "optional_type(int)" and so on.
struct Declaration {
  std::string name;
  std::string type = "dyn";
};

/// A function that only the checker knows: a call of it fails when it is evaluated. `forms` are its
/// overloads, "int, A -> list(A); …" (A to Z: type parameters, unknown names: opaque types).
struct FunctionDeclaration {
  std::string name;
  std::string forms;
};

/// What an expression may name, and its limits. Cheap to copy.
struct Environment {
  std::vector<Declaration> variables;
  std::string container;  ///< name space that short names are resolved in
  bool check = true;      ///< type-check at compile time
  /// Takes literals of protobuf's well-known messages (google.protobuf.Duration{seconds: 1}) as the
  /// values that they stand for. For conformance runs; everywhere else they are refused.
  bool well_known_messages = false;
  std::uint64_t cost_limit =
      1'000'000;  ///< run-time cost units per evaluation (spec: extraction E-11)
  std::size_t max_expression_code_points = 100'000;
  std::size_t max_nesting = 250;
  std::vector<FunctionDeclaration> functions = {};
};

/// Where and why compiling failed. `message` is ready for users: text, line:column and a caret
/// line.
struct CompileError {
  enum class Phase { kParse, kCheck };
  Phase phase = Phase::kParse;
  std::uint32_t line = 1;    ///< from 1
  std::uint32_t column = 1;  ///< in code points, from 1
  std::string message;
};

/// One bound variable of an evaluation.
struct Binding {
  std::string_view name;
  base::json::View value;
};

/// Result of an evaluation that succeeded.
struct Outcome {
  /// Absent: the result was an empty optional.
  std::optional<base::json::Value> value;
  std::uint64_t cost = 0;
};

/// Why an evaluation failed. `limit` tells E-11 limits (cost, result size) from language errors.
/// The message never holds values of the input, only names of keys, functions and types.
struct EvalError {
  bool limit = false;
  std::string message;
};

/// A compiled expression: immutable, shared by threads.
class Program {
 public:
  static std::expected<Program, CompileError> compile(std::string_view expression,
                                                      const Environment& environment);

  /// Evaluates and converts to JSON by the table of spec extraction 4 (NaN, types and functions are
  /// errors). A result above `max_result_bytes` of JSON is a limit error.
  [[nodiscard]] std::expected<Outcome, EvalError> evaluate(
      const std::vector<Binding>& bindings, std::size_t max_result_bytes = 256U << 10U) const;
  /// Evaluates a condition: true only when the result is boolean true; a result of another type is
  /// an error.
  [[nodiscard]] std::expected<bool, EvalError> evaluate_bool(
      const std::vector<Binding>& bindings) const;

  /// What an evaluation will cost when lists, maps and texts of the object have `assumed_size`
  /// elements or characters each: at least and about at most. For reports; the limit is met at run
  /// time.
  struct CostEstimate {
    std::uint64_t min = 0;
    std::uint64_t max = 0;
  };
  [[nodiscard]] CostEstimate estimate_cost(std::uint64_t assumed_size = 100) const;

  /// Static result type in the simple syntax ("bool", "dyn", ...).
  [[nodiscard]] const std::string& result_type() const;
  /// kYes when the expression reads member `key` of variable `variable` by name or uses the whole
  /// variable as a value; kUnknown when it reads members with computed keys. Used by the Secret
  /// guard (spec: extraction 6, E-15).
  enum class Reach { kNo, kYes, kUnknown };
  [[nodiscard]] Reach reaches(std::string_view variable, std::string_view key) const;
  /// True when the expression mentions the variable at all.
  [[nodiscard]] bool uses(std::string_view variable) const;

 private:
  struct Impl;
  explicit Program(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace kollect::cel
