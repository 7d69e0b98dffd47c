// CEL: the first line is the expression, the rest an object (a default one when it is empty). A
// line that begins with
// '{' and holds "expr" is a line of a batch.
#include "base/json/document.h"
#include "base/json/write.h"
#include "cel/batch.h"
#include "cel/cel.h"
#include "fuzz_input.h"

namespace {

namespace json = kollect::base::json;
using kollect::fuzz::require;

constexpr std::string_view kObject =
    R"({"metadata":{"name":"a","labels":{"a.b/c":"d"}},"spec":{"n":3,"f":1.5,"q":"100Mi","t":"2026-01-01T00:00:00Z",)"
    R"("list":[1,2,3],"containers":[{"name":"c","image":"r.example/i:1"}]}})";

/// Canonical JSON of the result; "absent" and "error" when there is none.
std::string run(const kollect::cel::Program& program, json::View object) {
  const auto outcome = program.evaluate({{"object", object}});
  if (!outcome) {
    require(!outcome.error().message.empty(), "an error says what is wrong");
    return "error";
  }
  if (!outcome->value) return "absent";
  std::string text = json::canonical(*outcome->value);
  require(json::Document::parse(text).has_value(), "a result is JSON");
  return text;
}

void try_expression(std::string_view expression, std::string_view object_text) {
  kollect::cel::Environment environment;
  environment.variables = {{"object", "dyn"}, {"self", "map(string, dyn)"}};
  environment.cost_limit = 20'000;
  const auto checked = kollect::cel::Program::compile(expression, environment);
  environment.check = false;
  const auto unchecked = kollect::cel::Program::compile(expression, environment);
  for (const auto* program : {&checked, &unchecked}) {
    if (!*program) require(program->error().line > 0, "a compile error has a place");
  }
  if (checked) require(unchecked.has_value(), "what passes the checker compiles without it");
  const auto object = json::Document::parse(object_text);
  if (!object || !unchecked) return;
  const std::string result = run(*unchecked, object->root());
  require(result == run(*unchecked, object->root()), "the same object gives the same result");
  if (!checked) return;
  require(result == run(*checked, object->root()), "the checker does not change results");
  require(!checked->uses("object") ||
              checked->reaches("object", "data") <= kollect::cel::Program::Reach::kUnknown,
          "reach is judged");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = kollect::fuzz::text_of(data, size);
  const auto [expression, object] = kollect::fuzz::cut_line(text);
  if (expression.starts_with('{') && expression.find("\"expr\"") != std::string_view::npos) {
    require(json::Document::parse(kollect::cel::run_batch_line(expression)).has_value(),
            "an answer is JSON");
    return 0;
  }
  try_expression(expression, object.empty() ? kObject : object);
  return 0;
}
