// Parts of timestamps and durations.
#include <chrono>

#include "cel/cache.h"
#include "cel/functions.h"

namespace kollect::cel {

namespace {

constexpr std::size_t kMaxCachedZones = 64;

enum class Part : std::uint8_t {
  kYear,
  kMonth,
  kDate,
  kDayOfMonth,
  kDayOfWeek,
  kDayOfYear,
  kHours,
  kMinutes,
  kSeconds,
  kMilliseconds,
};

const TimeZone* find_zone(Evaluation& evaluation, std::string_view name) {
  if (const auto* prepared = evaluation.prepared()) {
    const auto known = prepared->zones.find(name);
    if (known != prepared->zones.end()) return known->second.get();
  }
  auto& zones = evaluation.cache().zones;
  const auto found = zones.find(name);
  if (found != zones.end()) return found->second.get();
  if (zones.size() >= kMaxCachedZones) zones.clear();
  evaluation.charge(100);
  auto zone = TimeZone::find(name);
  if (!zone) return nullptr;
  return zones.emplace(std::string(name), std::move(zone)).first->second.get();
}

std::int64_t calendar_part(Part part, std::chrono::sys_days day) {
  using namespace std::chrono;
  const year_month_day date(day);
  switch (part) {
    case Part::kYear:
      return static_cast<int>(date.year());
    case Part::kMonth:
      return static_cast<unsigned>(date.month()) - 1;
    case Part::kDate:
      return static_cast<unsigned>(date.day());
    case Part::kDayOfMonth:
      return static_cast<unsigned>(date.day()) - 1;
    case Part::kDayOfWeek:
      return weekday(day).c_encoding();
    default:
      return (day - sys_days(date.year() / January / 1)).count();
  }
}

std::int64_t timestamp_part(Part part, std::int64_t local_seconds, std::uint32_t nanos) {
  using namespace std::chrono;
  const sys_seconds time{seconds(local_seconds)};
  const auto day = floor<days>(time);
  const auto clock = (time - day).count();
  switch (part) {
    case Part::kHours:
      return clock / 3600;
    case Part::kMinutes:
      return clock / 60 % 60;
    case Part::kSeconds:
      return clock % 60;
    case Part::kMilliseconds:
      return nanos / 1'000'000;
    default:
      return calendar_part(part, day);
  }
}

/// Whole hours, minutes and seconds of the duration; of milliseconds only those below a second.
Value duration_part(Evaluation& evaluation, Part part, const Value& duration) {
  // Truncation is toward zero, so negative durations go to a form with a negative rest first.
  std::int64_t seconds = duration.i;
  std::int64_t nanos = duration.count;
  if (seconds < 0 && nanos > 0) {
    ++seconds;
    nanos -= 1'000'000'000;
  }
  switch (part) {
    case Part::kHours:
      return Value::of_int(seconds / 3600);
    case Part::kMinutes:
      return Value::of_int(seconds / 60);
    case Part::kSeconds:
      return Value::of_int(seconds);
    case Part::kMilliseconds:
      return Value::of_int(nanos / 1'000'000);
    default:
      return evaluation.no_overload();
  }
}

template <Part kPart>
Value get(Evaluation& evaluation, const Value* args, std::size_t count) {
  if (args[0].kind == Kind::kDuration && count == 1)
    return duration_part(evaluation, kPart, args[0]);
  if (args[0].kind != Kind::kTimestamp) return evaluation.no_overload();
  std::int64_t offset = 0;
  if (count == 2) {
    if (args[1].kind != Kind::kString) return evaluation.no_overload();
    const TimeZone* zone = find_zone(evaluation, args[1].as_text());
    if (zone == nullptr) return evaluation.error("there is no such time zone");
    offset = zone->offset_at(args[0].i);
  }
  return Value::of_int(timestamp_part(kPart, args[0].i + offset, args[0].count));
}

constexpr std::string_view kDateForms = "timestamp -> int; timestamp, string -> int";
constexpr std::string_view kClockForms =
    "timestamp -> int; timestamp, string -> int; duration -> int";

constexpr FunctionEntry kFunctions[] = {
    {"getFullYear", true, get<Part::kYear>, kDateForms},
    {"getMonth", true, get<Part::kMonth>, kDateForms},
    {"getDate", true, get<Part::kDate>, kDateForms},
    {"getDayOfMonth", true, get<Part::kDayOfMonth>, kDateForms},
    {"getDayOfWeek", true, get<Part::kDayOfWeek>, kDateForms},
    {"getDayOfYear", true, get<Part::kDayOfYear>, kDateForms},
    {"getHours", true, get<Part::kHours>, kClockForms},
    {"getMinutes", true, get<Part::kMinutes>, kClockForms},
    {"getSeconds", true, get<Part::kSeconds>, kClockForms},
    {"getMilliseconds", true, get<Part::kMilliseconds>, kClockForms},
};

}  // namespace

std::span<const FunctionEntry> time_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
