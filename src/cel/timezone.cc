#include "cel/timezone.h"

#include <algorithm>
#include <cctype>
#include <chrono>

#include "base/files.h"

namespace kollect::cel {

namespace {

constexpr std::string_view kDatabase = "/usr/share/zoneinfo/";
constexpr std::size_t kMaxFile = std::size_t{256} << 10U;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::int64_t big_endian(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t n = 0; n < size; ++n) {
    value = value << 8U | static_cast<std::uint8_t>(bytes[at + n]);
  }
  if (size == 4) return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
  return static_cast<std::int64_t>(value);
}

bool read_number(std::string_view& text, int& out) {
  std::size_t digits = 0;
  out = 0;
  while (digits < text.size() && digits < 4 && is_digit(text[digits])) {
    out = out * 10 + (text[digits++] - '0');
  }
  text.remove_prefix(digits);
  return digits > 0;
}

/// [+-]hh[:mm[:ss]] of the POSIX notation, in seconds.
bool read_time(std::string_view& text, std::int32_t& out) {
  int sign = 1;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    sign = text[0] == '-' ? -1 : 1;
    text.remove_prefix(1);
  }
  int part = 0;
  if (!read_number(text, part)) return false;
  std::int32_t seconds = part * 3600;
  for (const int unit : {60, 1}) {
    if (text.empty() || text[0] != ':') break;
    text.remove_prefix(1);
    if (!read_number(text, part)) return false;
    seconds += part * unit;
  }
  out = sign * seconds;
  return true;
}

bool read_abbreviation(std::string_view& text) {
  if (text.starts_with('<')) {
    const auto end = text.find('>');
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
    return true;
  }
  std::size_t n = 0;
  while (n < text.size() && std::isalpha(static_cast<unsigned char>(text[n])) != 0) ++n;
  text.remove_prefix(n);
  return n >= 3;
}

}  // namespace

std::optional<std::int32_t> parse_offset(std::string_view text) {
  int sign = 1;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    sign = text[0] == '-' ? -1 : 1;
    text.remove_prefix(1);
  }
  const auto colon = text.find(':');
  int hours = 0;
  int minutes = 0;
  std::string_view left = text.substr(0, colon);
  if (colon == std::string_view::npos || colon > 2 || text.size() != colon + 3) return std::nullopt;
  std::string_view right = text.substr(colon + 1);
  if (!read_number(left, hours) || !left.empty()) return std::nullopt;
  if (!read_number(right, minutes) || !right.empty()) return std::nullopt;
  if (hours > 23 || minutes > 59) return std::nullopt;
  return sign * (hours * 3600 + minutes * 60);
}

std::unique_ptr<TimeZone> TimeZone::find(std::string_view name) {
  if (name.empty() || name == "UTC") return std::make_unique<TimeZone>();
  if (const auto offset = parse_offset(name)) {
    auto zone = std::make_unique<TimeZone>();
    zone->before_ = zone->standard_ = *offset;
    return zone;
  }
  // Only names of the database's own alphabet reach the file system; no dots, so no way out of the
  // folder.
  const bool clean =
      name.size() < 64 && name[0] != '/' && std::all_of(name.begin(), name.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '_' ||
               c == '-' || c == '+';
      });
  if (!clean) return nullptr;
  const auto bytes = base::read_file(std::string(kDatabase) + std::string(name), kMaxFile);
  return bytes ? from_tzif(*bytes) : nullptr;
}

std::unique_ptr<TimeZone> TimeZone::from_tzif(std::string_view bytes) {
  constexpr std::size_t kHeader = 44;
  const auto counts = [&](std::size_t at, std::size_t n) {
    return static_cast<std::size_t>(
        static_cast<std::uint32_t>(big_endian(bytes, at + 20 + n * 4, 4)));
  };
  if (bytes.size() < kHeader || !bytes.starts_with("TZif") || bytes[4] < '2') return nullptr;
  // Version 1 block (32 bits) is passed over; the 64-bit block follows.
  std::size_t at = kHeader + counts(0, 3) * 5 + counts(0, 4) * 6 + counts(0, 5) + counts(0, 2) * 8 +
                   counts(0, 1) + counts(0, 0);
  if (at > bytes.size() || bytes.size() - at < kHeader || !bytes.substr(at).starts_with("TZif"))
    return nullptr;
  const std::size_t utc_flags = counts(at, 0);
  const std::size_t standard_flags = counts(at, 1);
  const std::size_t leaps = counts(at, 2);
  const std::size_t times = counts(at, 3);
  const std::size_t types = counts(at, 4);
  const std::size_t letters = counts(at, 5);
  at += kHeader;
  const std::size_t size =
      times * 9 + types * 6 + letters + leaps * 12 + standard_flags + utc_flags;
  if (types == 0 || size > bytes.size() - at) return nullptr;
  const std::size_t type_table = at + times * 9;
  auto zone = std::make_unique<TimeZone>();
  const auto offset_of = [&](std::size_t type) {
    return static_cast<std::int32_t>(big_endian(bytes, type_table + type * 6, 4));
  };
  zone->before_ = zone->standard_ = offset_of(0);
  for (std::size_t n = 0; n < times; ++n) {
    const auto type = static_cast<std::uint8_t>(bytes[at + times * 8 + n]);
    if (type >= types) return nullptr;
    zone->transitions_.push_back({big_endian(bytes, at + n * 8, 8), offset_of(type)});
  }
  std::string_view footer = bytes.substr(at + size);
  if (footer.size() > 2 && footer[0] == '\n') {
    footer.remove_prefix(1);
    footer = footer.substr(0, footer.find('\n'));
    zone->has_footer_ = zone->parse_footer(footer);
  }
  return zone;
}

