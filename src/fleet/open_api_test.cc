#include "fleet/open_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/strings.h"
#include "fleet/api.h"

namespace kollect::fleet {
namespace {

using base::json::Value;
using ::testing::ContainerEq;

std::set<std::string> operations_of(const Value& document) {
  std::set<std::string> out;
  for (const auto& [path, methods] : document.find("paths")->as_object()) {
    for (const auto& [method, operation] : methods.as_object()) {
      std::string upper = method;
      for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      out.insert(upper + " " + path);
    }
  }
  return out;
}

TEST(OpenApi, DescribesExactlyTheRoutes) {
  std::set<std::string> routes;
  for (const auto& [method, path] : Api::route_names()) {
    if (path == "none" || path == "/clusters/{id}/clusters/{part}") continue;
    routes.insert(method + " " + path);
  }
  EXPECT_THAT(operations_of(open_api()), ContainerEq(routes));
}

void check_references(const Value& document, const Value& value) {
  if (value.is_array()) {
    for (const Value& one : value.as_array()) check_references(document, one);
  }
  if (!value.is_object()) return;
  for (const auto& [key, one] : value.as_object()) {
    check_references(document, one);
    if (key != "$ref") continue;
    const Value* found = &document;
    for (const std::string_view step : base::split(one.as_string(), '/')) {
      if (step != "#" && found != nullptr) found = found->find(step);
    }
    EXPECT_NE(found, nullptr) << one.as_string();
  }
}

TEST(OpenApi, WhatItRefersToIsThere) {
  const Value document = open_api();
  check_references(document, document);
  std::set<std::string_view> names;
  for (const auto& [path, methods] : document.find("paths")->as_object()) {
    for (const auto& [method, operation] : methods.as_object()) {
      EXPECT_TRUE(names.insert(operation.text("operationId")).second) << path;
      EXPECT_EQ(
          operation.find("requestBody") != nullptr,
          (method == "post" && !path.ends_with("/undo")) || method == "put" || method == "patch")
          << method << path;
    }
  }
}

}  // namespace
}  // namespace kollect::fleet
