// One profile on one object, for tests of the program.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "api/codec.h"
#include "base/json/document.h"
#include "base/yaml/read.h"
#include "extract/program.h"

namespace kollect::extract::test {

using base::json::Document;

struct Attribute {
  const char* name;
  const char* path;
  bool optional = false;
};

class Fixture : public testing::Test {
 protected:
  api::ProfileSpec spec_;
  std::map<std::string, std::string> annotations_;
  Options options_;

  void SetUp() override { spec_.target_gvk = {"apps", "v1", "Deployment"}; }

  void attributes(std::initializer_list<Attribute> list) {
    spec_.attributes.clear();
    for (const auto& a : list) {
      api::Attribute attribute;
      attribute.name = a.name;
      attribute.path = a.path;
      attribute.optional = a.optional;
      spec_.attributes.push_back(std::move(attribute));
    }
  }
  /// `export` as JSON.
  void export_block(std::string_view json) {
    auto value = base::yaml::read_one(R"({"targetGVK":{"version":"v1","kind":"X"},"export":)" +
                                      std::string(json) + "}");
    ASSERT_TRUE(value) << value.error().message;
    auto spec = api::decode_profile_spec(*value);
    ASSERT_TRUE(spec) << spec.error().message;
    spec_.export_spec = spec->export_spec;
  }
  [[nodiscard]] auto compile() const {
    Program::CompileInput input;
    input.spec = &spec_;
    input.annotations = annotations_;
    input.options = options_;
    return Program::compile(input);
  }
  /// "field kind" of each problem.
  [[nodiscard]] std::vector<std::string> problems() const {
    std::vector<std::string> out;
    auto program = compile();
    if (program) return out;
    for (const auto& problem : program.error()) {
      out.push_back(problem.field +
                    (problem.kind == CompileProblem::Kind::kForbidden ? " Forbidden" : " Invalid"));
    }
    return out;
  }
  /// The row, or "class: message".
  [[nodiscard]] std::string run(const Document& object) const {
    auto program = compile();
    if (!program) {
      const auto& problem = program.error().front();
      return std::string(to_string(problem.error_class)) + ": " + problem.message;
    }
    ObjectContext context;
    context.cluster = "east";
    auto extracted = program->extract(object.root(), context);
    if (extracted) return extracted->attributes_json;
    return std::string(to_string(extracted.error().error_class)) + ": " + extracted.error().message;
  }
  [[nodiscard]] std::string value(const char* path, const Document& object) {
    attributes({{"v", path}});
    auto program = compile();
    if (!program) return "refused: " + program.error().front().message;
    const auto traces = program->explain(object.root(), {});
    switch (traces.front().yield) {
      case AttributeTrace::Yield::kAbsent:
        return "absent";
      case AttributeTrace::Yield::kError:
        return std::string(to_string(traces.front().error->error_class)) + ": " +
               traces.front().error->message;
      default:
        return traces.front().value_json;
    }
  }
};

inline Document parse(std::string_view json) {
  auto document = Document::parse(json);
  EXPECT_TRUE(document);
  return std::move(*document);
}

struct Example {
  const char* path;
  const char* value;
};

}  // namespace kollect::extract::test
