// `kollect cel`: one expression, or batches of them.
#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/json/write.h"
#include "base/yaml/read.h"
#include "cel/batch.h"
#include "cel/cel.h"
#include "cli/flags.h"
#include "pipeline/commands.h"

namespace kollect::pipeline {
namespace {

constexpr std::size_t kMaxBatchLine = std::size_t{64} << 20U;

/// What is left of a line behind its limit is passed over. False at the end of the input.
bool read_line(std::FILE* in, std::string& line) {
  line.clear();
  int c = std::getc(in);
  if (c == EOF) return false;
  for (; c != EOF && c != '\n'; c = std::getc(in)) {
    if (line.size() <= kMaxBatchLine) line += static_cast<char>(c);
  }
  return true;
}

/// Answers each line, an empty one too, and at once, so that a driver may wait for each answer.
int run_batch(const Invocation& invocation) {
  std::string line;
  while (read_line(invocation.in, line)) {
    const std::string answer = line.size() > kMaxBatchLine
                                   ? cel::refuse_batch_line("the line is longer than 64 MiB")
                                   : cel::run_batch_line(line);
    fmt::print(invocation.out, "{}\n", answer);
    std::fflush(invocation.out);
  }
  return kExitOk;
}

/// `--var NAME=JSON`.
struct Variable {
  std::string name;
  base::json::Document value;
};

base::Result<Variable> read_variable(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return base::configuration(fmt::format("--var {}: give NAME=JSON", text));
  }
  Variable variable{.name = text.substr(0, equals), .value = {}};
  auto document = base::json::Document::parse(text.substr(equals + 1));
  if (!document) {
    return document.error().with_prefix(
        fmt::format("--var {}: the value is not JSON (a text needs quotes)", variable.name));
  }
  variable.value = std::move(*document);
  return variable;
}

base::Result<std::string> evaluate(const std::string& expression, const std::string& object_file,
                                   const std::vector<std::string>& variables) {
  cel::Environment environment;
  std::vector<Variable> given;
  for (const std::string& text : variables) {
    KL_ASSIGN(Variable variable, read_variable(text));
    environment.variables.push_back({.name = variable.name, .type = "dyn"});
    given.push_back(std::move(variable));
  }
  if (std::ranges::find(given, "object", &Variable::name) == given.end()) {
    environment.variables.push_back({.name = "object", .type = "dyn"});
  }
  auto program = cel::Program::compile(expression, environment);
  if (!program) return base::configuration(program.error().message);
  base::json::Value object;
  if (!object_file.empty()) {
    KL_ASSIGN(const std::string text, base::read_file(object_file));
    KL_ASSIGN(object, base::yaml::read_one(text));
  }
  const auto document = base::json::Document::from_value(object);
  std::vector<cel::Binding> bindings = {{.name = "object", .value = document.root()}};
  for (const Variable& variable : given) {
    if (variable.name == "object") bindings.clear();
  }
  for (const Variable& variable : given) {
    bindings.push_back({.name = variable.name, .value = variable.value.root()});
  }
  auto outcome = program->evaluate(bindings);
  if (!outcome) return base::terminal(outcome.error().message);
  return outcome->value ? base::json::compact(*outcome->value) : std::string();
}

}  // namespace

int run_cel_command(const Invocation& invocation, const std::vector<std::string>& args) {
  std::string expression;
  std::string object_file;
  std::vector<std::string> variables;
  bool batch = false;
  CLI::App app("Evaluates a CEL expression and prints its value as JSON.", "cel");
  app.add_option("expression", expression, "Expression, without the prefix cel:");
  cli::add_flag_value(app, "--object", object_file, "YAML or JSON file that `object` stands for");
  cli::add_flag_list(app, "--var", variables, "NAME=JSON: a variable (repeatable)");
  app.add_flag("--batch", batch,
               "Expressions from stdin, a JSON object per line; an answer per line on stdout");
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  if (batch != expression.empty()) {
    fmt::print(invocation.err, "{} cel: give either an expression or --batch\n",
               invocation.program);
    return kExitFailed;
  }
  if (batch) return invocation.exit_code(run_batch(invocation));
  const auto value = evaluate(expression, object_file, variables);
  if (!value) {
    fmt::print(invocation.err, "{} cel: {}\n", invocation.program, value.error().message);
    return value.error().kind == base::ErrorKind::kTerminal ? kExitPartial : kExitFailed;
  }
  if (!value->empty()) fmt::print(invocation.out, "{}\n", *value);
  return kExitOk;
}

}  // namespace kollect::pipeline
