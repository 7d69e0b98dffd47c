// Timestamps and durations.
#include "cel/test_support.h"
#include "cel/timezone.h"

namespace kollect::cel {
namespace {

using testing_support::expect_lines;

TEST(CelTime, Timestamps) {
  expect_lines({
      {"timestamp('2026-02-03T04:05:06Z')", "timestamp(2026-02-03T04:05:06Z)"},
      {"timestamp('2026-02-03T04:05:06.789Z')", "timestamp(2026-02-03T04:05:06.789Z)"},
      {"timestamp('2026-02-03T04:05:06.123456789Z')", "timestamp(2026-02-03T04:05:06.123456789Z)"},
      {"timestamp('2026-01-01T00:30:00+02:00')", "timestamp(2025-12-31T22:30:00Z)"},
      {"timestamp('2026-01-01T00:30:00-09:30')", "timestamp(2026-01-01T10:00:00Z)"},
      {"timestamp('1969-12-31T23:59:59.5Z')", "timestamp(1969-12-31T23:59:59.5Z)"},
      {"timestamp('0001-01-01T00:00:00Z')", "timestamp(0001-01-01T00:00:00Z)"},
      {"timestamp('9999-12-31T23:59:59.999999999Z')", "timestamp(9999-12-31T23:59:59.999999999Z)"},
      {"timestamp(0)", "timestamp(1970-01-01T00:00:00Z)"},
      {"timestamp(-1)", "timestamp(1969-12-31T23:59:59Z)"},
      {"timestamp(253402300800)", "eval: timestamp out of range (years 1 to 9999)"},
      {"timestamp(-62135596801)", "eval: timestamp out of range (years 1 to 9999)"},
      {"timestamp('0000-01-01T00:00:00Z')", "eval: timestamp out of range (years 1 to 9999)"},
      {"timestamp('0001-01-01T00:00:00+00:01')", "eval: timestamp out of range (years 1 to 9999)"},
      {"timestamp('2026-01-01')", "eval: the text is no RFC 3339 timestamp"},
      {"timestamp('2026-02-30T00:00:00Z')", "eval: the text is no RFC 3339 timestamp"},
      {"timestamp('2024-02-29T00:00:00Z')", "timestamp(2024-02-29T00:00:00Z)"},
      {"timestamp('2026-01-01T24:00:00Z')", "eval: the text is no RFC 3339 timestamp"},
      {"timestamp('2026-01-01T00:00:60Z')", "eval: the text is no RFC 3339 timestamp"},
      {"timestamp('2026-01-01T00:00:00')", "eval: the text is no RFC 3339 timestamp"},
      {"timestamp('2026-01-01 00:00:00Z')", "eval: the text is no RFC 3339 timestamp"},
      {"timestamp('2026-01-01T00:00:00.Z')", "eval: the text is no RFC 3339 timestamp"},
      {"timestamp('2026-01-01T00:00:00+2:00')", "eval: the text is no RFC 3339 timestamp"},
      {"timestamp('2026-01-01T00:00:00Zx')", "eval: the text is no RFC 3339 timestamp"},
      {"timestamp(1.5)", "error"},
  });
}

TEST(CelTime, Durations) {
  expect_lines({
      {"duration('1h30m')", "duration(5400s)"},
      {"duration('90s')", "duration(90s)"},
      {"duration('1.5s')", "duration(1.5s)"},
      {"duration('-1.5s')", "duration(-1.5s)"},
      {"duration('-1h2m3.004s')", "duration(-3723.004s)"},
      {"duration('100ms')", "duration(0.1s)"},
      {"duration('1us')", "duration(0.000001s)"},
      {"duration('1ns')", "duration(0.000000001s)"},
      {"duration('1.5h')", "duration(5400s)"},
      {"duration('0')", "duration(0s)"},
      {"duration('+2s')", "duration(2s)"},
      {"duration('.5s')", "duration(0.5s)"},
      {"duration('315576000000s')", "duration(315576000000s)"},
      {"duration('315576000000s999999999ns')", "duration(315576000000.999999999s)"},
      {"duration('-315576000000s999999999ns')", "duration(-315576000000.999999999s)"},
      {"duration('315576000000s1000000000ns')",
       "eval: duration out of range (315576000000 seconds)"},
      {"duration('-315576000000s1000000000ns')",
       "eval: duration out of range (315576000000 seconds)"},
      {"duration('315576000001s')", "eval: duration out of range (315576000000 seconds)"},
      {"duration('-320000000000s')", "eval: duration out of range (315576000000 seconds)"},
      {"duration('1d')", "eval: the text is no duration (units h, m, s, ms, us, ns)"},
      {"duration('5')", "eval: the text is no duration (units h, m, s, ms, us, ns)"},
      {"duration('')", "eval: the text is no duration (units h, m, s, ms, us, ns)"},
      {"duration('s')", "eval: the text is no duration (units h, m, s, ms, us, ns)"},
      {"duration('1s ')", "eval: the text is no duration (units h, m, s, ms, us, ns)"},
      {"duration('1h-1m')", "eval: the text is no duration (units h, m, s, ms, us, ns)"},
      {"duration('--1s')", "eval: the text is no duration (units h, m, s, ms, us, ns)"},
  });
}

TEST(CelTime, Arithmetic) {
  expect_lines({
      {"timestamp(10) + duration('5s')", "timestamp(1970-01-01T00:00:15Z)"},
      {"duration('5s') + timestamp(10)", "timestamp(1970-01-01T00:00:15Z)"},
      {"timestamp(10) - duration('500ms')", "timestamp(1970-01-01T00:00:09.5Z)"},
      {"timestamp(10) - timestamp(12)", "duration(-2s)"},
      {"duration('1s') + duration('500ms')", "duration(1.5s)"},
      {"duration('1s') - duration('1500ms')", "duration(-0.5s)"},
      {"timestamp('9999-12-31T23:59:59Z') + duration('1s')",
       "eval: timestamp out of range (years 1 to 9999)"},
      {"timestamp('0001-01-01T00:00:00Z') - duration('1ns')",
       "eval: timestamp out of range (years 1 to 9999)"},
      {"duration('315576000000s999999999ns') + duration('1ns')",
       "eval: duration out of range (315576000000 seconds)"},
      {"duration('-315576000000s999999999ns') - duration('1ns')",
       "eval: duration out of range (315576000000 seconds)"},
      {"duration('-315576000000s') - duration('999999999ns')",
       "duration(-315576000000.999999999s)"},
      {"timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z')",
       "duration(315537897599s)"},
      {"timestamp('0001-01-01T00:00:00Z') - timestamp('9999-12-31T23:59:59.999999999Z')",
       "duration(-315537897599.999999999s)"},
      {"timestamp(0) + timestamp(0)", "error"},
      {"duration('1s') - timestamp(0)", "error"},
      {"duration('1s') * 2", "error"},
      {"timestamp(0) + 1", "error"},
  });
}

TEST(CelTime, PartsOfTimestamps) {
  expect_lines({
      {"timestamp('2026-02-03T04:05:06.789Z').getFullYear()", "2026"},
      {"timestamp('2026-02-03T04:05:06.789Z').getMonth()", "1"},
      {"timestamp('2026-02-03T04:05:06.789Z').getDate()", "3"},
      {"timestamp('2026-02-03T04:05:06.789Z').getDayOfMonth()", "2"},
      {"timestamp('2026-02-03T04:05:06.789Z').getDayOfWeek()", "2"},
      {"timestamp('2026-02-03T04:05:06.789Z').getDayOfYear()", "33"},
      {"timestamp('2026-02-03T04:05:06.789Z').getHours()", "4"},
      {"timestamp('2026-02-03T04:05:06.789Z').getMinutes()", "5"},
      {"timestamp('2026-02-03T04:05:06.789Z').getSeconds()", "6"},
      {"timestamp('2026-02-03T04:05:06.789Z').getMilliseconds()", "789"},
      {"timestamp('2026-02-03T23:05:06Z').getHours('+02:00')", "1"},
      {"timestamp('2026-02-03T23:05:06Z').getHours('Z')", "error"},
      {"timestamp('2026-02-03T23:05:06Z').getDate('02:00')", "4"},
      {"timestamp('2026-02-03T04:05:06Z').getMinutes('-09:30')", "35"},
      {"timestamp('1969-12-31T23:59:59.9Z').getSeconds()", "59"},
      {"timestamp('2026-01-15T12:00:00Z').getHours('Europe/Berlin')", "13"},
      {"timestamp('2026-07-15T12:00:00Z').getHours('Europe/Berlin')", "14"},
      {"timestamp('2026-03-29T00:59:59Z').getHours('Europe/Berlin')", "1"},
      {"timestamp('2026-03-29T01:00:00Z').getHours('Europe/Berlin')", "3"},
      {"timestamp('2100-07-15T12:00:00Z').getHours('Europe/Berlin')", "14"},
      {"timestamp('2100-01-15T12:00:00Z').getHours('Australia/Sydney')", "23"},
      {"timestamp('1990-07-15T12:00:00Z').getHours('Europe/Berlin')", "14"},
      {"timestamp('2026-01-15T12:00:00Z').getHours('Asia/Kathmandu')", "17"},
      {"timestamp('2026-01-15T12:00:00Z').getMinutes('Asia/Kathmandu')", "45"},
      {"timestamp('2026-01-15T12:00:00Z').getHours('UTC')", "12"},
      {"timestamp(0).getHours('No/Where')", "eval: there is no such time zone"},
      {"timestamp(0).getHours('../../etc/passwd')", "eval: there is no such time zone"},
      {"timestamp(0).getHours('+25:00')", "eval: there is no such time zone"},
      {"timestamp(0).getHours(1)", "error"},
  });
}

TEST(CelTime, PartsOfDurations) {
  expect_lines({
      {"duration('1h30m5.678s').getHours()", "1"},
      {"duration('1h30m5.678s').getMinutes()", "90"},
      {"duration('1h30m5.678s').getSeconds()", "5405"},
      {"duration('1h30m5.678s').getMilliseconds()", "678"},
      {"duration('-90s').getMinutes()", "-1"},
      {"duration('-1500ms').getSeconds()", "-1"},
      {"duration('-1500ms').getMilliseconds()", "-500"},
      {"duration('1h').getFullYear()", "error"},
      {"duration('1h').getHours('UTC')", "error"},
  });
}

TEST(CelTime, BrokenZoneFilesAreRefused) {
  EXPECT_EQ(TimeZone::from_tzif(""), nullptr);
  EXPECT_EQ(TimeZone::from_tzif("TZif2"), nullptr);
  EXPECT_EQ(TimeZone::from_tzif(std::string("TZif2") + std::string(60, '\0')), nullptr);
  EXPECT_EQ(TimeZone::from_tzif(std::string("TZif2") + std::string(200, '\xff')), nullptr);
}

}  // namespace
}  // namespace kollect::cel
