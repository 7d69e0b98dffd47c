#include "kube/api_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json/document.h"
#include "base/strings.h"
#include "http/http_date.h"

namespace kollect::kube {

namespace {

constexpr std::size_t kLongestMessage = 400;
constexpr base::Duration kFirstDelay = std::chrono::milliseconds(500);
constexpr base::Duration kLongestDelay = std::chrono::seconds(10);
constexpr std::chrono::seconds kLongestWait{60};  ///< whatever a server asks for

std::string one_line(std::string_view text, std::size_t longest) {
  std::string line = base::sanitize_utf8(base::cut_utf8(text, longest));
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  return line;
}

}  // namespace

std::string status_message(std::string_view body) {
  std::string text(base::trim(body));
  if (auto document = base::json::Document::parse_borrowed(body)) {
    const auto root = document->root();
    if (root.is_object() && root.text("kind") == "Status") text = root.text("message");
  }
  return one_line(text, kLongestMessage);
}

namespace {

/// What a Status says about single fields: "spec.a: Required value; spec.b: …". Empty without.
std::string causes_of(base::json::View status) {
  std::string text;
  const auto causes = status.at_path({"details", "causes"});
  if (!causes) return text;
  for (const base::json::View cause : causes->items()) {
    const std::string_view field = cause.text("field");
    if (text.size() > kLongestMessage) break;
    text += fmt::format("{}{}{}{}", text.empty() ? "" : "; ", field, field.empty() ? "" : ": ",
                        cause.text("message"));
  }
  return text;
}

base::Error invalid(std::string_view label, std::string_view body) {
  std::string said = status_message(body);
  if (auto document = base::json::Document::parse_borrowed(body)) {
    if (std::string causes = causes_of(document->root()); !causes.empty()) {
      said = one_line(causes, 2 * kLongestMessage);
    }
  }
  return base::terminal(fmt::format("{}: 422: {}", label, said), "invalid");
}

std::string status_reason(std::string_view body) {
  auto document = base::json::Document::parse_borrowed(body);
  return document && document->root().is_object() ? std::string(document->root().text("reason"))
                                                  : std::string();
}

}  // namespace

base::Error error_of(std::string_view label, int status, std::string_view body) {
  const std::string said = status_message(body);
  const std::string message =
      fmt::format("{}: {}{}{}", label, status, said.empty() ? "" : ": ", said);
  switch (status) {
    case 401:
      return base::denied(message, "unauthorized");
    case 403:
      return base::denied(message, "forbidden");
    case 404:
      return base::not_found(message, "not-found");
    case 409:
      return base::conflict(message,
                            status_reason(body) == "AlreadyExists" ? "already-exists" : "conflict");
    case 410:
      return base::retryable(message, "expired");
    case 422:
      return invalid(label, body);
    default:
      break;
  }
  if (is_passing(status) || status == 408) return base::retryable(message, "transient");
  return base::terminal(message, "rejected");
}

base::Error transport_error(const base::Error& error) {
  base::Error out = error;
  if (error.reason == "tls") out.reason = "unreachable";
  if (error.reason == "cut") out.reason = "transient";
  return out;
}

bool is_passing(int status) {
  return status == 429 || status >= 500;
}

namespace {

/// The wait that a Retry-After header asks for, none when there is nothing to go by.
std::optional<base::Duration> asked_delay(std::string_view header, base::WallTime now) {
  header = base::trim(header);
  const bool digits = !header.empty() && header.find_first_not_of("0123456789") == header.npos;
  if (digits) {
    std::int64_t seconds = 0;
    const auto [end, error] =
        std::from_chars(header.data(), header.data() + header.size(), seconds);
    return error == std::errc() ? std::chrono::seconds(std::min(seconds, kLongestWait.count()))
                                : kLongestWait;
  }
  // A date that has passed may be a clock that goes wrong: it does not make us hurry.
  const auto date = http::parse_http_date(header, now);
  if (!date || *date <= now) return std::nullopt;
  return std::min<base::Duration>(*date - now, kLongestWait);
}

}  // namespace

base::Duration retry_delay(std::uint32_t attempt, const std::optional<std::string>& retry_after,
                           base::WallTime now) {
  const auto asked = retry_after ? asked_delay(*retry_after, now) : std::nullopt;
  if (asked) return *asked;
  return std::min(kLongestDelay, kFirstDelay * (1U << std::min(attempt, 10U)));
}

}  // namespace kollect::kube
