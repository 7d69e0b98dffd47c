#include "kube/sender.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/api_error.h"

namespace kollect::kube {

namespace {

constexpr std::size_t kMostWarnings = 200;

bool allows(Again again, bool taken) {
  return again == Again::kAlways || (again == Again::kUntaken && !taken);
}

}  // namespace

Sender::Sender(std::shared_ptr<http::Client> http, ClusterConfig config, ClientOptions options,
               const base::Logger* log)
    : http_(std::move(http)),
      config_(std::move(config)),
      options_(std::move(options)),
      log_(log),
      credentials_(config_, options_.env) {}

http::Request Sender::make_request(const Call& call, const Credential& credential) const {
  http::Request request;
  request.method = call.method;
  request.url = config_.server + call.path;
  request.headers = credentials_.headers();
  request.headers.emplace_back("Accept", call.accept);
  request.headers.emplace_back("User-Agent", options_.user_agent);
  if (!call.content_type.empty()) request.headers.emplace_back("Content-Type", call.content_type);
  if (!credential.bearer.empty()) request.bearer_token = credential.bearer;
  request.basic_auth = credential.basic;
  request.body = call.body;
  request.tls = credential.tls;
  request.proxy_url = config_.proxy_url;
  request.stall_timeout = options_.request_timeout;
  return request;
}

base::Result<http::Response> Sender::send(const base::Context& context, const Call& call) {
  KL_ASSIGN(Credential credential, credentials_.current(context));
  bool renewed = false;
  for (std::uint32_t attempt = 0;; ++attempt) {
    auto response = http_->fetch(context, make_request(call, credential));
    const bool may_again = attempt < call.retries.value_or(options_.retries);
    if (!response) {
      count("<error>", call.method);
      const bool taken = response.error().reason != "unreachable";
      if (!may_again || !allows(call.again, taken) || !worth_retry(response.error())) {
        return transport_error(response.error());
      }
      KL_TRY(wait(context, attempt, response.error().message, std::nullopt));
      continue;
    }
    note(*response, call.method);
    if (response->status == 401 && !renewed) {
      renewed = true;
      const std::uint64_t refused = credential.generation;
      KL_ASSIGN(credential, credentials_.renew(context, refused));
      if (credential.generation != refused) continue;
    }
    const bool taken = response->status != 429;
    if (!is_passing(response->status) || !may_again || !allows(call.again, taken)) return response;
    KL_TRY(wait(context, attempt, fmt::format("{}: {}", call.path, response->status),
                response->header("retry-after")));
    KL_ASSIGN(credential, credentials_.current(context));
  }
}

base::Result<http::Response> Sender::expect_success(const base::Context& context, const Call& call,
                                                    std::string_view label) {
  KL_ASSIGN(http::Response response, send(context, call));
  if (response.status / 100 != 2) {
    return refusal(context, label, response.status, response.body);
  }
  return response;
}

base::Error Sender::refusal(const base::Context& context, std::string_view label, int status,
                            std::string_view body) {
  base::Error error = error_of(label, status, body);
  if (status != 401) return error;
  const std::string hint = credentials_.explain_refusal(context.clock().now());
  if (!hint.empty()) error.message += "; " + hint;
  return error;
}

bool Sender::worth_retry(const base::Error& error) const {
  if (error.kind != base::ErrorKind::kRetryable) return false;
  if (error.reason == "cut") return true;
  return error.reason == "unreachable" && reached_;
}

base::Result<> Sender::wait(const base::Context& context, std::uint32_t attempt,
                            std::string_view why, const std::optional<std::string>& retry_after) {
  const base::Duration delay = retry_delay(attempt, retry_after, context.clock().now());
  if (log_ != nullptr) {
    log_->debug("request is sent again", {{"context", config_.context_name},
                                          {"error", std::string(why)},
                                          {"delay", base::format_duration(delay)}});
  }
  if (context.sleep(delay)) return {};
  KL_TRY(context.check());
  return base::cancelled(fmt::format("no time left to try again: {}", why), "timeout");
}

void Sender::count(const std::string& code, const std::string& method) {
  const std::lock_guard lock(mutex_);
  ++counts_[{code, method}];
}

RequestCounts Sender::request_counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void Sender::note(const http::Response& response, const std::string& method) {
  reached_ = true;
  count(std::to_string(response.status), method);
  const auto [first, last] = response.headers.equal_range("warning");
  for (auto it = first; it != last; ++it) {
    std::string text = warning_text(it->second);
    if (text.empty()) continue;
    const std::lock_guard lock(mutex_);
    if (warnings_.size() < kMostWarnings && std::ranges::find(warnings_, text) == warnings_.end()) {
      warnings_.push_back(std::move(text));
    }
  }
}

std::vector<std::string> Sender::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
}

std::string warning_text(std::string_view header) {
  const auto open = header.find('"');
  if (!header.starts_with("299 ") || open == std::string_view::npos) return {};
  std::string text;
  for (std::size_t i = open + 1; i < header.size() && header[i] != '"'; ++i) {
    if (header[i] == '\\' && i + 1 < header.size()) ++i;
    text.push_back(header[i]);
  }
  return base::sanitize_utf8(base::cut_utf8(text, 400));
}

}  // namespace kollect::kube
