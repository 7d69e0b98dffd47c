#include "base/clock.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace kollect::base {
namespace {

using namespace std::chrono_literals;

TEST(Clock, Rfc3339) {  // spec: sinks 2.3
  const WallTime time = WallTime(1'700'000'000s);
  EXPECT_EQ(format_rfc3339(time), "2023-11-14T22:13:20Z");
  EXPECT_EQ(format_rfc3339(time + 120ms), "2023-11-14T22:13:20.12Z");
  EXPECT_EQ(format_rfc3339(time + 1ns), "2023-11-14T22:13:20.000000001Z");
  EXPECT_EQ(format_rfc3339_seconds(time + 999ms), "2023-11-14T22:13:20Z");
  EXPECT_EQ(format_rfc3339(WallTime(-1ns)), "1969-12-31T23:59:59.999999999Z");
}

TEST(Clock, ReadRfc3339) {
  EXPECT_EQ(*parse_rfc3339("2023-11-14T22:13:20Z"), WallTime(1'700'000'000s));
  EXPECT_EQ(*parse_rfc3339("2023-11-15T00:13:20.5+02:00"), WallTime(1'700'000'000s) + 500ms);
  EXPECT_EQ(*parse_rfc3339("2023-11-14t22:13:20.1234567899z"),
            WallTime(1'700'000'000s) + 123'456'789ns);
  for (const char* text :
       {"", "2023-11-14", "2023-11-14T22:13:20", "2023-02-30T00:00:00Z", "2023-11-14T24:00:00Z",
        "2023-11-14T22:13:20.Z", "2023-11-14T22:13:20Zx", "2023-11-14 22:13:20Z",
        "9999-01-01T00:00:00Z", "2023-11-14T22:13:20+25:00", "2023-1-14T22:13:20Z"}) {
    EXPECT_FALSE(parse_rfc3339(text).has_value()) << text;
  }
}

TEST(Clock, Durations) {  // spec: crds 2.4
  const std::vector<std::pair<std::string, Duration>> good = {
      {"0", 0s},
      {"-0", 0s},
      {"0s", 0s},
      {"500ms", 500ms},
      {"1.5h", 90min},
      {"1h30m", 90min},
      {"1µs", 1us},
      {"1μs", 1us},
      {"1us", 1us},
      {"24h", 24h},
      {"-1m", -1min},
      {"+2s", 2s},
      {".5s", 500ms},
      {"1.s", 1s},
      {"1h1h", 2h},
      {"9223372036854775807ns", Duration::max()},
      {"-9223372036854775808ns", Duration::min()},
      {"0.3333333333333333333h", 20min - 1ns}};
  for (const auto& [text, value] : good) {
    const auto read = parse_duration(text);
    ASSERT_TRUE(read.has_value()) << text;
    EXPECT_EQ(read->count(), value.count()) << text;
  }
  for (const char* text :
       {"", "30", "1d", "abc", ".s", "1", "s", "1 s", "-", "1h30", "9223372036854775808ns",
        "3000000h", "99999999999999999999999999999999999999999h"}) {
    EXPECT_FALSE(parse_duration(text).has_value()) << text;
  }
}

TEST(Clock, DurationText) {
  const std::vector<std::pair<Duration, std::string>> cases = {
      {24h + 1s, "24h0m1s"},
      {60s, "1m0s"},
      {500ms, "500ms"},
      {0s, "0s"},
      {1500ms, "1.5s"},
      {1500us, "1.5ms"},
      {1500ns, "1.5µs"},
      {7ns, "7ns"},
      {-90s, "-1m30s"},
      {1h, "1h0m0s"},
      {Duration::min(), "-2562047h47m16.854775808s"}};
  for (const auto& [value, text] : cases) {
    EXPECT_EQ(format_duration(value), text);
    EXPECT_EQ(parse_duration(text)->count(), value.count());
  }
}

TEST(Clock, Manual) {
  const ManualClock clock(WallTime(10s));
  const SteadyTime before = clock.steady_now();
  clock.advance(5s);
  EXPECT_EQ(clock.now(), WallTime(15s));
  EXPECT_EQ(clock.steady_now() - before, 5s);
  EXPECT_TRUE(clock.sleep(1h, {}));
  EXPECT_EQ(clock.now(), WallTime(15s) + 1h);
}

}  // namespace
}  // namespace kollect::base
