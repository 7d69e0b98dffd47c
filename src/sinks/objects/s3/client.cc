#include "sinks/objects/s3/client.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/strings.h"
#include "sinks/objects/bucket.h"
#include "sinks/objects/xml.h"

namespace kollect::sinks::objects::s3 {

namespace {

constexpr const char* kDefaultRegion = "us-east-1";
constexpr std::size_t kLongestMessage = 300;

/// What the service says of an error.
struct Told {
  std::string code;
  std::string message;
  std::string region;
};

Told told_by(const http::Response& answer) {
  Told out;
  if (const auto region = answer.header("x-amz-bucket-region")) out.region = *region;
  if (answer.body.empty()) return out;
  const auto root = parse_xml(answer.body);
  if (!root.has_value() || root->name != "Error") return out;
  out.code = root->text_of("Code");
  out.message = root->text_of("Message");
  if (out.region.empty()) out.region = root->text_of("Region");
  return out;
}

std::string one_line(std::string_view text) {
  auto out = base::sanitize_utf8(text);
  out.resize(base::cut_utf8(out, kLongestMessage).size());
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return out;
}

bool is_one_of(std::string_view code, std::initializer_list<std::string_view> codes) {
  return std::ranges::find(codes, code) != codes.end();
}

bool may_pass(int status, std::string_view code) {
  if (is_one_of(code, {"RequestTimeout", "OperationAborted", "SlowDown", "InternalError",
                       "ServiceUnavailable", "RequestTimeTooSkewed"})) {
    return true;
  }
  return status < 400 || status == 408 || status == 429 || status >= 500;
}

bool is_refusal(int status, std::string_view code) {
  return status == 401 || status == 403 ||
         is_one_of(code, {"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch",
                          "ExpiredToken", "InvalidToken", "TokenRefreshRequired"});
}

std::string_view advice_for(std::string_view code) {
  if (code == "SignatureDoesNotMatch") return "check secretAccessKey";
  if (code == "InvalidAccessKeyId") return "check accessKeyID";
  if (is_one_of(code, {"ExpiredToken", "InvalidToken", "TokenRefreshRequired"})) {
    return "renew the session token";
  }
  if (code == "RequestTimeTooSkewed") return "set the clock of this machine";
  if (code == "NoSuchBucket") return "create it, or set options.createBucket";
  return {};
}

}  // namespace

base::Error classify(int status, std::string_view code, std::string message) {
  if (const auto advice = advice_for(code); !advice.empty()) {
    message += fmt::format("; {}", advice);
  }
  if (code == "NoSuchBucket") return base::terminal(message, std::string(kNoBucket));
  if (may_pass(status, code)) {
    return base::retryable(message, status == 429 || code == "SlowDown" ? "throttled" : "server");
  }
  if (is_refusal(status, code)) return base::denied(message, "access-denied");
  return base::terminal(message, "refused");
}

Client::Client(ClientOptions options, std::unique_ptr<CredentialSource> credentials)
    : options_(std::move(options)),
      credentials_(std::move(credentials)),
      region_(options_.region) {}

std::string Client::shown(const Request& request) const {
  auto place = options_.endpoint.shown();
  if (!request.key.empty()) place += "/" + request.key;
  return fmt::format("{} {}", request.method, place);
}

base::Result<> Client::find_region(const base::Context& context) {
  if (!region_.empty()) return {};
  region_ = kDefaultRegion;
  Request probe;
  probe.method = "HEAD";
  const auto answer = attempt(context, probe);
  if (!answer.has_value()) {
    region_.clear();
    return answer.error();
  }
  learn_region(*answer);
  return {};
}

bool Client::learn_region(const http::Response& answer) {
  auto told = told_by(answer).region;
  if (told.empty() || told == region_) return false;
  const bool is_name = std::ranges::all_of(
      told, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
  // It becomes a part of a host name.
  if (!is_name) return false;
  region_ = std::move(told);
  return true;
}

base::Result<http::Response> Client::attempt(const base::Context& context, const Request& request) {
  KL_ASSIGN(const auto credentials, credentials_->get(context));
  secret_words_[0] = credentials.access_key;
  secret_words_[1] = credentials.session_token.reveal();
  Signable signable;
  signable.method = request.method;
  const auto base_path = options_.endpoint.base_path();
  signable.path = encode_path(base_path + (request.key.empty() ? "" : "/" + request.key));
  if (signable.path.empty()) signable.path = "/";
  signable.query = request.query;
  signable.headers = request.headers;
  signable.payload_sha256 =
      request.body_sha256.empty() ? base::sha256_hex(request.body) : request.body_sha256;
  SigningScope scope{context.clock().now(), region_};
  signable.headers["host"] = options_.endpoint.host(region_);
  signable.headers["x-amz-content-sha256"] = signable.payload_sha256;
  signable.headers["x-amz-date"] = amz_date(scope.time);
  if (!credentials.session_token.empty()) {
    signable.headers["x-amz-security-token"] = credentials.session_token.reveal();
  }
  http::Request out;
  out.method = request.method;
  out.url =
      fmt::format("{}://{}{}", options_.endpoint.scheme(), signable.headers["host"], signable.path);
  if (!request.query.empty()) out.url += "?" + encode_query(request.query);
  for (const auto& [name, value] : signable.headers) {
    if (name != "host") out.headers.emplace_back(name, value);
  }
  out.headers.emplace_back("authorization", authorization(signable, credentials, scope));
  out.borrowed_body = request.body;
  out.tls = options_.tls;
  out.guard = options_.guard;
  out.max_body_bytes = request.max_answer;
  out.stall_timeout = request.patience;
  KL_TRY(http::pin_addresses(out, options_.resolver));
  return http_.fetch(context, out);
}

base::Error Client::failure(const Request& request, const http::Response& answer) const {
  auto told = told_by(answer);
  // An answer to HEAD has no body.
  if (answer.status == 404 && request.key.empty() && told.code.empty()) told.code = "NoSuchBucket";
  auto message = fmt::format("{}: {}", shown(request), answer.status);
  if (!told.code.empty()) message += " " + told.code;
  if (told.code.empty() && is_refusal(answer.status, {})) {
    message += ", the credentials are refused or lack the right to it";
  }
  if (!told.message.empty()) message += ": " + told.message;
  message = one_line(message);
  for (const auto& word : secret_words_) {
    if (!word.empty()) message = base::replace_all(std::move(message), word, "***");
  }
  return classify(answer.status, told.code, std::move(message));
}

base::Result<http::Response> Client::send(const base::Context& context, const Request& request) {
  KL_TRY(find_region(context));
  bool moved = false;
  bool renewed = false;
  return send_repeatedly(
      context, request, options_.pause, [&] { return attempt(context, request); },
      [&](const http::Response& answer) {
        Refused out;
        // A bucket elsewhere, and keys that ended, are no failed attempts.
        if (!moved && learn_region(answer)) {
          moved = true;
          out.at_once = true;
          return out;
        }
        out.error = failure(request, answer);
        const bool expired = is_one_of(told_by(answer).code, {"ExpiredToken", "InvalidToken"}) ||
                             (answer.status == 400 && request.method == "HEAD");
        out.at_once = !renewed && expired && credentials_->renew();
        renewed = renewed || out.at_once;
        return out;
      });
}

}  // namespace kollect::sinks::objects::s3
