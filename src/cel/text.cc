#include "cel/text.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "cel/arithmetic.h"
#include "cel/opaque.h"

namespace kollect::cel {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// "digits" and decimal exponent of the shortest form: d.ddd * 10^exponent.
struct Digits {
  std::string digits;
  int exponent = 0;
};

Digits shortest(double value) {
  char buffer[32];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<std::size_t>(end.ptr - buffer));
  const auto e = text.find('e');
  Digits result;
  for (const char c : text.substr(0, e)) {
    if (c != '.') result.digits += c;
  }
  result.exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  return result;
}

std::string trimmed_fraction(std::uint32_t nanos) {
  if (nanos == 0) return {};
  std::string text = fmt::format(".{:09}", nanos);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

bool read_fixed(std::string_view& text, std::size_t digits, int& out) {
  if (text.size() < digits) return false;
  out = 0;
  for (std::size_t n = 0; n < digits; ++n) {
    if (!is_digit(text[n])) return false;
    out = out * 10 + (text[n] - '0');
  }
  text.remove_prefix(digits);
  return true;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

/// Fraction digits as nanoseconds; more than nine are cut.
bool read_fraction(std::string_view& text, std::int64_t& nanos) {
  std::size_t digits = 0;
  std::int64_t scale = 100'000'000;
  for (; digits < text.size() && is_digit(text[digits]); ++digits) {
    nanos += (text[digits] - '0') * scale;
    scale /= 10;
  }
  text.remove_prefix(digits);
  return digits > 0;
}

struct CivilTime {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

bool read_civil(std::string_view& text, CivilTime& t) {
  return read_fixed(text, 4, t.year) && take(text, '-') && read_fixed(text, 2, t.month) &&
         take(text, '-') && read_fixed(text, 2, t.day) && take(text, 'T') &&
         read_fixed(text, 2, t.hour) && take(text, ':') && read_fixed(text, 2, t.minute) &&
         take(text, ':') && read_fixed(text, 2, t.second) && t.hour < 24 && t.minute < 60 &&
         t.second < 60;
}

bool read_zone(std::string_view& text, std::int64_t& offset) {
  if (take(text, 'Z')) return true;
  const std::int64_t sign = text.starts_with('-') ? -1 : 1;
  int hours = 0;
  int minutes = 0;
  if (!take(text, '+') && !take(text, '-')) return false;
  if (!read_fixed(text, 2, hours) || !take(text, ':') || !read_fixed(text, 2, minutes))
    return false;
  offset = sign * (hours * 3600 + minutes * 60);
  return hours < 24 && minutes < 60;
}

/// Nanoseconds of a unit; 0 when there is none of this name.
std::int64_t read_unit(std::string_view& text) {
  struct Unit {
    std::string_view name;
    std::int64_t nanos;
  };
  static constexpr Unit kUnits[] = {
      {"ns", 1},         {"us", 1'000},        {"\u00b5s", 1'000},    {"\u03bcs", 1'000},
      {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}};
  for (const Unit& unit : kUnits) {
    if (text.starts_with(unit.name)) {
      text.remove_prefix(unit.name.size());
      return unit.nanos;
    }
  }
  return 0;
}

/// One "1.5h" of a duration, in nanoseconds.
bool read_part(std::string_view& text, Int128& out) {
  constexpr Int128 kLimit = Int128{1} << 62U;
  Int128 whole = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && is_digit(text[digits]); ++digits) {
    whole = whole * 10 + (text[digits] - '0');
    if (whole > kLimit) return false;
  }
  text.remove_prefix(digits);
  Int128 fraction = 0;
  Int128 scale = 1;
  std::size_t fraction_digits = 0;
  if (take(text, '.')) {
    for (; fraction_digits < text.size() && is_digit(text[fraction_digits]); ++fraction_digits) {
      if (fraction_digits >= 18) continue;
      fraction = fraction * 10 + (text[fraction_digits] - '0');
      scale *= 10;
    }
    text.remove_prefix(fraction_digits);
  }
  if (digits + fraction_digits == 0) return false;
  const std::int64_t unit = read_unit(text);
  out = whole * unit + fraction * unit / scale;
  return unit != 0;
}

}  // namespace

std::string double_text(double value, bool plain) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) {
    if (plain) return value > 0 ? "Infinity" : "-Infinity";
    return value > 0 ? "+Inf" : "-Inf";
  }
  const std::string sign = std::signbit(value) ? "-" : "";
  const auto [digits, exponent] = shortest(std::fabs(value));
  const int count = static_cast<int>(digits.size());
  if (!plain && value != 0 && (exponent < -4 || exponent >= 6)) {
    const std::string fraction = count > 1 ? "." + digits.substr(1) : "";
    return fmt::format("{}{}{}e{}{:02}", sign, digits[0], fraction, exponent < 0 ? '-' : '+',
                       std::abs(exponent));
  }
  if (exponent < 0) {
    return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  }
  if (exponent + 1 >= count) {
    return sign + digits + std::string(static_cast<std::size_t>(exponent + 1 - count), '0');
  }
  const auto point = static_cast<std::size_t>(exponent + 1);
  return sign + digits.substr(0, point) + "." + digits.substr(point);
}

