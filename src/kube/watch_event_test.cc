#include "kube/watch_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kollect::kube {
namespace {

using ::testing::HasSubstr;
using Type = WatchEvent::Type;

class WatchEventTest : public ::testing::Test {
 protected:
  base::json::Document document_;
  std::string line_;

  base::Result<WatchEvent> read(std::string line) {
    line_ = std::move(line);
    return read_watch_event(document_, line_);
  }
  std::string refused(std::string line) {
    const auto event = read(std::move(line));
    EXPECT_FALSE(event);
    if (event) return "";
    EXPECT_EQ(event.error().kind, base::ErrorKind::kRetryable);
    EXPECT_EQ(event.error().reason, "unreadable");
    return event.error().message;
  }
};

TEST_F(WatchEventTest, Changes) {
  for (const auto& [name, type] :
       {std::pair{"ADDED", Type::kPut}, {"MODIFIED", Type::kPut}, {"DELETED", Type::kDeleted}}) {
    auto event = read(fmt::format(R"({{"type":"{}","object":{{"kind":"Boat","metadata":)"
                                  R"({{"name":"a","resourceVersion":"7"}}}}}})",
                                  name));
    ASSERT_TRUE(event) << event.error().message;
    EXPECT_EQ(event->type, type);
    EXPECT_EQ(event->version, "7");
    EXPECT_EQ(event->object.text("kind"), "Boat");
    EXPECT_FALSE(event->end_of_list);
  }
}

TEST_F(WatchEventTest, NumbersOfAnySizeAreNoTrouble) {
  auto event = read(
      R"({"object":{"metadata":{"resourceVersion":"1"},"a":1e400,"b":123456789012345678901234},"type":"ADDED"})");
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->object.find("b")->number_text(), "123456789012345678901234");
}

TEST_F(WatchEventTest, Bookmarks) {
  auto plain = read(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"300"}}})");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->type, Type::kMark);
  EXPECT_EQ(plain->version, "300");
  EXPECT_FALSE(plain->end_of_list);
  const auto with = [&](const std::string& value) {
    auto event = read(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"300",)"
                      R"("annotations":{"k8s.io/initial-events-end":)" +
                      value + "}}}}");
    EXPECT_TRUE(event);
    return event && event->end_of_list;
  };
  EXPECT_TRUE(with(R"("true")"));
  EXPECT_FALSE(with(R"("false")"));
  EXPECT_FALSE(with("true"));
}

TEST_F(WatchEventTest, ErrorsCarryAStatus) {
  auto event = read(
      R"({"type":"ERROR","object":{"kind":"Status","reason":"Expired","code":410,"message":"m"}})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, Type::kError);
  EXPECT_EQ(event->code, 410);
  EXPECT_EQ(event->reason, "Expired");
  auto bare = read(R"({"type":"ERROR","object":{}})");
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->code, 0);
}

TEST_F(WatchEventTest, WhatCannotBeReadIsSaid) {
  refused("<html>login</html>");
  refused(R"({"type":"ADDED","object":{"metadata":{"name":"a"})");
  refused("[]");
  EXPECT_THAT(refused(R"({"object":{"metadata":{}}})"), HasSubstr("type"));
  EXPECT_THAT(refused(R"({"type":"RENAMED","object":{"metadata":{}}})"), HasSubstr("type"));
  EXPECT_THAT(refused(R"({"type":"ADDED"})"), HasSubstr("no object"));
  EXPECT_THAT(refused(R"({"type":"ADDED","object":null})"), HasSubstr("no object"));
  EXPECT_THAT(refused(R"({"type":"DELETED","object":{}})"), HasSubstr("no metadata"));
  EXPECT_THAT(refused(R"({"type":"ADDED","object":{"metadata":[]}})"), HasSubstr("no metadata"));
}

TEST(WentBack, OnlyPlainNumbersAreCompared) {
  EXPECT_TRUE(went_back("99", "100"));
  EXPECT_TRUE(went_back("100", "101"));
  EXPECT_FALSE(went_back("100", "100"));
  EXPECT_FALSE(went_back("101", "99"));
  EXPECT_FALSE(went_back("a", "b"));
  EXPECT_FALSE(went_back("", "5"));
  EXPECT_FALSE(went_back("5", ""));
  EXPECT_FALSE(went_back("05", "6"));
}

}  // namespace
}  // namespace kollect::kube
