// The engine behind Program, with values instead of JSON: for Program itself and for batches.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "cel/arena.h"
#include "cel/ast.h"
#include "cel/cache.h"
#include "cel/cel.h"
#include "cel/evaluation.h"
#include "cel/functions.h"
#include "cel/node.h"

namespace kollect::cel {

/// A compiled expression with its tree. Immutable after compile(); shared by threads.
class Engine {
 public:
  static std::expected<std::shared_ptr<const Engine>, CompileError> compile(
      std::string_view expression, const Environment& environment);

  /// Names of the declared variables, in the order in which an Evaluation takes their values.
  [[nodiscard]] const std::vector<std::string>& variables() const { return variables_; }
  [[nodiscard]] const std::string& result_type() const { return result_type_; }
  [[nodiscard]] const Expr& tree() const { return *tree_; }
  [[nodiscard]] bool uses(std::size_t variable) const { return used_[variable]; }
  [[nodiscard]] std::uint64_t cost_limit() const { return cost_limit_; }
  /// Evaluates with `evaluation`, which must have been made with a value for each variable. Limits
  /// come out as errors with `limit`.
  Value run(Evaluation& evaluation) const;
  /// The error of run() for users: message and position in the expression.
  [[nodiscard]] EvalError describe(const Value& error) const;

 private:
  Engine() : arena_(kMaxTreeBytes) {}
  static constexpr std::size_t kMaxTreeBytes = std::size_t{256} << 20U;

  Arena arena_;
  std::string text_;
  std::vector<std::string> variables_;
  std::vector<Function> declared_;
  std::vector<bool> used_;
  std::string result_type_ = "dyn";
  const Expr* tree_ = nullptr;
  std::unique_ptr<Evaluation> folding_;  ///< owns constants made at compile time
  EvaluationCache prepared_;
  NodePtr root_;
  std::size_t slots_ = 0;
  std::uint64_t cost_limit_ = 0;
};

/// Line and column (code points, from 1) of a byte offset.
struct LineColumn {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};
LineColumn locate(std::string_view text, std::uint32_t position);

}  // namespace kollect::cel
