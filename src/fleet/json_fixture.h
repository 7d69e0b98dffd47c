// JSON texts in tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/json/document.h"
#include "base/json/value.h"

namespace kollect::fleet {

/// Fails the test when the text is no JSON.
inline base::json::Value parse(const std::string& text) {
  const auto document = base::json::Document::parse(text);
  EXPECT_TRUE(document.has_value()) << text;
  return document ? base::json::to_value(document->root()) : base::json::Value();
}

}  // namespace kollect::fleet
