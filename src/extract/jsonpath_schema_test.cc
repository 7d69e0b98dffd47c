// Fields of paths against the schema of a CustomResourceDefinition (spec: pipeline 13).
#include <gtest/gtest.h>

#include "base/strings.h"
#include "base/yaml/read.h"
#include "extract/jsonpath.h"

namespace kollect::extract {
namespace {

constexpr const char* kSchema = R"(
type: object
properties:
  apiVersion: {type: string}
  metadata: {type: object}
  spec:
    type: object
    properties:
      replicas: {type: integer}
      port: {x-kubernetes-int-or-string: true}
      labels: {type: object, additionalProperties: {type: string}}
      anything: {type: object, x-kubernetes-preserve-unknown-fields: true}
      mostly: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: object}}}
      template: {type: object, x-kubernetes-embedded-resource: true}
      free: {type: object, additionalProperties: true}
      dotted.key: {type: string}
      rules:
        type: array
        items:
          type: object
          properties:
            host: {type: string}
            paths: {type: array, items: {type: object, properties: {path: {type: string}}}}
)";

/// "spec.x" or "spec.x near: y"; "" when nothing is missing or it cannot be told.
std::string missing(std::string_view path) {
  const auto schema = base::yaml::read_one(kSchema);
  EXPECT_TRUE(schema.has_value());
  const auto document = base::json::Document::from_value(*schema);
  const auto compiled = JsonPath::compile(path);
  EXPECT_TRUE(compiled.has_value()) << path;
  if (!compiled) return "?";
  const auto found = compiled->field_unknown_to(document.root());
  if (!found) return "";
  return found->path + (found->near.empty() ? "" : " near: " + base::join(found->near, ","));
}

TEST(JsonPathSchema, KnownFields) {
  for (const char* path :
       {"$", "$.kind", "$.apiVersion", "$.metadata.anything.at.all", "$.spec.replicas",
        "$.spec.port", "$.spec.labels.x", "$.spec['dotted.key']", "$.spec.rules[0].host",
        "$.spec.rules[*].paths[-1].path", "$.spec.rules[0:2]['host','paths']",
        "$.spec.rules[?(@.host==\"a\")].paths", "$.spec.rules[?(@.host==$.kind)]", "$.spec.*",
        "$[].spec.replicas"}) {
    EXPECT_EQ(missing(path), "") << path;
  }
}

TEST(JsonPathSchema, UnknownFields) {
  EXPECT_EQ(missing("$.status"), "status");
  EXPECT_EQ(missing("$.spec.replica"), "spec.replica near: replicas");
  EXPECT_EQ(missing("$.spec.replicas.x"), "spec.replicas.x");
  EXPECT_EQ(missing("$.spec.port.x"), "spec.port.x");
  EXPECT_EQ(missing("$.kind.x"), "kind.x");
  EXPECT_EQ(missing("$.spec.labels.x.y"), "spec.labels.x.y");
  EXPECT_EQ(missing("$.spec.rules.host"), "spec.rules.host");
  EXPECT_EQ(missing("$.spec.rules[*].hosts"), "spec.rules[].hosts near: host");
  EXPECT_EQ(missing("$.spec.rules[0]['host','path']"), "spec.rules[].path near: paths");
  EXPECT_EQ(missing("$.spec.rules[?(@.name==\"a\")].host"), "spec.rules[].name");
  EXPECT_EQ(missing("$.spec.rules[?(@.host==\"a\" && !@.port)].host"), "spec.rules[].port");
  EXPECT_EQ(missing("$.spec.rules[?(@.host==$.stats)].host"), "stats");
  EXPECT_EQ(missing("$.spec.dotted.key"), "spec.dotted");
}

TEST(JsonPathSchema, WhatCannotBeTold) {
  for (const char* path : {"$.spec.anything.a.b", "$.spec.mostly.b", "$.spec.mostly.b.c",
                           "$.spec.template.x", "$.spec.free.x.y", "$..nothing", "$.spec..nothing",
                           "$.spec.replicas[0].x", "$.spec.*.host", "$.metadata.lables"}) {
    EXPECT_EQ(missing(path), "") << path;
  }
  EXPECT_EQ(missing("$.spec.mostly.a.c"), "spec.mostly.a.c");
}

}  // namespace
}  // namespace kollect::extract
