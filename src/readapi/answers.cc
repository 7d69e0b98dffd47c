#include "readapi/answers.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/gzip.h"
#include "base/hash.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::readapi {
namespace {

/// What is smaller is not packed.
constexpr std::size_t kWorthPacking = 512;

class GzipBody final : public http::BodySource {
 public:
  explicit GzipBody(std::shared_ptr<http::BodySource> body) : body_(std::move(body)) {}

  void start(std::function<void()> wake) override { body_->start(std::move(wake)); }
  Pull pull(std::string& out) override {
    plain_.clear();
    const Pull pull = body_->pull(plain_);
    if (pull.next == Next::kCut || !gzip_.good()) return {.next = Next::kCut};
    gzip_.add(plain_, out);
    if (pull.next == Next::kEnd) gzip_.finish(out);
    return pull;
  }

 private:
  std::shared_ptr<http::BodySource> body_;
  base::GzipStream gzip_;
  std::string plain_;
};

void add_header(http::Answer& answer, const char* name, std::string_view value) {
  answer.headers.emplace_back(name, value);
}

}  // namespace

http::Answer error_answer(int status, std::string_view reason, std::string_view message) {
  std::string body = fmt::format("{{\"error\":{{\"code\":{},\"reason\":", status);
  base::json::append_string(body, reason);
  body += ",\"message\":";
  base::json::append_string(body, message);
  body += "}}\n";
  http::Answer answer = http::Answer::json(status, std::move(body));
  add_header(answer, "Cache-Control", "no-store");
  if (status == 401) add_header(answer, "WWW-Authenticate", "Bearer");
  if (status == 429) add_header(answer, "Retry-After", "1");
  if (status == 503) add_header(answer, "Retry-After", "5");
  return answer;
}

http::Answer error_answer(const base::Error& error, const base::Logger* log) {
  using base::ErrorKind;
  const auto reason = [&](const char* usual) {
    return error.reason.empty() || !(error.reason[0] >= 'A' && error.reason[0] <= 'Z')
               ? std::string(usual)
               : error.reason;
  };
  switch (error.kind) {
    case ErrorKind::kConfiguration:
      if (error.reason == "NoHistory" || error.reason == "NoObjects") {
        return error_answer(501, error.reason, error.message);
      }
      return error_answer(400, reason("BadRequest"), error.message);
    case ErrorKind::kNotFound:
      return error_answer(404, reason("NotFound"), error.message);
    case ErrorKind::kDenied:
      return error_answer(403, "Forbidden", error.message);
    default:
      break;
  }
  if (log != nullptr) log->warn("a request of the read API failed", {{"error", error.message}});
  if (error.kind == ErrorKind::kCancelled) {
    return error_answer(504, "Timeout", "the answer took too long; ask for less, or filter");
  }
  if (error.kind == ErrorKind::kRetryable) {
    return error_answer(503, reason("StoreUnavailable"),
                        "the store cannot be read at the moment; try again");
  }
  return error_answer(500, "InternalError", "the request failed; the log says why");
}

http::Answer refusal(const Verdict& verdict) {
  switch (verdict.kind) {
    case Verdict::Kind::kUnauthenticated:
      return error_answer(401, "Unauthorized", verdict.message);
    case Verdict::Kind::kForbidden:
      return error_answer(403, "Forbidden", verdict.message);
    case Verdict::Kind::kTooMany:
      return error_answer(429, "TooManyRequests", verdict.message);
    case Verdict::Kind::kUnavailable:
      return error_answer(503, "AuthenticationUnavailable", verdict.message);
    default:
      return error_answer(500, "InternalError", verdict.message);
  }
}

std::string bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (base::to_lower(authorization.substr(0, kScheme.size())) != kScheme) return {};
  const std::string_view token = base::trim(authorization.substr(kScheme.size()));
  // Visible characters alone (RFC 6750, 2.1): an API server might take what stands before a blank.
  const bool sound = std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; });
  return sound ? std::string(token) : std::string();
}

std::string entity_tag(std::string_view texts) {
  const auto [high, low] = base::xxh3_128(texts);
  return fmt::format("W/\"{:016x}{:016x}\"", high, low);
}

bool has_tag(const http::ServerRequest& request, std::string_view tag) {
  const auto sent = request.header("if-none-match");
  if (!sent) return false;
  const auto opaque = [](std::string_view text) {
    return text.starts_with("W/") ? text.substr(2) : text;
  };
  return std::ranges::any_of(base::split(*sent, ','), [&](std::string_view one) {
    one = base::trim(one);
    return one == "*" || opaque(one) == opaque(tag);
  });
}

http::Answer not_modified(std::string_view tag) {
  http::Answer answer;
  answer.status = 304;
  add_header(answer, "ETag", tag);
  add_header(answer, "Cache-Control", "no-cache");
  add_header(answer, "Vary", "Authorization, Accept-Encoding");
  return answer;
}

bool takes_gzip(const http::ServerRequest& request) {
  const auto accepted = request.header("accept-encoding");
  if (!accepted) return false;
  for (const std::string_view part : base::split(*accepted, ',')) {
    const auto words = base::split(part, ';');
    if (!base::iequals(base::trim(words[0]), "gzip")) continue;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string_view word = base::trim(words[i]);
      if (!word.starts_with("q=")) continue;
      // No weight but zero says no: "0", "0.", "0.000".
      return word.find_first_not_of("0.", 2) != std::string_view::npos;
    }
    return true;
  }
  return false;
}

http::Answer packed(http::Answer answer) {
  if (answer.source) {
    answer.source = std::make_shared<GzipBody>(std::move(answer.source));
  } else if (answer.body.size() < kWorthPacking) {
    return answer;
  } else {
    std::string bytes = base::gzip(answer.body);
    if (bytes.empty()) return answer;
    answer.body = std::move(bytes);
  }
  add_header(answer, "Content-Encoding", "gzip");
  return answer;
}

http::Answer json_answer(const http::ServerRequest& request, std::string body) {
  const std::string tag = entity_tag(body);
  if (has_tag(request, tag)) return not_modified(tag);
  http::Answer answer = http::Answer::json(200, std::move(body));
  add_header(answer, "ETag", tag);
  add_header(answer, "Cache-Control", "no-cache");
  add_header(answer, "Vary", "Authorization, Accept-Encoding");
  return takes_gzip(request) ? packed(std::move(answer)) : answer;
}

}  // namespace kollect::readapi
