// CEL's evaluator: the bytes choose an expression out of all functions, operators and macros.
#include <algorithm>

#include "base/json/document.h"
#include "base/json/write.h"
#include "cel/cel.h"
#include "cel_expressions.h"
#include "fuzz_input.h"

namespace {

namespace cel = kollect::cel;
namespace json = kollect::base::json;
using kollect::fuzz::require;

constexpr std::string_view kObject =
    R"({"metadata":{"name":"a","labels":{"a.b/c":"d","team":"payments"}},"spec":{"n":3,"f":1.5,"q":"100Mi",)"
    R"("big":18446744073709551615,"list":[1,2,3],"containers":[{"name":"c","image":"r.example/i:1"},{"name":"d"}]}})";
constexpr std::uint64_t kLimit = 20'000;

struct Answer {
  std::string text;  ///< canonical JSON, "absent", or what went wrong
  bool limit = false;
  std::uint64_t cost = 0;
};

Answer run(const cel::Program& program, json::View object) {
  const auto outcome = program.evaluate({{"object", object}});
  if (!outcome) {
    require(!outcome.error().message.empty(), "an error says what is wrong");
    return {"error: " + outcome.error().message, outcome.error().limit};
  }
  if (!outcome->value) return {"absent", false, outcome->cost};
  Answer answer{json::canonical(*outcome->value), false, outcome->cost};
  require(json::Document::parse(answer.text).has_value(), "a result is JSON");
  return answer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const json::Document object = *json::Document::parse(kObject);
  kollect::fuzz::Choices choices(data, size);
  const std::string expression = kollect::fuzz::ExpressionMaker(choices).make();
  cel::Environment environment;
  environment.variables = {{"object", "dyn"}};
  environment.cost_limit = kLimit;
  const auto checked = cel::Program::compile(expression, environment);
  environment.check = false;
  const auto unchecked = cel::Program::compile(expression, environment);
  if (checked) require(unchecked.has_value(), "what passes the checker compiles without it");
  if (!unchecked) return 0;
  const Answer answer = run(*unchecked, object.root());
  require(answer.cost <= kLimit, "no result costs more than the limit");
  require(answer.text == run(*unchecked, object.root()).text,
          "the same object gives the same result");
  if (checked)
    require(answer.text == run(*checked, object.root()).text,
            "the checker does not change results");
  const auto estimate = unchecked->estimate_cost();
  require(estimate.min <= estimate.max, "an estimate has its ends in order");
  if (answer.limit || answer.text.starts_with("error")) return 0;
  environment.cost_limit = std::max<std::uint64_t>(answer.cost, 1);
  require(run(*cel::Program::compile(expression, environment), object.root()).text == answer.text,
          "an evaluation may use its whole limit");
  return 0;
}
