#include "base/clock.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace kollect::base {

namespace {

using std::chrono::nanoseconds;

/// Timed waits add the duration to "now"; this bound keeps that sum inside 64 bits.
constexpr Duration kLongestWait = std::chrono::hours(24 * 365);

std::string format_date_time(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

/// Reads exactly `digits` decimal digits off the front.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) {
    return std::nullopt;
  }
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') {
      return std::nullopt;
    }
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take_char(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

/// ".123" in nanoseconds; digits past the ninth are cut. None when the dot has no digit behind it.
std::optional<nanoseconds> take_fraction(std::string_view& text) {
  if (!take_char(text, '.')) {
    return nanoseconds(0);
  }
  std::int64_t value = 0;
  int digits = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    if (digits < 9) {
      value = value * 10 + (text.front() - '0');
    }
    ++digits;
    text.remove_prefix(1);
  }
  if (digits == 0) {
    return std::nullopt;
  }
  for (; digits < 9; ++digits) {
    value *= 10;
  }
  return nanoseconds(value);
}

/// "Z" or "+hh:mm"; the offset from UTC.
std::optional<std::chrono::minutes> take_offset(std::string_view& text) {
  if (take_char(text, 'Z') || take_char(text, 'z')) {
    return std::chrono::minutes(0);
  }
  const bool negative = !text.empty() && text.front() == '-';
  if (!negative && (text.empty() || text.front() != '+')) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  const auto hours = take_digits(text, 2);
  if (!hours || *hours > 23 || !take_char(text, ':')) {
    return std::nullopt;
  }
  const auto minutes = take_digits(text, 2);
  if (!minutes || *minutes > 59) {
    return std::nullopt;
  }
  const std::chrono::minutes offset(*hours * 60 + *minutes);
  return negative ? -offset : offset;
}