std::string timestamp_text(const Value& timestamp) {
  using namespace std::chrono;
  const sys_seconds time{seconds(timestamp.i)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     trimmed_fraction(timestamp.count));
}

std::string duration_text(const Value& duration) {
  std::int64_t seconds = duration.i;
  std::uint32_t nanos = duration.count;
  const bool negative = seconds < 0;
  if (negative && nanos > 0) {
    ++seconds;
    nanos = 1'000'000'000 - nanos;
  }
  return fmt::format("{}{}{}s", negative ? "-" : "", negative ? -seconds : seconds,
                     trimmed_fraction(nanos));
}

Value parse_timestamp(Evaluation& evaluation, std::string_view text) {
  constexpr std::string_view kWrong = "the text is no RFC 3339 timestamp";
  CivilTime civil;
  std::int64_t nanos = 0;
  std::int64_t offset = 0;
  if (!read_civil(text, civil)) return evaluation.error(kWrong);
  if (take(text, '.') && !read_fraction(text, nanos)) return evaluation.error(kWrong);
  if (!read_zone(text, offset) || !text.empty()) return evaluation.error(kWrong);
  using namespace std::chrono;
  const year_month_day date{year(civil.year), month(static_cast<unsigned>(civil.month)),
                            day(static_cast<unsigned>(civil.day))};
  if (!date.ok()) return evaluation.error(kWrong);
  const auto days_seconds = duration_cast<seconds>(sys_days(date).time_since_epoch()).count();
  const std::int64_t time = days_seconds + civil.hour * 3600 + civil.minute * 60 + civil.second;
  return make_timestamp(evaluation, time - offset, nanos);
}

Value parse_duration(Evaluation& evaluation, std::string_view text) {
  constexpr std::string_view kWrong = "the text is no duration (units h, m, s, ms, us, ns)";
  const bool negative = text.starts_with('-');
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return Value::of_time(Kind::kDuration, 0, 0);
  if (text.empty()) return evaluation.error(kWrong);
  constexpr Int128 kLimit = Int128{kMaxDuration + 1} * 1'000'000'000;
  Int128 total = 0;
  while (!text.empty()) {
    Int128 part = 0;
    if (!read_part(text, part)) return evaluation.error(kWrong);
    total += part;
    if (total > kLimit) return make_duration(evaluation, kMaxDuration + 1, 0);
  }
  if (negative) total = -total;
  return make_duration(evaluation, static_cast<std::int64_t>(total / 1'000'000'000),
                       static_cast<std::int64_t>(total % 1'000'000'000));
}

std::size_t find_part(std::string_view text, std::string_view part, std::size_t from) {
  if (from > text.size() || part.size() <= 1) return text.find(part, from);
  if (part.size() > text.size() - from) return std::string_view::npos;  // memmem takes no null
  const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::size_t find_last_part(std::string_view text, std::string_view part, std::size_t from) {
  constexpr std::size_t kShort = 32;
  if (part.size() <= kShort) return text.rfind(part, from);
  if (part.size() > text.size()) return std::string_view::npos;
  // What is last in a text is first in its reverse.
  text = text.substr(0, std::min(from, text.size() - part.size()) + part.size());
  const std::string backwards(text.rbegin(), text.rend());
  const auto found = find_part(backwards, std::string(part.rbegin(), part.rend()));
  return found == std::string::npos ? found : text.size() - found - part.size();
}

std::size_t code_points(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return count;
}

bool is_ascii(std::string_view text) {
  unsigned char all = 0;
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return all < 0x80U;
}

std::optional<std::size_t> byte_offset(std::string_view text, std::size_t index) {
  if (is_ascii(text)) {
    if (index > text.size()) return std::nullopt;
    return index;
  }
  std::size_t at = 0;
  for (; index > 0; --index) {
    if (at >= text.size()) return std::nullopt;
    next_code_point(text, at);
  }
  return at;
}

char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t n) -> char32_t {
    return n < text.size() ? static_cast<unsigned char>(text[n]) : 0;
  };
  const char32_t first = byte(at);
  if (first < 0x80) {
    ++at;
    return first;
  }
  if (first < 0xE0) {
    at += 2;
    return (first & 0x1FU) << 6U | (byte(at - 1) & 0x3FU);
  }
  if (first < 0xF0) {
    at += 3;
    return (first & 0x0FU) << 12U | (byte(at - 2) & 0x3FU) << 6U | (byte(at - 1) & 0x3FU);
  }
  at += 4;
  return (first & 0x07U) << 18U | (byte(at - 3) & 0x3FU) << 12U | (byte(at - 2) & 0x3FU) << 6U |
         (byte(at - 1) & 0x3FU);
}

}  // namespace kollect::cel
