// The macros that pass errors on; nested ones must compile without a warning about shadowing.
#include "base/result.h"

#include <gtest/gtest.h>

#include <functional>

namespace kollect::base {
namespace {

Result<> call(const std::function<Result<>(int)>& inner) {
  return inner(1);
}

Result<int> twice(int value) {
  if (value < 0) return configuration("below zero", "negative");
  return 2 * value;
}

Result<int> nested(int value) {
  int out = 0;
  KL_TRY(call([&](int one) -> Result<> {
    KL_TRY(call([&](int other) -> Result<> {
      KL_ASSIGN(const int doubled, twice(value));
      out = doubled + one + other;
      return {};
    }));
    return {};
  }));
  return out;
}

TEST(ResultMacros, MayBeNested) {
  EXPECT_EQ(*nested(4), 10);
  const auto failed = nested(-1);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().reason, "negative");
  EXPECT_EQ(failed.error().kind, ErrorKind::kConfiguration);
}

TEST(ResultMacros, TryReturnsAtTheFirstError) {
  int calls = 0;
  const auto run = [&](bool fails) -> Result<> {
    KL_TRY(call([&](int) -> Result<> {
      ++calls;
      return fails ? Result<>(terminal("no")) : Result<>();
    }));
    ++calls;
    return {};
  };
  EXPECT_FALSE(run(true).has_value());
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(run(false).has_value());
  EXPECT_EQ(calls, 3);
}

TEST(ResultMacros, PrefixKeepsKindAndReason) {
  const Error error = conflict("b", "c").with_prefix("a");
  EXPECT_EQ(error.message, "a: b");
  EXPECT_EQ(error.kind, ErrorKind::kConflict);
  EXPECT_EQ(error.reason, "c");
}

}  // namespace
}  // namespace kollect::base
