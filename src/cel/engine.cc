#include "cel/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "cel/checker.h"
#include "cel/parser.h"
#include "cel/planner.h"
#include "cel/resolver.h"
#include "cel/text.h"

namespace kollect::cel {

namespace {

/// Width of the piece of a line that stands above the caret.
constexpr std::size_t kCaretWindow = 100;

/// The line of the expression and a caret below the column; long lines are cut around it.
std::string caret_lines(std::string_view text, std::uint32_t position) {
  const auto before = text.rfind('\n', position == 0 ? 0 : position - 1);
  std::size_t begin = before == std::string_view::npos || position == 0 ? 0 : before + 1;
  std::size_t end = std::min(text.find('\n', position), text.size());
  const auto continues = [&](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  std::string_view prefix;
  if (position - begin > kCaretWindow / 2) {
    begin = position - kCaretWindow / 2;
    while (continues(begin)) ++begin;
    prefix = "…";
  }
  if (end - begin > kCaretWindow) {
    end = begin + kCaretWindow;
    while (continues(end)) ++end;
  }
  std::string line(text.substr(begin, end - begin));
  std::replace(line.begin(), line.end(), '\t', ' ');
  const std::size_t blanks = code_points(text.substr(begin, position - begin)) + prefix.size() / 3;
  return fmt::format("\n | {}{}\n | {}^", prefix, line, std::string(blanks, ' '));
}

CompileError compile_error(std::string_view text, CompileError::Phase phase,
                           const SourceError& error) {
  const auto position = std::min(error.position, static_cast<std::uint32_t>(text.size()));
  const auto [line, column] = locate(text, position);
  return {phase, line, column,
          fmt::format("{} (line {}, column {}){}", error.message, line, column,
                      caret_lines(text, position))};
}

}  // namespace

LineColumn locate(std::string_view text, std::uint32_t position) {
  const std::string_view before = text.substr(0, position);
  const auto line_start = before.rfind('\n');
  LineColumn place;
  place.line = 1 + static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
  place.column =
      1 + static_cast<std::uint32_t>(code_points(
              line_start == std::string_view::npos ? before : before.substr(line_start + 1)));
  return place;
}

std::expected<std::shared_ptr<const Engine>, CompileError> Engine::compile(
    std::string_view expression, const Environment& environment) {
  const std::shared_ptr<Engine> engine(new Engine);
  engine->text_ = expression;
  engine->cost_limit_ = environment.cost_limit;
  const std::string_view text = engine->text_;
  const auto fail = [&](CompileError::Phase phase, const SourceError& error) {
    return std::unexpected(compile_error(text, phase, error));
  };
  constexpr auto kParse = CompileError::Phase::kParse;
  constexpr auto kCheck = CompileError::Phase::kCheck;
  if (!base::is_valid_utf8(text)) return fail(kParse, {0, "the expression is not valid UTF-8"});
  if (text.size() > environment.max_expression_code_points * 4 ||
      code_points(text) > environment.max_expression_code_points) {
    return fail(kParse, {0, fmt::format("the expression is longer than {} characters",
                                        environment.max_expression_code_points)});
  }
  Parser parser(text, engine->arena_, environment.max_nesting);
  Expr* tree = parser.parse();
  if (tree == nullptr) return fail(kParse, parser.error());
  engine->tree_ = tree;
  std::vector<const Type*> types;
  for (const Declaration& declaration : environment.variables) {
    engine->variables_.push_back(declaration.name);
    types.push_back(parse_type(declaration.type, engine->arena_));
    if (types.back() == nullptr) {
      return fail(kCheck, {0, fmt::format("'{}', declared for the variable '{}', is no type",
                                          declaration.type, declaration.name)});
    }
  }
  for (const FunctionDeclaration& declaration : environment.functions) {
    auto forms = parse_forms(declaration.forms, engine->arena_, TypeNames::kAny);
    if (!forms) {
      return fail(kCheck, {0, fmt::format("'{}', declared for the function '{}', is no signature",
                                          declaration.forms, declaration.name)});
    }
    engine->declared_.push_back({.name = engine->arena_.copy(declaration.name),
                                 .member = false,
                                 .implementation = nullptr,
                                 .overloads = *std::move(forms)});
  }
  Resolver resolver(engine->variables_, engine->declared_, environment.container, engine->arena_);
  if (environment.well_known_messages) resolver.take_well_known_messages();
  resolver.resolve(*tree);
  engine->used_ = resolver.used();
  engine->slots_ = resolver.slots();
  if (environment.check) {
    Checker checker(engine->variables_, types, engine->declared_, engine->arena_);
    const Type* type = checker.check(*tree);
    if (type == nullptr) return fail(kCheck, checker.error());
    engine->result_type_ = to_string(type);
  }
  constexpr Budget kFoldingBudget{.cost = 10'000, .memory = std::size_t{1} << 20U};
  engine->folding_ = std::make_unique<Evaluation>(kFoldingBudget, nullptr);
  engine->root_ = Planner(*engine->folding_, engine->prepared_).build(*tree);
  return engine;
}

Value Engine::run(Evaluation& evaluation) const {
  evaluation.set_prepared(&prepared_);
  if (!evaluation.make_slots(slots_)) return evaluation.out_of_memory();
  const Value value = root_->eval(evaluation);
  // Whatever an operator made of it, a limit that was met decides.
  return evaluation.over() ? evaluation.over_budget() : value;
}

EvalError Engine::describe(const Value& error) const {
  const ErrorInfo& info = *error.error;
  if (info.limit || info.position == ErrorInfo::kNoPosition) {
    return {info.limit, std::string(info.message)};
  }
  const auto [line, column] = locate(text_, info.position);
  return {false, fmt::format("{} (line {}, column {})", info.message, line, column)};
}

}  // namespace kollect::cel
