#include "fleet/diff.h"

#include <gtest/gtest.h>

#include "base/json/write.h"

#include "fleet/json_fixture.h"

namespace kollect::fleet {
namespace {

using base::json::Value;

std::string between(const std::string& before, const std::string& after) {
  return base::json::compact(to_value(differences(parse(before), parse(after))));
}

TEST(FleetDiff, GoesByKeyAndById) {
  EXPECT_EQ(between(R"({"a":1})", R"({"a":1.0})"), "[]");
  EXPECT_EQ(between(R"({"a":{"b":"1","c":"2"}})", R"({"a":{"b":"1","d":"3"}})"),
            R"([{"path":["a","c"],"before":"2","after":null},)"
            R"({"path":["a","d"],"before":null,"after":"3"}])");
  EXPECT_EQ(between(R"({"l":[{"id":"x","t":"1"},{"id":"y"}]})",
                    R"({"l":[{"id":"z"},{"id":"x","t":"2"}]})"),
            R"([{"path":["l","x","t"],"before":"1","after":"2"},)"
            R"({"path":["l","y"],"before":{"id":"y"},"after":null},)"
            R"({"path":["l","z"],"before":null,"after":{"id":"z"}}])");
}

TEST(FleetDiff, OtherListsAndAnotherOrderAreOneDifference) {
  EXPECT_EQ(between(R"({"l":["a","b"]})", R"({"l":["b","a"]})"),
            R"([{"path":["l"],"before":["a","b"],"after":["b","a"]}])");
  EXPECT_EQ(between(R"({"l":[{"id":"x"},{"id":"y"}]})", R"({"l":[{"id":"y"},{"id":"x"}]})"),
            R"([{"path":["l"],"before":[{"id":"x"},{"id":"y"}],"after":[{"id":"y"},{"id":"x"}]}])");
  EXPECT_EQ(between(R"({"l":[{"id":"x"},{"id":"x"}]})", R"({"l":[{"id":"x"}]})"),
            R"([{"path":["l"],"before":[{"id":"x"},{"id":"x"}],"after":[{"id":"x"}]}])");
}

TEST(FleetDiff, SettingThePathsOfDifferencesLeadsBack) {
  const Value before = parse(
      R"({"id":"c","n":1,"l":[{"id":"x","t":"1"},{"id":"y"}],"p":{"x":{"k":"v"}},"m":{"a":"b"}})");
  const Value after = parse(
      R"({"id":"c","w":2,"l":[{"id":"x"},{"id":"z","t":"3"}],"p":{"x":{"j":"v"},"q":{"k":"v"}}})");
  Value back = after;
  for (const Difference& one : differences(before, after)) {
    const Value* is = value_at(back, one.path);
    EXPECT_EQ(is != nullptr ? *is : Value(), one.after);
    set_at(back, one.path, one.before);
  }
  EXPECT_EQ(base::json::compact(Value(differences(before, back).empty())), "true")
      << base::json::compact(back);
}

}  // namespace
}  // namespace kollect::fleet
