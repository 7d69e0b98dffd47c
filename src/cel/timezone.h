// Time zones: fixed offsets and the system's IANA database.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kollect::cel {

/// Offsets from UTC over time. Immutable, shared by threads.
class TimeZone {
 public:
  /// "UTC", "", "+02:00", "-09:30", "02:00" or an IANA name ("Europe/Berlin"). nullptr when there
  /// is none such.
  static std::unique_ptr<TimeZone> find(std::string_view name);
  /// The same from the bytes of a TZif file (RFC 8536).
  static std::unique_ptr<TimeZone> from_tzif(std::string_view bytes);

  /// Seconds to add to UTC at the given time (seconds since 1970).
  [[nodiscard]] std::int32_t offset_at(std::int64_t utc_seconds) const;

 private:
  /// A rule "M3.2.0/2" of the POSIX notation: when daylight saving begins or ends in each year.
  struct Rule {
    enum class Form : std::uint8_t { kMonth, kJulian, kDayOfYear };
    Form form = Form::kMonth;
    int month = 0;
    int week = 0;
    int day = 0;
    std::int32_t seconds = 7200;
  };
  struct Transition {
    std::int64_t at;
    std::int32_t offset;
  };

  bool parse_footer(std::string_view text);
  static bool parse_rule(std::string_view& text, Rule& rule);
  static std::int64_t rule_time(const Rule& rule, int year);
  [[nodiscard]] std::int32_t footer_offset(std::int64_t utc_seconds) const;

  std::vector<Transition> transitions_;
  std::int32_t before_ = 0;    ///< before the first transition
  std::int32_t standard_ = 0;  ///< after the last one
  bool has_footer_ = false;
  bool has_daylight_ = false;
  std::int32_t daylight_ = 0;
  Rule begin_;
  Rule end_;
};

/// "+02:00", "-09:30", "02:00": seconds, none when the text is no such offset.
std::optional<std::int32_t> parse_offset(std::string_view text);

}  // namespace kollect::cel
