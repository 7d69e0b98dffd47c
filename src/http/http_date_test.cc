#include "http/http_date.h"

#include <gtest/gtest.h>

namespace kollect::http {
namespace {

base::WallTime at(std::string_view text) {
  const auto time = base::parse_rfc3339(text);
  EXPECT_TRUE(time.has_value()) << text;
  return time.value_or(base::WallTime{});
}

/// RFC 3339 text of a date as it is read in May 2026, "none" when it is no date.
std::string read(std::string_view text, std::string_view now = "2026-05-06T07:08:09Z") {
  const auto time = parse_http_date(text, at(now));
  return time ? base::format_rfc3339(*time) : "none";
}

// The examples of RFC 9110 5.6.7.
TEST(HttpDate, ThreeForms) {
  EXPECT_EQ(read("Sun, 06 Nov 1994 08:49:37 GMT"), "1994-11-06T08:49:37Z");
  EXPECT_EQ(read("Sunday, 06-Nov-94 08:49:37 GMT"), "1994-11-06T08:49:37Z");
  EXPECT_EQ(read("Sun Nov  6 08:49:37 1994"), "1994-11-06T08:49:37Z");
  EXPECT_EQ(read("Wed Nov 16 08:49:37 1994"), "1994-11-16T08:49:37Z");
}

TEST(HttpDate, EdgesOfTheCalendar) {
  EXPECT_EQ(read("Thu, 29 Feb 2024 23:59:59 GMT"), "2024-02-29T23:59:59Z");
  EXPECT_EQ(read("Wed, 29 Feb 2023 00:00:00 GMT"), "none");
  EXPECT_EQ(read("Tue, 31 Dec 2024 23:59:60 GMT"), "2025-01-01T00:00:00Z");
  EXPECT_EQ(read("Wed, 01 Jan 2025 24:00:00 GMT"), "none");
  EXPECT_EQ(read("Wed, 00 Jan 2025 00:00:00 GMT"), "none");
  EXPECT_EQ(read("Fri, 31 Dec 9999 23:59:59 GMT"), "none");
}

TEST(HttpDate, YearsOfTwoDigitsLieNearby) {
  EXPECT_EQ(read("Sunday, 01-Jan-26 00:00:00 GMT"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(read("Sunday, 01-Jan-76 00:00:00 GMT"), "2076-01-01T00:00:00Z");
  EXPECT_EQ(read("Sunday, 01-Jan-77 00:00:00 GMT"), "1977-01-01T00:00:00Z");
  EXPECT_EQ(read("Sunday, 01-Jan-05 00:00:00 GMT", "2080-01-01T00:00:00Z"), "2105-01-01T00:00:00Z");
}

TEST(HttpDate, WhatIsNone) {
  for (const char* text : {"", "7", "Sun", "Sun,", "Sun, 06 Nov 1994 08:49:37",
                           "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 6 Nov 1994 08:49:37 GMT",
                           "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
                           "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ",
                           "Sun, -6 Nov 1994 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT",
                           "Sun Nov 6 08:49:37 1994", "Nov, 06 Nov 1994", "1994-11-06T08:49:37Z"}) {
    EXPECT_EQ(read(text), "none") << text;
  }
}

}  // namespace
}  // namespace kollect::http
