#include "base/log.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::base {

namespace {

constexpr std::size_t kShortestSecret = 6;
/// A line of a key file is masked on its own when it is long enough to be no common word.
constexpr std::size_t kShortestSecretLine = 20;
constexpr std::string_view kMask = "***";

bool ends_authority(char c) {
  return c == '/' || c == '?' || c == '#' || c == '\\' || c == '"' || c == '\'' || c == '<' ||
         c == '>' || static_cast<unsigned char>(c) <= ' ';
}

/// Replaces user information of http and https URLs (spec: sinks 16.4); ssh user names stay.
std::string mask_user_information(std::string_view text) {
  std::string out;
  std::size_t done = 0;
  for (auto at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 3)) {
    const auto scheme_is = [&](std::string_view scheme) {
      return at >= scheme.size() && iequals(text.substr(at - scheme.size(), scheme.size()), scheme);
    };
    if (!scheme_is("http") && !scheme_is("https")) {
      continue;
    }
    const std::size_t begin = at + 3;
    std::size_t end = begin;
    while (end < text.size() && !ends_authority(text[end])) {
      ++end;
    }
    const auto sign = text.substr(begin, end - begin).rfind('@');
    if (sign != std::string_view::npos) {
      out.append(text, done, begin - done);
      out += kMask;
      done = begin + sign;
    }
  }
  return out.append(text, done);
}

/// Text of a terminal line: no control characters, so that foreign text cannot draw on the screen.
void append_printable(std::string& out, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
}

void append_text_value(std::string& out, std::string_view value) {
  const bool quote = value.empty() || value.find_first_of(" \"=\t\n") != std::string_view::npos;
  if (!quote) {
    append_printable(out, value);
    return;
  }
  out += '"';
  append_printable(out, replace_all(std::string(value), "\"", "\\\""));
  out += '"';
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, LogLevel>, 4> kLevels = {
      {{"debug", LogLevel::kDebug},
       {"info", LogLevel::kInfo},
       {"warn", LogLevel::kWarn},
       {"error", LogLevel::kError}}};
  for (const auto& [name, level] : kLevels) {
    if (name == text) {
      return level;
    }
  }
  return configuration(
      fmt::format("\"{}\" is not a log level; use debug, info, warn or error", text));
}

void Redactor::add(std::string_view secret_value) {
  std::vector<std::string> forms;
  const auto add_forms = [&](std::string_view value) {
    forms.emplace_back(value);
    forms.push_back(percent_encode(value));
    forms.push_back(base64_encode(value));
  };
  if (const auto value = trim(secret_value); value.size() >= kShortestSecret) {
    add_forms(secret_value);
    add_forms(value);
    for (const auto line : split(value, '\n')) {
      if (trim(line).size() >= kShortestSecretLine) {
        forms.emplace_back(trim(line));
      }
    }
  }
  const std::lock_guard lock(mutex_);
  values_.insert(values_.end(), forms.begin(), forms.end());
  // Longest first: a value that holds another one must go as a whole.
  std::sort(values_.begin(), values_.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
}

std::string Redactor::redact(std::string_view text) const {
  std::string out = mask_user_information(text);
  const std::lock_guard lock(mutex_);
  for (const std::string& value : values_) {
    out = replace_all(std::move(out), value, kMask);
  }
  return out;
}

Logger::Logger(Options options, const Clock& clock, std::shared_ptr<const Redactor> redactor)
    : options_(options), clock_(clock), redactor_(std::move(redactor)) {}

void Logger::debug(std::string_view msg, std::initializer_list<LogField> fields) const {
  if (enabled(LogLevel::kDebug)) {
    write("debug", msg, fields);
  }
}

void Logger::info(std::string_view msg, std::initializer_list<LogField> fields) const {
  if (enabled(LogLevel::kInfo)) {
    write("info", msg, fields);
  }
}

void Logger::warn(std::string_view msg, std::initializer_list<LogField> fields) const {
  if (enabled(LogLevel::kWarn)) {
    write("warn", msg, fields);
  }
}

void Logger::error(std::string_view msg, std::initializer_list<LogField> fields) const {
  if (enabled(LogLevel::kError)) {
    write("error", msg, fields);
  }
}

void Logger::always(std::string_view msg, std::initializer_list<LogField> fields) const {
  write("info", msg, fields);
}

void Logger::set_line_hooks(std::function<void()> before, std::function<void()> after) {
  const std::lock_guard lock(mutex_);
  before_ = std::move(before);
  after_ = std::move(after);
}

void Logger::write(std::string_view level, std::string_view msg,
                   std::initializer_list<LogField> fields) const {
  const auto clean = [&](std::string_view text) {
    return redactor_ == nullptr ? mask_user_information(text) : redactor_->redact(text);
  };
  std::string line;
  if (options_.format == LogFormat::kJson) {
    line = R"({"level":)";
    json::append_string(line, level);
    line += R"(,"ts":)";
    json::append_string(line, format_rfc3339(clock_.now()));
    line += R"(,"msg":)";
    json::append_string(line, clean(msg));
    for (const LogField& field : fields) {
      line += ',';
      json::append_string(line, field.key);
      line += ':';
      json::append_string(line, clean(field.value));
    }
    line += "}\n";
  } else {
    line = fmt::format("{} {:<5} ", format_rfc3339_seconds(clock_.now()), upper(level));
    append_printable(line, clean(msg));
    for (const LogField& field : fields) {
      line += ' ';
      append_printable(line, field.key);
      line += '=';
      append_text_value(line, clean(field.value));
    }
    line += '\n';
  }
  const std::lock_guard lock(mutex_);
  if (before_) {
    before_();
  }
  std::fwrite(line.data(), 1, line.size(), options_.out);
  std::fflush(options_.out);
  if (after_) {
    after_();
  }
}

}  // namespace kollect::base
