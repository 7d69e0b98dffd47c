// Data cases: tests/cases/cel holds one case a file and extraction.jsonl one case a line (spec:
// extraction 11).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/json/write.h"
#include "cel/cel.h"

namespace kollect::cel {
namespace {

namespace json = base::json;

struct Case {
  std::string name;
  std::string text;
};

std::string read_all(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<Case> load_cases() {
  const std::filesystem::path folder = KOLLECT_SOURCE_DIR "/tests/cases/cel";
  std::vector<Case> cases;
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.insert(entry.path());
  for (const auto& file : files) {
    if (file.extension() == ".json") cases.push_back({file.stem().string(), read_all(file)});
  }
  std::stringstream lines(read_all(folder / "extraction.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto document = json::Document::parse(line);
    cases.push_back({std::string(document->root().text("name")), line});
  }
  return cases;
}

class CelCase : public testing::TestWithParam<Case> {};

/// The row that the CEL attributes of the case give, or {"error": …} of the first required one that
/// fails.
json::Value evaluate(json::View attributes, json::View object) {
  Environment environment;
  environment.variables = {{"object", "dyn"}};
  json::Object row;
  for (const json::View attribute : attributes.items()) {
    const std::string_view path = attribute.text("path");
    if (!path.starts_with("cel:")) continue;
    const std::string name(attribute.text("name"));
    const auto optional = attribute.find("optional");
    const bool may_miss = optional && optional->as_bool();
    const auto program = Program::compile(path.substr(4), environment);
    std::optional<Outcome> outcome;
    if (program) {
      auto result = program->evaluate({{"object", object}});
      if (result) outcome = std::move(*result);
    }
    if (!outcome && !may_miss) {
      json::Object error;
      error.set("attribute", name);
      error.set("class", "cel");
      json::Object result;
      result.set("error", std::move(error));
      return result;
    }
    const bool empty = !outcome || !outcome->value || outcome->value->is_null();
    if (may_miss && empty) continue;
    row.set(name, outcome->value ? *outcome->value : json::Value());
  }
  json::Object result;
  result.set("row", std::move(row));
  return result;
}

/// Takes what does not concern the engine out of the expectation: attributes of other languages,
/// notes.
json::Value expectation(json::View test, json::View attributes) {
  const auto ours = test.find("ours");
  json::Value expected = json::to_value(ours ? *ours : *test.find("expect"));
  expected.as_object().erase("note");
  if (json::Value* row = expected.find("row")) {
    for (const json::View attribute : attributes.items()) {
      if (!attribute.text("path").starts_with("cel:"))
        row->as_object().erase(attribute.text("name"));
    }
  }
  return expected;
}

TEST_P(CelCase, GivesTheRow) {
  const auto document = json::Document::parse(GetParam().text);
  ASSERT_TRUE(document.has_value());
  const json::View test = document->root();
  const auto profile = test.find("profileSpec");
  const json::View attributes = *(profile ? *profile : test).find("attributes");
  const json::Value expected = expectation(test, attributes);
  const std::string text = json::canonical(expected);
  const json::Value actual = evaluate(attributes, *test.find("object"));
  // Redaction is the extract room's; there these cases run to the end.
  if (text.find("\"redacted\":true") != std::string::npos) {
    EXPECT_NE(actual.find("row"), nullptr);
    return;
  }
  EXPECT_EQ(json::canonical(actual), text);
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, CelCase, testing::ValuesIn(load_cases()), case_name);

}  // namespace
}  // namespace kollect::cel
