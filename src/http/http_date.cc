#include "http/http_date.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace kollect::http {

namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::size_t kShortDay = 3;

/// Takes a date apart from left to right; the first part that does not fit makes it none.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool good() const { return good_ && rest_.empty(); }

  bool skip(std::string_view word) {
    const bool there = rest_.starts_with(word);
    if (there) rest_.remove_prefix(word.size());
    return there;
  }
  void expect(std::string_view word) { good_ = skip(word) && good_; }

  /// Exactly so many digits; blanks may stand for leading ones when `padded`.
  int number(std::size_t digits, bool padded = false) {
    std::string_view text = rest_.substr(0, digits);
    rest_.remove_prefix(text.size());
    if (padded && text.starts_with(' ')) text.remove_prefix(1);
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    good_ = good_ && error == std::errc() && end == text.data() + text.size() && value >= 0 &&
            (padded || text.size() == digits);
    return value;
  }

  unsigned month() {
    const auto found =
        std::ranges::find_if(kMonths, [this](std::string_view month) { return skip(month); });
    good_ = good_ && found != kMonths.end();
    return static_cast<unsigned>(found - kMonths.begin()) + 1;
  }

  std::chrono::seconds time_of_day() {
    const int hour = number(2);
    expect(":");
    const int minute = number(2);
    expect(":");
    const int second = number(2);  // 60: a leap second
    good_ = good_ && hour < 24 && minute < 60 && second <= 60;
    return std::chrono::hours(hour) + std::chrono::minutes(minute) + std::chrono::seconds(second);
  }

 private:
  std::string_view rest_;
  bool good_ = true;
};

/// A date between the day of the week and the time of day.
struct Parts {
  int year = 0;
  unsigned month = 0;
  int day = 0;
};

std::optional<base::WallTime> time_of(const Parts& parts, std::chrono::seconds time_of_day) {
  const std::chrono::year_month_day date{std::chrono::year(parts.year),
                                         std::chrono::month(parts.month),
                                         std::chrono::day(static_cast<unsigned>(parts.day))};
  // What nanoseconds of 64 bits can tell, in whole years.
  if (!date.ok() || parts.year < 1678 || parts.year > 2261) return std::nullopt;
  return std::chrono::sys_days(date) + time_of_day;
}

/// The year of two digits that is at most 50 years ahead.
int whole_year(int two_digits, base::WallTime now) {
  constexpr int kAhead = 50;
  const std::chrono::year_month_day today(std::chrono::floor<std::chrono::days>(now));
  const int this_year = static_cast<int>(today.year());
  const int year = this_year - this_year % 100 + two_digits;
  if (year > this_year + kAhead) return year - 100;
  return year <= this_year - kAhead ? year + 100 : year;
}

}  // namespace

std::optional<base::WallTime> parse_http_date(std::string_view text, base::WallTime now) {
  Reader reader(text);
  const auto day = std::ranges::find_if(
      kDays, [&](std::string_view name) { return text.starts_with(name.substr(0, kShortDay)); });
  if (day == kDays.end()) return std::nullopt;
  Parts parts;
  std::chrono::seconds time{};
  if (reader.skip(*day)) {
    reader.expect(", ");
    parts.day = reader.number(2);
    reader.expect("-");
    parts.month = reader.month();
    reader.expect("-");
    parts.year = whole_year(reader.number(2), now);
    reader.expect(" ");
    time = reader.time_of_day();
    reader.expect(" GMT");
  } else if (reader.skip(day->substr(0, kShortDay)), reader.skip(", ")) {
    parts.day = reader.number(2);
    reader.expect(" ");
    parts.month = reader.month();
    reader.expect(" ");
    parts.year = reader.number(4);
    reader.expect(" ");
    time = reader.time_of_day();
    reader.expect(" GMT");
  } else {
    reader.expect(" ");
    parts.month = reader.month();
    reader.expect(" ");
    parts.day = reader.number(2, true);
    reader.expect(" ");
    time = reader.time_of_day();
    reader.expect(" ");
    parts.year = reader.number(4);
  }
  return reader.good() ? time_of(parts, time) : std::nullopt;
}

}  // namespace kollect::http
