#include "sinks/objects/azure/client.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/strings.h"
#include "sinks/objects/bucket.h"

namespace kollect::sinks::objects::azure {

namespace {

/// The version of the service's interface that this is written for.
constexpr const char* kVersion = "2021-12-02";

std::string http_date(base::WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT",
                     fmt::gmtime(static_cast<std::time_t>(seconds)));
}

/// Words of the service; anything else a server says is not repeated.
std::string code_of(const http::Response& answer) {
  auto code = answer.header("x-ms-error-code").value_or("");
  const bool is_word = code.size() <= 64 && std::ranges::all_of(code, [](unsigned char c) {
                         return std::isalnum(c) != 0;
                       });
  return is_word ? code : std::string();
}

bool is_one_of(std::string_view code, std::initializer_list<std::string_view> codes) {
  return std::ranges::find(codes, code) != codes.end();
}

std::string_view advice_for(std::string_view code) {
  if (is_one_of(code, {"AuthenticationFailed", "InvalidAuthenticationInfo"})) {
    return "check accountKey or sasToken, and the clock of this machine";
  }
  if (is_one_of(code, {"AuthorizationPermissionMismatch", "AuthorizationFailure"})) {
    return "give it the role Storage Blob Data Contributor, a signature the rights rwdlc";
  }
  if (code == "ContainerNotFound") return "create it, or set options.createBucket";
  if (code == "AccountIsDisabled") return "enable the storage account";
  return {};
}

}  // namespace

base::Error classify(int status, std::string_view code, std::string message) {
  if (const auto advice = advice_for(code); !advice.empty()) {
    message += fmt::format("; {}", advice);
  }
  if (code == "ContainerNotFound") return base::terminal(message, std::string(kNoBucket));
  // Blocks that are gone are sent again with the next try.
  if (status < 400 || status == 408 || status == 429 || status >= 500 ||
      is_one_of(code, {"ContainerBeingDeleted", "InvalidBlockList"})) {
    return base::retryable(message, status == 429 || code == "ServerBusy" ? "throttled" : "server");
  }
  if (status == 401 || status == 403 || code == "InvalidAuthenticationInfo") {
    return base::denied(message, "access-denied");
  }
  return base::terminal(message, "refused");
}

Client::Client(ClientOptions options, std::unique_ptr<Authority> authority)
    : options_(std::move(options)), authority_(std::move(authority)) {}

base::Result<http::Response> Client::attempt(const base::Context& context, const Request& request) {
  Signable signable;
  signable.method = request.method;
  signable.path =
      encode_path(options_.endpoint.base_path() + (request.key.empty() ? "" : "/" + request.key));
  signable.query = request.query;
  signable.headers = request.headers;
  signable.headers["x-ms-date"] = http_date(context.clock().now());
  signable.headers["x-ms-version"] = kVersion;
  signable.body_bytes = request.body.size();
  std::string extra;
  KL_TRY(authority_->allow(context, signable, extra));
  http::Request out;
  out.method = request.method;
  out.url = options_.endpoint.service + signable.path;
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    out.url += fmt::format("{}{}={}", separator, name, base::percent_encode(value));
    separator = '&';
  }
  if (!extra.empty()) out.url += separator + extra;
  for (const auto& [name, value] : signable.headers) out.headers.emplace_back(name, value);
  out.borrowed_body = request.body;
  out.tls = options_.tls;
  out.guard = options_.guard;
  out.max_body_bytes = request.max_answer;
  out.stall_timeout = request.patience;
  KL_TRY(http::pin_addresses(out, options_.resolver));
  return http_.fetch(context, out);
}

base::Result<http::Response> Client::send(const base::Context& context, const Request& request) {
  const auto shown = fmt::format("{} {}{}", request.method, options_.endpoint.shown(),
                                 request.key.empty() ? "" : "/" + request.key);
  bool renewed = false;
  return send_repeatedly(
      context, request, options_.pause, [&] { return attempt(context, request); },
      [&](const http::Response& answer) {
        const int status = answer.status;
        const auto code = code_of(answer);
        Refused out;
        out.error = classify(
            status, code, fmt::format("{}: {}{}{}", shown, status, code.empty() ? "" : " ", code));
        // A token that ended is no failed attempt.
        out.at_once = status == 401 && !renewed && authority_->renew();
        renewed = renewed || out.at_once;
        return out;
      });
}

}  // namespace kollect::sinks::objects::azure