std::optional<WallTime> read_rfc3339(std::string_view text) {
  const auto year = take_digits(text, 4);
  const bool dash = take_char(text, '-');
  const auto month = take_digits(text, 2);
  const bool dash2 = take_char(text, '-');
  const auto day = take_digits(text, 2);
  const bool separator = take_char(text, 'T') || take_char(text, 't');
  const auto hour = take_digits(text, 2);
  const bool colon = take_char(text, ':');
  const auto minute = take_digits(text, 2);
  const bool colon2 = take_char(text, ':');
  const auto second = take_digits(text, 2);
  if (!year || !dash || !month || !dash2 || !day || !separator || !hour || !colon || !minute ||
      !colon2 || !second) {
    return std::nullopt;
  }
  const auto fraction = take_fraction(text);
  const auto offset = take_offset(text);
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(*month),
                                         std::chrono::day(*day)};
  if (!fraction || !offset || !text.empty() || !date.ok() || *hour > 23 || *minute > 59 ||
      *second > 60) {
    return std::nullopt;
  }
  // Nanoseconds in 64 bits reach from 1677 to 2262.
  if (*year < 1678 || *year > 2261) {
    return std::nullopt;
  }
  return WallTime(std::chrono::sys_days(date)) + std::chrono::hours(*hour) +
         std::chrono::minutes(*minute) + std::chrono::seconds(*second) + *fraction - *offset;
}

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
// Longer names first where one is the beginning of another.
constexpr std::array<Unit, 8> kUnits = {{{"ns", 1},
                                         {"us", 1'000},
                                         {"\xC2\xB5s", 1'000},
                                         {"\xCE\xBCs", 1'000},
                                         {"ms", 1'000'000},
                                         {"s", 1'000'000'000},
                                         {"m", 60'000'000'000},
                                         {"h", 3'600'000'000'000}}};

__extension__ using Wide = unsigned __int128;
constexpr Wide kOverflow = static_cast<Wide>(1) << 100;

/// One "number unit" group in nanoseconds; none when malformed or far too large.
std::optional<Wide> take_group(std::string_view& text) {
  Wide whole = 0;
  Wide fraction = 0;
  Wide scale = 1;
  bool any = false;
  const auto is_digit = [&] { return !text.empty() && text.front() >= '0' && text.front() <= '9'; };
  for (; is_digit(); text.remove_prefix(1)) {
    any = true;
    whole = whole * 10 + static_cast<unsigned>(text.front() - '0');
    if (whole > kOverflow) {
      return std::nullopt;
    }
  }
  if (take_char(text, '.')) {
    for (; is_digit(); text.remove_prefix(1)) {
      any = true;
      if (scale <
          1'000'000'000'000'000'000ULL) {  // further digits are below a nanosecond of an hour
        fraction = fraction * 10 + static_cast<unsigned>(text.front() - '0');
        scale *= 10;
      }
    }
  }
  if (!any) {
    return std::nullopt;
  }
  for (const Unit& unit : kUnits) {
    if (text.starts_with(unit.name)) {
      text.remove_prefix(unit.name.size());
      const auto size = static_cast<Wide>(unit.nanoseconds);
      return whole > (static_cast<Wide>(1) << 64) ? kOverflow
                                                  : whole * size + fraction * size / scale;
    }
  }
  return std::nullopt;
}

std::optional<Duration> read_duration(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative || (!text.empty() && text.front() == '+')) {
    text.remove_prefix(1);
  }
  if (text == "0") {
    return Duration(0);
  }
  if (text.empty()) {
    return std::nullopt;
  }
  const auto limit =
      static_cast<Wide>(std::numeric_limits<std::int64_t>::max()) + (negative ? 1 : 0);
  Wide total = 0;
  while (!text.empty()) {
    const auto group = take_group(text);
    if (!group) {
      return std::nullopt;
    }
    total += *group;
    if (total > limit) {
      return std::nullopt;
    }
  }
  const auto magnitude = static_cast<std::uint64_t>(total);
  return Duration(static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude));
}

/// "1.5" of 1500 at three places.
std::string decimal(std::uint64_t value, int places) {
  std::uint64_t scale = 1;
  for (int i = 0; i < places; ++i) {
    scale *= 10;
  }
  std::string out = fmt::format("{}", value / scale);
  if (const auto rest = value % scale; rest != 0) {
    std::string fraction = fmt::format("{:0{}}", rest, places);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    out += "." + fraction;
  }
  return out;
}

}  // namespace

bool Clock::sleep(Duration how_long, const std::stop_token& stop) const {
  std::mutex mutex;
  std::condition_variable_any condition;
  std::unique_lock lock(mutex);
  condition.wait_for(lock, stop, std::min(real_time(how_long), kLongestWait), [] { return false; });
  return !stop.stop_requested();
}

WallTime SystemClock::now() const {
  return std::chrono::time_point_cast<nanoseconds>(std::chrono::system_clock::now());
}

SteadyTime SystemClock::steady_now() const {
  return std::chrono::time_point_cast<nanoseconds>(std::chrono::steady_clock::now());
}

WallTime ManualClock::now() const {
  const std::lock_guard lock(mutex_);
  return wall_;
}

SteadyTime ManualClock::steady_now() const {
  const std::lock_guard lock(mutex_);
  return steady_;
}

bool ManualClock::sleep(Duration how_long, const std::stop_token& stop) const {
  if (stop.stop_requested()) {
    return false;
  }
  advance(std::min(how_long, kLongestWait));
  return true;
}

void ManualClock::advance(Duration by) const {
  const std::lock_guard lock(mutex_);
  wall_ += by;
  steady_ += by;
}

std::string format_rfc3339(WallTime time) {
  std::string out = format_date_time(time);
  const auto rest = (time - std::chrono::floor<std::chrono::seconds>(time)).count();
  if (rest != 0) {
    std::string digits = fmt::format("{:09}", rest);
    digits.erase(digits.find_last_not_of('0') + 1);
    out += "." + digits;
  }
  return out + "Z";
}

std::string format_rfc3339_seconds(WallTime time) {
  return format_date_time(time) + "Z";
}

Result<WallTime> parse_rfc3339(std::string_view text) {
  if (const auto time = read_rfc3339(text)) {
    return *time;
  }
  return configuration(
      fmt::format("\"{}\" is not a time; write it like 2024-05-06T07:08:09Z", text));
}

Result<Duration> parse_duration(std::string_view text) {
  if (const auto duration = read_duration(text)) {
    return *duration;
  }
  return configuration(
      fmt::format("\"{}\" is not a duration; write it like 90s, 5m or 1h30m", text));
}

std::string format_duration(Duration duration) {
  const std::int64_t count = duration.count();
  const bool negative = count < 0;
  // The smallest value has no positive counterpart in 64 bits, hence unsigned.
  const std::uint64_t value =
      negative ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  std::string out = negative ? "-" : "";
  if (value == 0) {
    return "0s";
  }
  if (value < 1'000) {
    return out + fmt::format("{}ns", value);
  }
  if (value < 1'000'000) {
    return out + decimal(value, 3) + "\xC2\xB5s";
  }
  if (value < 1'000'000'000) {
    return out + decimal(value, 6) + "ms";
  }
  const std::uint64_t minutes = value / 60'000'000'000ULL;
  if (minutes >= 60) {
    out += fmt::format("{}h", minutes / 60);
  }
  if (minutes > 0) {
    out += fmt::format("{}m", minutes % 60);
  }
  return out + decimal(value % 60'000'000'000ULL, 9) + "s";
}

}  // namespace kollect::base
