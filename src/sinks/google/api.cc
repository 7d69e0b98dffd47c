#include "sinks/google/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace kollect::sinks::google {

namespace {

namespace json = base::json;

constexpr int kTries = 3;
constexpr std::size_t kLongestMessage = 400;

constexpr std::array<std::string_view, 3> kLimited = {"rateLimitExceeded", "quotaExceeded",
                                                      "userRateLimitExceeded"};
constexpr std::array<std::string_view, 9> kPassing = {
    "backendError",     "internalError",        "jobBackendError", "jobInternalError", "stopped",
    "tableUnavailable", "jobRateLimitExceeded", "resourceInUse",   "timeout"};
constexpr std::array<std::string_view, 5> kDenied = {"accessDenied", "forbidden", "authError",
                                                     "required", "insufficientPermissions"};

template <std::size_t n>
bool has(const std::array<std::string_view, n>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// What an error answer says, in either of the two forms of its body.
Fault fault_of(const http::Response& answer) {
  Fault out;
  out.status = answer.status;
  const auto document = json::Document::parse(answer.body);
  if (!document.has_value()) return out;
  const auto error = document->root().find("error");
  if (!error || !error->is_object()) return out;
  out.message = std::string(error->text("message"));
  if (const auto errors = error->find("errors"); errors && errors->size() > 0) {
    out.reason = std::string(errors->at(0).text("reason"));
  }
  return out;
}

std::string host_of(std::string_view url) {
  const auto begin = url.find("://");
  if (begin == std::string_view::npos) return {};
  url.remove_prefix(begin + 3);
  return std::string(url.substr(0, url.find_first_of("/?#")));
}

}  // namespace

bool is_passing(const base::Error& error) {
  return error.kind == base::ErrorKind::kRetryable;
}

base::Result<http::Response> Api::send_once(const base::Context& context, const Call& call) {
  http::Request request;
  request.method = call.method;
  request.url = call.path.starts_with("http") ? call.path : options_.base_url + call.path;
  request.headers = call.headers;
  request.borrowed_body = call.body;  // `call` outlives the requests
  if (!call.body.empty()) request.headers.emplace_back("Content-Type", call.content_type);
  for (int attempt = 1;; ++attempt) {
    if (options_.credentials) {
      auto token = options_.credentials->token(context, options_.scope);
      if (!token.has_value()) return token.error().with_prefix(options_.name);
      request.bearer_token = std::move(*token);
    }
    auto answer = fetch(context, options_.network, request);
    if (!answer.has_value()) return answer.error().with_prefix(options_.name);
    if (answer->status != 401 || !options_.credentials || attempt == 2) return answer;
    options_.credentials->forget(options_.scope);  // taken back before its time
  }
}

base::Result<http::Response> Api::send(const base::Context& context, const Call& call) {
  for (int attempt = 1;; ++attempt) {
    auto answer = send_once(context, call);
    if (answer.has_value()) {
      const int status = answer->status;
      const bool taken =
          (status >= 200 && status < 300) ||
          std::find(call.accept.begin(), call.accept.end(), status) != call.accept.end();
      if (taken) return answer;
      answer = error_of(*answer, call.doing);
    }
    if (!is_passing(answer.error()) || attempt == kTries) return answer;
    if (!context.sleep(options_.pause * attempt)) {
      KL_TRY(context.check());
      return answer;
    }
  }
}

base::Error Api::error_of(const http::Response& answer, std::string_view doing) const {
  return error_of(fault_of(answer), doing);
}

base::Error Api::error_of(const Fault& fault, std::string_view doing) const {
  std::string what(base::cut_utf8(base::sanitize_utf8(fault.message), kLongestMessage));
  std::replace_if(
      what.begin(), what.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  if (options_.credentials) what = options_.credentials->mask(std::move(what));
  std::string text = fmt::format("{}: {}: ", options_.name, doing);
  if (fault.status != 0) text += fmt::format("status {}", fault.status);
  if (!fault.reason.empty()) {
    text += fmt::format("{}{}", fault.status != 0 ? ", " : "",
                        base::cut_utf8(base::sanitize_utf8(fault.reason), 64));
  }
  if (!what.empty()) text += ": " + what;
  const int status = fault.status;
  if (has(kLimited, fault.reason) || status == 429) return base::retryable(text, "rate-limit");
  if (has(kPassing, fault.reason) || status == 408 || status >= 500) {
    return base::retryable(text, "unavailable");
  }
  if (status == 401 || fault.reason == "authError") return base::denied(text, "auth");
  if (status == 403 || has(kDenied, fault.reason)) return base::denied(text, "forbidden");
  if (status == 404 || fault.reason == "notFound") return base::not_found(text, "not-found");
  if (status == 400 || fault.reason == "invalid" || fault.reason == "invalidQuery") {
    return base::terminal(text, "refused");
  }
  if (status >= 400 && options_.unknown_is_terminal) return base::terminal(text, "refused");
  return base::retryable(text, "unavailable");
}

base::Result<std::string> Api::checked_location(const http::Response& answer,
                                                std::string_view doing) const {
  std::string location = answer.header("location").value_or("");
  if (location.starts_with("/")) location = options_.base_url + location;
  const std::string host = host_of(location);
  const bool ours = !options_.credentials || host == host_of(options_.base_url) ||
                    (location.starts_with("https://") && host.ends_with(".googleapis.com"));
  if (host.empty() || !ours) {
    return base::terminal(
        fmt::format("{}: {}: the answer names no upload of this service", options_.name, doing),
        "refused");
  }
  return location;
}

}  // namespace kollect::sinks::google