// Format: POSIX TZ, e.g. "CET-1CEST,M3.5.0,M10.5.0/3". The sign is that of POSIX: west is positive.
bool TimeZone::parse_footer(std::string_view text) {
  std::int32_t offset = 0;
  if (!read_abbreviation(text) || !read_time(text, offset)) return false;
  standard_ = -offset;
  if (text.empty()) return true;
  if (!read_abbreviation(text)) return false;
  daylight_ = standard_ + 3600;
  if (!text.empty() && text[0] != ',') {
    if (!read_time(text, offset)) return false;
    daylight_ = -offset;
  }
  if (!parse_rule(text, begin_) || !parse_rule(text, end_)) return false;
  has_daylight_ = true;
  return true;
}

bool TimeZone::parse_rule(std::string_view& text, Rule& rule) {
  if (!text.starts_with(',')) return false;
  text.remove_prefix(1);
  if (text.starts_with('M')) {
    text.remove_prefix(1);
    if (!read_number(text, rule.month) || !text.starts_with('.')) return false;
    text.remove_prefix(1);
    if (!read_number(text, rule.week) || !text.starts_with('.')) return false;
    text.remove_prefix(1);
    if (!read_number(text, rule.day)) return false;
    if (rule.month < 1 || rule.month > 12 || rule.week < 1 || rule.week > 5 || rule.day > 6)
      return false;
  } else {
    rule.form = text.starts_with('J') ? Rule::Form::kJulian : Rule::Form::kDayOfYear;
    if (rule.form == Rule::Form::kJulian) text.remove_prefix(1);
    if (!read_number(text, rule.day)) return false;
  }
  if (!text.starts_with('/')) return true;
  text.remove_prefix(1);
  return read_time(text, rule.seconds);
}

// Local wall time of the rule in a year, as seconds since 1970.
std::int64_t TimeZone::rule_time(const Rule& rule, int year) {
  using namespace std::chrono;
  const std::chrono::year y{year};
  sys_days day;
  if (rule.form == Rule::Form::kMonth) {
    const std::chrono::month m{static_cast<unsigned>(rule.month)};
    const weekday wd{static_cast<unsigned>(rule.day)};
    day = rule.week == 5 ? sys_days(y / m / weekday_last(wd))
                         : sys_days(y / m / weekday_indexed(wd, static_cast<unsigned>(rule.week)));
  } else {
    int offset = rule.day;
    if (rule.form == Rule::Form::kJulian) {
      offset = rule.day - 1 + (y.is_leap() && rule.day >= 60 ? 1 : 0);
    }
    day = sys_days(y / January / 1) + days(offset);
  }
  return duration_cast<seconds>(day.time_since_epoch()).count() + rule.seconds;
}

std::int32_t TimeZone::footer_offset(std::int64_t utc_seconds) const {
  if (!has_daylight_) return standard_;
  using namespace std::chrono;
  const auto day = floor<days>(sys_seconds(seconds(utc_seconds + standard_)));
  const int year = static_cast<int>(year_month_day(day).year());
  const std::int64_t begin = rule_time(begin_, year) - standard_;
  const std::int64_t end = rule_time(end_, year) - daylight_;
  const bool daylight = begin < end ? utc_seconds >= begin && utc_seconds < end
                                    : utc_seconds >= begin || utc_seconds < end;
  return daylight ? daylight_ : standard_;
}

std::int32_t TimeZone::offset_at(std::int64_t utc_seconds) const {
  const auto after = std::upper_bound(
      transitions_.begin(), transitions_.end(), utc_seconds,
      [](std::int64_t time, const Transition& transition) { return time < transition.at; });
  if (after == transitions_.end() && has_footer_) return footer_offset(utc_seconds);
  return after == transitions_.begin() ? before_ : (after - 1)->offset;
}

}  // namespace kollect::cel
