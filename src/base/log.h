// Log lines on stderr: text on a terminal, JSON lines otherwise (spec: pipeline 12).
#pragma once

#include <cstdio>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace kollect::base {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };
/// "debug", "info", "warn", "error", exact.
Result<LogLevel> parse_log_level(std::string_view text);

/// A member of a log line beside level, ts and msg.
struct LogField {
  std::string_view key;
  std::string value;
};

/// Replaces known secret values by "***" wherever they would be printed. Thread-safe.
class Redactor {
 public:
  /// Values shorter than 6 characters are not masked. Percent-encoded and base64 forms are masked
  /// too.
  void add(std::string_view secret_value);
  [[nodiscard]] std::string redact(std::string_view text) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> values_;
};

/// Writes log lines. Handed down explicitly; there is no global logger. Thread-safe: one line is
/// one write.
class Logger {
 public:
  struct Options {
    LogLevel level = LogLevel::kInfo;
    LogFormat format = LogFormat::kText;
    std::FILE* out = stderr;  ///< not owned
  };
  Logger(Options options, const Clock& clock, std::shared_ptr<const Redactor> redactor = nullptr);

  void debug(std::string_view msg, std::initializer_list<LogField> fields = {}) const;
  void info(std::string_view msg, std::initializer_list<LogField> fields = {}) const;
  void warn(std::string_view msg, std::initializer_list<LogField> fields = {}) const;
  void error(std::string_view msg, std::initializer_list<LogField> fields = {}) const;
  /// A line that is shown at every level (results of a dry run, usage errors).
  void always(std::string_view msg, std::initializer_list<LogField> fields = {}) const;
  [[nodiscard]] bool enabled(LogLevel level) const { return level >= options_.level; }
  /// Called before and after each line is written: the progress line clears and redraws itself.
  void set_line_hooks(std::function<void()> before, std::function<void()> after);

 private:
  void write(std::string_view level, std::string_view msg,
             std::initializer_list<LogField> fields) const;

  Options options_;
  const Clock& clock_;
  std::shared_ptr<const Redactor> redactor_;
  std::function<void()> before_;
  std::function<void()> after_;
  mutable std::mutex mutex_;
};

}  // namespace kollect::base
