#include "sinks/git/git_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/strings.h"

namespace kollect::sinks::git {

namespace {

constexpr std::size_t kMostText = 400;

template <std::size_t N>
bool has_any(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

/// A status number that stands alone and is no port: "error: 403", "(401)", not "port 401" or
/// "host:4010".
bool has_status(std::string_view text, std::string_view number) {
  for (auto at = text.find(number); at != std::string_view::npos; at = text.find(number, at + 1)) {
    const auto before = at == 0 ? ' ' : text[at - 1];
    const auto end = at + number.size();
    const auto after = end == text.size() ? ' ' : text[end];
    const bool apart = std::isalnum(static_cast<unsigned char>(before)) == 0 &&
                       std::isalnum(static_cast<unsigned char>(after)) == 0 && before != '.' &&
                       before != '-' && before != '_' && after != '.' && after != '-';
    const bool is_port = before == ':' || text.substr(0, at).ends_with("port ");
    const bool in_path = before == '/' || after == '/';
    if (apart && !is_port && !in_path) return true;
  }
  return false;
}

/// The line that says most: what the server sent, else git's own first complaint.
std::string telling_line(std::string_view text) {
  std::string remote;
  std::string fatal;
  std::string
      rejected;  ///< git's line of the reference; its "error:" line only says that it failed
  std::string any;
  for (const auto raw : base::split(text, '\n')) {
    const auto line = base::trim(raw);
    if (line.empty()) continue;
    if (line.starts_with("remote:")) {
      const auto words = base::trim(line.substr(7));
      if (!words.empty() && remote.size() < kMostText) {
        remote += (remote.empty() ? "" : " ") + std::string(words);
      }
    } else if (rejected.empty() && line.starts_with("!")) {
      rejected = line;
    } else if (fatal.empty() && (line.starts_with("fatal:") || line.starts_with("error:"))) {
      fatal = line;
    } else if (any.empty() && !line.starts_with("hint:") && !line.starts_with("To ")) {
      any = line;
    }
  }
  auto out = !rejected.empty() ? rejected : !fatal.empty() ? fatal : any;
  if (!remote.empty()) out += (out.empty() ? "" : "; ") + ("the server says: " + remote);
  return std::string(base::cut_utf8(out, kMostText));
}

}  // namespace

ErrorClass classify(std::string_view raw) {
  static constexpr std::array<std::string_view, 11> kAuthentication = {
      "authentication required",
      "authentication failed",
      "access denied",
      "invalid credentials",
      "could not read username",
      "could not read password",
      "permission denied (",
      "host key verification failed",
      "invalid username or password",
      "no supported authentication",
      "unauthorized"};
  static constexpr std::array<std::string_view, 5> kRefused = {
      "protected branch", "hook declined", "certificate verification failed",
      "ssl certificate problem", "is currently checked out"};
  static constexpr std::array<std::string_view, 4> kNotFound = {
      "repository not found", "does not appear to be a git repository", "does not exist",
      "' not found"};
  const auto text = base::to_lower(raw);
  if (has_any(text, kAuthentication) || has_status(text, "401") || has_status(text, "403")) {
    return ErrorClass::kAuthentication;
  }
  if (has_any(text, kRefused)) return ErrorClass::kRefused;
  if (has_any(text, kNotFound) || text.find("returned error: 404") != std::string::npos) {
    return ErrorClass::kNotFound;
  }
  return ErrorClass::kTransient;
}

bool is_missing_branch(std::string_view text) {
  return base::to_lower(text).find("couldn't find remote ref") != std::string::npos;
}

bool is_race(std::string_view raw) {
  static constexpr std::array<std::string_view, 8> kSigns = {
      "fetch first",     "non-fast-forward",     "stale info",   "incorrect old value provided",
      "cannot lock ref", "failed to update ref", "but expected", "reference already exists"};
  return has_any(base::to_lower(raw), kSigns);
}

std::string lock_held(std::string_view raw) {
  constexpr std::string_view kMark = "Unable to create '";
  const auto at = raw.find(kMark);
  if (at == std::string_view::npos) return {};
  const auto path = raw.substr(at + kMark.size());
  const auto end = path.find("': File exists");
  if (end == std::string_view::npos || path.substr(0, end).find('\n') != std::string_view::npos) {
    return {};
  }
  return std::string(path.substr(0, end));
}

int http_status(std::string_view text) {
  constexpr std::string_view kMark = "returned error: ";
  const auto at = text.find(kMark);
  if (at == std::string_view::npos) {
    return base::to_lower(text).find("authentication failed for 'http") != std::string::npos ? 401
                                                                                             : 0;
  }
  int status = 0;
  for (const char c : text.substr(at + kMark.size(), 3)) {
    if (c < '0' || c > '9') return 0;
    status = status * 10 + (c - '0');
  }
  return status;
}

base::Error git_error(const ErrorContext& context, std::string_view doing, std::string_view text) {
  const auto error_class = classify(text);
  const auto status = http_status(text);
  auto message = fmt::format("git {} {}", doing, context.remote->shown());
  if (status != 0) message += fmt::format(" (HTTP {})", status);
  const auto secret = context.secret_name.empty()
                          ? std::string("the sink names no Secret")
                          : fmt::format("check Secret {}", context.secret_name);
  const auto said = context.redactor->redact(telling_line(text));
  switch (error_class) {
    case ErrorClass::kAuthentication:
      return base::denied(
          context.redactor->redact(fmt::format("{}: access denied, {}", message, secret)) + ": " +
              said,
          "access-denied");
    case ErrorClass::kRefused:
      return base::terminal(context.redactor->redact(message) + ": refused: " + said, "refused");
    case ErrorClass::kNotFound:
      return base::not_found(context.redactor->redact(message) + ": no such repository: " + said,
                             "repository-not-found");
    case ErrorClass::kTransient:
      break;
  }
  return base::retryable(context.redactor->redact(message) + ": " + said, "unreachable");
}

}  // namespace kollect::sinks::git
