#include "cel/cel.h"

#include "cel/convert.h"
#include "cel/cost.h"
#include "cel/engine.h"
#include "cel/reach.h"

namespace kollect::cel {

struct Program::Impl {
  std::shared_ptr<const Engine> engine;
};

std::expected<Program, CompileError> Program::compile(std::string_view expression,
                                                      const Environment& environment) {
  auto engine = Engine::compile(expression, environment);
  if (!engine) return std::unexpected(std::move(engine.error()));
  return Program(std::make_shared<const Impl>(Impl{std::move(*engine)}));
}

namespace {

/// Evaluates and hands the value, or the error, to `use` while the evaluation's memory lives.
template <class Use>
auto with_result(const Engine& engine, const std::vector<Binding>& bindings, Use use) {
  constexpr std::size_t kFew = 8;
  const auto& names = engine.variables();
  std::array<Value, kFew> few;
  std::vector<Value> many(names.size() > kFew ? names.size() : 0);
  Value* values = names.size() > kFew ? many.data() : few.data();
  Evaluation evaluation({.cost = engine.cost_limit(), .memory = Budget().memory}, values);
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (!engine.uses(n)) continue;
    const auto bound = std::find_if(bindings.begin(), bindings.end(), [&](const Binding& binding) {
      return binding.name == names[n];
    });
    values[n] = bound != bindings.end()
                    ? Value::of_json(bound->value)
                    : evaluation.errorf("the variable '{}' has no value here", names[n]);
  }
  return use(engine.run(evaluation), evaluation);
}

}  // namespace

std::expected<Outcome, EvalError> Program::evaluate(const std::vector<Binding>& bindings,
                                                    std::size_t max_result_bytes) const {
  const Engine& engine = *impl_->engine;
  using Result = std::expected<Outcome, EvalError>;
  return with_result(engine, bindings, [&](const Value& value, Evaluation& evaluation) -> Result {
    if (value.is_error()) return std::unexpected(engine.describe(value));
    Outcome outcome;
    outcome.cost = evaluation.cost();
    const Value* result = &value;
    while (result->kind == Kind::kOptional) {
      if (result->held == nullptr) return outcome;
      result = result->held;
    }
    auto converted = to_json(*result, max_result_bytes);
    if (!converted) return std::unexpected(std::move(converted.error()));
    outcome.value = std::move(*converted);
    return outcome;
  });
}

std::expected<bool, EvalError> Program::evaluate_bool(const std::vector<Binding>& bindings) const {
  const Engine& engine = *impl_->engine;
  using Result = std::expected<bool, EvalError>;
  return with_result(engine, bindings, [&](const Value& value, Evaluation&) -> Result {
    if (value.is_error()) return std::unexpected(engine.describe(value));
    if (value.kind == Kind::kBool) return value.boolean;
    return std::unexpected(
        EvalError{false, "the condition must be bool, not " + std::string(type_name(value))});
  });
}

Program::CostEstimate Program::estimate_cost(std::uint64_t assumed_size) const {
  return cel::estimate_cost(impl_->engine->tree(), assumed_size);
}

const std::string& Program::result_type() const {
  return impl_->engine->result_type();
}

Program::Reach Program::reaches(std::string_view variable, std::string_view key) const {
  return find_reach(impl_->engine->tree(), variable, key);
}

bool Program::uses(std::string_view variable) const {
  const auto& names = impl_->engine->variables();
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (names[n] == variable) return impl_->engine->uses(n);
  }
  return false;
}

}  // namespace kollect::cel
