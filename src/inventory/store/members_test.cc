#include "inventory/store/members.h"

#include <gtest/gtest.h>

#include <string>

namespace kollect::inventory {
namespace {

TEST(Members, ApartAndTogetherAgain) {
  const std::vector<std::string> objects = {
      "{}",
      R"({"a":1})",
      R"({"a":"","b":-1.5e-7,"c":true,"d":null})",
      R"({"a":[1,[2,{"x":"]"}]],"b":{"y":{"z":"}"}}})",
      R"({"a\"b":"c\\","d\\":"\"e"})",
      R"({"":{},"x":[]})",
      R"({"über":"Grüße, 世界"})",
  };
  for (const std::string& object : objects) {
    std::vector<Member> members;
    ASSERT_TRUE(split_members(object, members)) << object;
    std::string again = "{";
    for (const Member& member : members) {
      if (again.size() > 1) again += ',';
      again += member.head;
      again += member.value;
      EXPECT_EQ(member.head.front(), '"');
      EXPECT_EQ(member.head.back(), ':');
    }
    EXPECT_EQ(again + "}", object);
  }
}

TEST(Members, Values) {
  std::vector<Member> members;
  ASSERT_TRUE(split_members(R"({"a":[1,2],"b":"x,y"})", members));
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].head, R"("a":)");
  EXPECT_EQ(members[0].value, "[1,2]");
  EXPECT_EQ(members[1].value, R"("x,y")");
}

TEST(Members, AnythingElseIsRefused) {
  for (const std::string text : {"",
                                 "{",
                                 "}",
                                 "null",
                                 "[]",
                                 R"([{"a":1}])",
                                 "{ }",
                                 R"({"a": 1})",
                                 R"({"a" :1})",
                                 R"( {"a":1})",
                                 R"({"a":1} )",
                                 R"({"a":1,})",
                                 R"({,"a":1})",
                                 R"({"a"})",
                                 R"({"a":})",
                                 R"({"a":,"b":1})",
                                 R"({a:1})",
                                 R"({"a":1}x})",
                                 R"({"a":1}{"b":2})",
                                 R"({"a":"x)",
                                 R"({"a":"x})",
                                 R"({"a":"\)",
                                 R"({"a":[1})",
                                 R"({"a":{"b":1})",
                                 R"({"a":1 ,"b":2})",
                                 R"({"a":1)",
                                 R"({"a":]})"}) {
    std::vector<Member> members;
    EXPECT_FALSE(split_members(text, members)) << text;
  }
}

}  // namespace
}  // namespace kollect::inventory
