#include <fmt/format.h>

#include "base/hash.h"
#include "cel/engine.h"
#include "cel/opaque.h"
#include "cel/test_support.h"
#include "cel/text.h"

namespace kollect::cel::testing_support {

namespace json = base::json;

namespace {

std::string show_list(const Value& list) {
  std::string out = "[";
  Value item;
  for (ListCursor cursor(list); cursor.next(item);) {
    if (out.size() > 1) out += ", ";
    out += show(item);
  }
  return out + "]";
}

std::string show_map(const Value& map) {
  Evaluation evaluation({}, nullptr);
  const auto sorted = sorted_entries(evaluation, map);
  std::string out = "{";
  for (std::size_t n = 0; n < sorted.count; ++n) {
    if (n > 0) out += ", ";
    out += show(sorted.entries[n].key) + ": " + show(sorted.entries[n].value);
  }
  return out + "}";
}

std::string show_double(double value) {
  std::string text = double_text(value);
  if (text.find_first_of(".eNI") == std::string::npos) text += ".0";
  return text;
}

/// The message without place and caret.
std::string cut(const std::string& message) {
  return message.substr(0, message.find(" (line "));
}

}  // namespace

std::string show(const Value& value) {
  switch (value.kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return value.boolean ? "true" : "false";
    case Kind::kInt:
      return fmt::format("{}", value.i);
    case Kind::kUint:
      return fmt::format("{}u", value.u);
    case Kind::kDouble:
      return show_double(value.d);
    case Kind::kString:
      return fmt::format("'{}'", value.as_text());
    case Kind::kBytes:
      return fmt::format("b'{}'", base::hex_encode(value.as_text()));
    case Kind::kList:
      return show_list(value);
    case Kind::kMap:
      return show_map(value);
    case Kind::kTimestamp:
      return fmt::format("timestamp({})", timestamp_text(value));
    case Kind::kDuration:
      return fmt::format("duration({})", duration_text(value));
    case Kind::kType:
      return std::string(value.as_text());
    case Kind::kOptional:
      return value.held == nullptr ? "none" : fmt::format("optional({})", show(*value.held));
    case Kind::kOpaque:
      return fmt::format("{}({})", type_name(value), opaque_text(*value.opaque));
    case Kind::kError:
      break;
  }
  return "?";
}

std::string show(std::string_view expression, bool check, std::string_view object) {
  Environment environment;
  environment.variables = {{"object", "dyn"}};
  environment.check = check;
  const auto engine = Engine::compile(expression, environment);
  if (!engine) {
    const bool parse = engine.error().phase == CompileError::Phase::kParse;
    return (parse ? "parse: " : "check: ") + cut(engine.error().message);
  }
  const auto document = json::Document::parse(object);
  const Value values[] = {Value::of_json(document->root())};
  Evaluation evaluation({.cost = (*engine)->cost_limit(), .memory = Budget().memory}, values);
  const Value value = (*engine)->run(evaluation);
  if (!value.is_error()) return show(value);
  const EvalError error = (*engine)->describe(value);
  return (error.limit ? "limit: " : "eval: ") + cut(error.message);
}

void expect_lines(std::initializer_list<Line> lines) {
  for (const Line& line : lines) {
    for (const bool check : {true, false}) {
      const std::string actual = show(line.expression, check);
      const bool is_error = actual.find(": ") != std::string::npos &&
                            (actual.starts_with("parse: ") || actual.starts_with("check: ") ||
                             actual.starts_with("eval: ") || actual.starts_with("limit: "));
      if (line.expected == "error") {
        EXPECT_TRUE(is_error) << line.expression << (check ? "" : " (unchecked)") << " gave "
                              << actual;
      } else if (line.expected.starts_with("check: ") && !check) {
        continue;  // only the checker sees it
      } else {
        EXPECT_EQ(actual, line.expected) << line.expression << (check ? "" : " (unchecked)");
      }
    }
  }
}

}  // namespace kollect::cel::testing_support
