// The recorded extraction cases (spec: examples/collection): one object and one profile each.
#include <gtest/gtest.h>

#include <filesystem>

#include "api/codec.h"
#include "base/files.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "extract/program.h"

namespace kollect::extract {
namespace {

using base::json::Document;
using base::json::Value;
using base::json::View;

struct Case {
  std::string name;
  Value content;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

Value parse(std::string_view text) {
  auto document = Document::parse(text);
  return document ? base::json::to_value(document->root()) : Value();
}

std::vector<Case> load_cases() {
  const std::filesystem::path folder = KOLLECT_SOURCE_DIR "/tests/cases/extract";
  std::vector<Case> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto text = base::read_file(entry.path());
    if (!text) continue;
    if (entry.path().extension() == ".json") {
      cases.push_back({entry.path().stem(), parse(*text)});
    } else if (entry.path().extension() == ".jsonl") {
      for (const auto line : base::split(*text, '\n')) {
        if (line.empty()) continue;
        auto value = parse(line);
        cases.push_back({std::string(value.text("name")), std::move(value)});
      }
    }
  }
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

/// The kind of the object, for cases that are not whole profiles.
Value gvk_of(const Value& object) {
  const auto api_version = object.text("apiVersion");
  const auto slash = api_version.find('/');
  base::json::Object gvk;
  gvk.set("group",
          slash == std::string_view::npos ? "" : std::string(api_version.substr(0, slash)));
  gvk.set("version", std::string(slash == std::string_view::npos ? api_version
                                                                 : api_version.substr(slash + 1)));
  gvk.set("kind", std::string(object.text("kind")));
  return gvk;
}

Value profile_spec(const Value& content) {
  if (const auto* spec = content.find("profileSpec")) return *spec;
  base::json::Object spec;
  spec.set("targetGVK", gvk_of(*content.find("object")));
  for (const auto* key : {"attributes", "export"}) {
    if (const auto* value = content.find(key)) spec.set(key, *value);
  }
  return spec;
}

/// What the profile makes of the object, in the form of `expect`.
std::string run(const Value& content) {
  auto spec = api::decode_profile_spec(profile_spec(content));
  if (!spec) return "not a profile: " + spec.error().message;
  Program::CompileInput input;
  input.spec = &*spec;
  if (const auto* annotations = content.find("annotations");
      annotations != nullptr && annotations->is_object()) {
    for (const auto& [key, value] : annotations->as_object())
      input.annotations[key] = value.as_string();
  }
  if (const auto* keys = content.find("operatorScrubKeys"); keys != nullptr && keys->is_array()) {
    for (const auto& key : keys->as_array()) input.options.scrub_keys.push_back(key.as_string());
  }
  base::json::Object error;
  auto program = Program::compile(input);
  if (!program) {
    const auto& first = program.error().front();
    error.set("attribute", first.attribute);
    error.set("class", to_string(first.error_class));
    return base::json::canonical(Value(base::json::Object(std::move(error))));
  }
  const auto document = Document::from_value(*content.find("object"));
  auto extracted = program->extract(document.root(), ObjectContext{});
  if (extracted) return extracted->attributes_json;
  EXPECT_LE(extracted.error().message.size(), 256U);
  error.set("attribute", extracted.error().attribute);
  error.set("class", to_string(extracted.error().error_class));
  return base::json::canonical(Value(std::move(error)));
}

class ExtractionCase : public testing::TestWithParam<Case> {};

TEST_P(ExtractionCase, GivesItsRow) {
  const auto& content = GetParam().content;
  const auto* right = content.find("ours");
  if (right == nullptr) right = content.find("expect");
  ASSERT_NE(right, nullptr);
  const auto* row = right->find("row");
  Value expected = row != nullptr ? *row : *right->find("error");
  if (row == nullptr) expected.as_object().erase("note");
  const auto actual = run(content);
  EXPECT_EQ(actual, base::json::canonical(expected));
  // Where the whole row was recorded byte for byte, ours is a part of it.
  if (const auto item = content.text("canonicalItem");
      !item.empty() && content.find("ours") == nullptr) {
    EXPECT_TRUE(item.ends_with("\"attributes\":" + actual + "}")) << item;
  }
}

INSTANTIATE_TEST_SUITE_P(Collection, ExtractionCase, testing::ValuesIn(load_cases()),
                         [](const auto& instance) {
                           std::string name = instance.param.name;
                           for (auto& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

TEST(ExtractionCases, AllAreThere) {
  EXPECT_EQ(load_cases().size(), 268U);
}

}  // namespace
}  // namespace kollect::extract
