#include "readapi/open_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/strings.h"
#include "readapi/query.h"

namespace kollect::readapi {
namespace {

using base::json::Value;
using ::testing::IsSupersetOf;

void visit(const Value& value,
           const std::function<void(std::string_view key, const Value& value)>& see) {
  if (value.is_array()) {
    for (const Value& one : value.as_array()) visit(one, see);
  }
  if (!value.is_object()) return;
  for (const auto& [key, one] : value.as_object()) {
    see(key, one);
    visit(one, see);
  }
}

TEST(OpenApi, ItsParametersAreThoseOfTheQuery) {
  std::set<std::string> names;
  const Value document = open_api();
  const auto take = [&](const Value& parameter) {
    if (parameter.text("in") == "query") names.emplace(parameter.text("name"));
  };
  visit(document, [&](std::string_view key, const Value& value) {
    if (key == "parameters" && value.is_array()) {
      for (const Value& one : value.as_array()) take(one);
    }
    if (key == "parameters" && value.is_object()) {
      for (const auto& [name, one] : value.as_object()) take(one);
    }
  });
  EXPECT_GT(names.size(), 20U);
  for (const std::string& name : names) {
    const std::string sent = name == "attr" ? "attr.x" : name;
    EXPECT_EQ(unknown_parameter({{sent, "1"}}), "") << name;
  }
}

TEST(OpenApi, WhatItRefersToIsThere) {
  const Value document = open_api();
  std::set<std::string> used;
  visit(document, [&](std::string_view key, const Value& value) {
    if (key != "$ref") return;
    const Value* found = &document;
    for (const std::string_view step : base::split(value.as_string(), '/')) {
      if (step != "#" && found != nullptr) found = found->find(step);
    }
    EXPECT_NE(found, nullptr) << value.as_string();
    used.insert(value.as_string());
  });
  // Schemas of events are named in the text alone.
  const std::set<std::string> told = {"StreamHello", "StreamChange", "StreamEnd"};
  for (const auto& [family, parts] : document.find("components")->as_object()) {
    for (const auto& [name, part] : parts.as_object()) {
      EXPECT_TRUE(family == "securitySchemes" || told.contains(name) ||
                  used.contains("#/components/" + family + "/" + name))
          << family << " " << name;
    }
  }
}

TEST(OpenApi, EveryRouteIsReadOnlyNamedOnceAndTellsItsErrors) {
  const Value document = open_api();
  EXPECT_EQ(document.text("openapi"), "3.0.3");
  std::set<std::string> names;
  for (const auto& [path, methods] : document.find("paths")->as_object()) {
    ASSERT_EQ(methods.as_object().size(), 1U) << path;
    const Value* get = methods.find("get");
    ASSERT_NE(get, nullptr) << path;
    EXPECT_TRUE(names.emplace(get->text("operationId")).second) << path;
    EXPECT_FALSE(get->text("summary").empty()) << path;
    std::set<std::string> answers;
    for (const auto& [status, answer] : get->find("responses")->as_object()) answers.insert(status);
    if (get->find("security") != nullptr) continue;  // open to everybody
    EXPECT_THAT(answers, IsSupersetOf({"200", "401", "403", "429", "500", "503"})) << path;
  }
}

}  // namespace
}  // namespace kollect::readapi
