#include "kube/list_scanner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace kollect::kube {
namespace {

const std::string kList =
    R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"a\"}b\\"},)"
    R"("items":[{"metadata":{"name":"x"},"a":"}]{\\\""},{"n":[{},{}]}, {}]} )"
    "\n";

std::string_view metadata_of(const ListScanner& scanner, const std::string& text) {
  if (!scanner.metadata()) return "none";
  return std::string_view(text).substr(scanner.metadata()->begin, scanner.metadata()->size);
}

TEST(ListScanner, FindsTheSameInAllChunkSizes) {
  for (std::size_t chunk = 1; chunk <= kList.size(); ++chunk) {
    ListScanner scanner;
    std::string text;
    for (std::size_t at = 0; at < kList.size(); at += chunk) {
      text += kList.substr(at, chunk);
      ASSERT_TRUE(scanner.feed(text));
    }
    EXPECT_TRUE(scanner.complete());
    EXPECT_TRUE(scanner.has_items());
    EXPECT_EQ(scanner.items(), 3U);
    EXPECT_EQ(metadata_of(scanner, text), R"({"resourceVersion":"7","continue":"a\"}b\\"})");
  }
}

TEST(ListScanner, KnowsMetadataBeforeTheItems) {
  ListScanner scanner;
  const std::string head = kList.substr(0, kList.find("\"items\""));
  ASSERT_TRUE(scanner.feed(head));
  EXPECT_TRUE(scanner.metadata());
  EXPECT_FALSE(scanner.complete());
  EXPECT_FALSE(scanner.has_items());
}

TEST(ListScanner, EveryCutIsIncomplete) {
  const std::size_t whole = kList.rfind('}') + 1;
  for (std::size_t size = 0; size < whole; ++size) {
    ListScanner scanner;
    EXPECT_TRUE(scanner.feed(kList.substr(0, size)));
    EXPECT_FALSE(scanner.complete()) << size;
  }
}

TEST(ListScanner, MetadataBehindTheItemsAndMissingItems) {
  ListScanner behind;
  const std::string text = R"({"items":[{"metadata":{"name":"n"}}],"metadata":{"continue":"c"}})";
  ASSERT_TRUE(behind.feed(text));
  EXPECT_EQ(metadata_of(behind, text), R"({"continue":"c"})");
  ListScanner without;
  ASSERT_TRUE(without.feed(R"({"kind":"Status","metadata":{}})"));
  EXPECT_TRUE(without.complete());
  EXPECT_FALSE(without.has_items());
  ListScanner null_items;
  ASSERT_TRUE(null_items.feed(R"({"items":null})"));
  EXPECT_TRUE(null_items.has_items());
  EXPECT_EQ(null_items.items(), 0U);
}

TEST(ListScanner, WhatIsNoObjectIsRefused) {
  for (const char* text : {"<html>", "[1]", "\"x\"", "{} {}", "{}x", "}", "nul"}) {
    ListScanner scanner;
    EXPECT_FALSE(scanner.feed(text)) << text;
  }
}

TEST(ListScanner, StaysLinear) {
  // Escapes before a far quote, and quotes that are all escaped.
  for (const char* piece : {"\\n-", "\\\"", "\\\\"}) {
    std::string text = R"({"items":[{"a":")";
    for (int i = 0; i < 1'000'000; ++i) text += piece;
    text += R"("}]})";
    ListScanner scanner;
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t at = 16384; at < text.size() + 16384; at += 16384) {
      ASSERT_TRUE(scanner.feed(std::string_view(text).substr(0, std::min(at, text.size()))));
    }
    EXPECT_TRUE(scanner.complete());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  }
}

}  // namespace
}  // namespace kollect::kube
