#include "sinks/google/grants.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "sinks/google/jwt.h"

namespace kollect::sinks::google {

namespace {

namespace json = base::json;

constexpr const char* kTokenUri = "https://oauth2.googleapis.com/token";
constexpr const char* kCloudPlatform = "https://www.googleapis.com/auth/cloud-platform";
constexpr const char* kFormType = "application/x-www-form-urlencoded";
constexpr std::size_t kLargestFile = std::size_t{1} << 20U;
constexpr std::int64_t kAssertionSeconds = 3600;
constexpr std::chrono::seconds kMetadataConnect{5};
/// Answers that do not say how long a token lives.
constexpr std::chrono::minutes kUnknownLifetime{10};

base::Error bad(std::string_view what) {
  return base::configuration(std::string(what), "bad-credentials");
}

/// "invalid_grant" out of an answer of RFC 6749; nothing else of it, because whoever is asked may
/// send back what it was sent.
std::string error_code(const http::Response& answer) {
  const auto document = json::Document::parse(answer.body);
  if (!document.has_value() || !document->root().is_object()) return {};
  const std::string_view code = document->root().text("error");
  const bool plain = code.size() <= 40 && std::all_of(code.begin(), code.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || c == '_';
                     });
  return plain ? std::string(code) : std::string();
}

base::Error refused(std::string_view who, const http::Response& answer) {
  if (answer.status == 408 || answer.status == 429 || answer.status >= 500) {
    return base::retryable(fmt::format("{} answers with status {}", who, answer.status),
                           "unavailable");
  }
  const std::string code = error_code(answer);
  return base::denied(fmt::format("{} gives no token (status {}{}{})", who, answer.status,
                                  code.empty() ? "" : ", ", code),
                      "auth");
}

base::Result<json::Document> answered(std::string_view who, const http::Response& answer) {
  if (answer.status != 200) return refused(who, answer);
  auto document = json::Document::parse(answer.body);
  if (!document.has_value() || !document->root().is_object()) {
    return base::retryable(fmt::format("{} gives an answer that is no JSON object", who),
                           "unavailable");
  }
  return document;
}

base::Result<Granted> granted(std::string_view who, json::View root) {
  Granted out;
  out.token = base::Secret(std::string(root.text("access_token")));
  if (out.token.empty()) {
    return base::retryable(fmt::format("{} gives an answer without access_token", who),
                           "unavailable");
  }
  out.lifetime = kUnknownLifetime;
  const auto lifetime = root.find("expires_in");
  if (lifetime && lifetime->is_number()) {
    const double seconds = lifetime->number().as_double();
    out.lifetime =
        std::chrono::seconds(static_cast<std::int64_t>(std::clamp(seconds, 0.0, 86400.0)));
  }
  return out;
}

/// Tokens and assertions go over TLS, or stay on this machine.
bool is_safe(std::string_view url) {
  if (url.starts_with("https://")) return true;
  for (const std::string_view machine : {"http://127.0.0.1:", "http://[::1]:"}) {
    if (!url.starts_with(machine)) continue;
    // Behind user information the host would be another one.
    return url.substr(machine.size()).find('@') == std::string_view::npos;
  }
  return false;
}

/// The token that another service gave, out of its file or its answer.
base::Result<base::Secret> subject_token(json::View source, const base::Secret& text) {
  const auto format = source.find("format");
  if (!format || format->text("type") != "json") {
    return base::Secret(std::string(base::trim(text.reveal())));
  }
  const auto document = json::Document::parse(text.reveal());
  const auto field = format->text("subject_token_field_name");
  const std::string_view token = document.has_value() && document->root().is_object()
                                     ? document->root().text(field)
                                     : std::string_view();
  if (token.empty()) return bad(fmt::format("the source has no token under \"{}\"", field));
  return base::Secret(std::string(token));
}

base::Result<base::Secret> read_source(const base::Context& context, const Network& network,
                                       json::View root) {
  const auto source = root.find("credential_source");
  if (!source || !source->is_object()) return bad("credential_source is missing");
  if (const auto file = source->text("file"); !file.empty()) {
    KL_ASSIGN(const auto text, read_small_file(std::string(file)));
    return subject_token(*source, text);
  }
  const std::string url(source->text("url"));
  if (url.empty() || source->find("environment_id")) {
    return bad("credential_source must be a file or a URL");
  }
  http::Request request;
  request.url = url;
  if (const auto headers = source->find("headers"); headers && headers->is_object()) {
    for (const auto& [name, value] : headers->members()) {
      if (value.is_string()) request.headers.emplace_back(name, value.as_string());
    }
  }
  KL_ASSIGN(const auto answer, fetch(context, network, std::move(request)));
  if (answer.status != 200) return refused("credential_source.url", answer);
  return subject_token(*source, base::Secret(answer.body));
}

base::Result<Granted> exchange(const base::Context& context, const Network& network,
                               json::View root, const base::Secret& subject,
                               const std::string& scope) {
  http::Request request;
  request.method = "POST";
  request.url = std::string(root.text("token_url"));
  if (!is_safe(request.url)) return bad("token_url must be an https URL");
  request.headers.emplace_back("Content-Type", kFormType);
  if (const auto id = root.text("client_id"); !id.empty()) {
    request.basic_auth.emplace(std::string(id), std::string(root.text("client_secret")));
  }
  request.body = form({{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                       {"audience", std::string(root.text("audience"))},
                       {"scope", scope},
                       {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
                       {"subject_token_type", std::string(root.text("subject_token_type"))},
                       {"subject_token", subject.reveal()}});
  KL_ASSIGN(const auto answer, fetch(context, network, std::move(request)));
  KL_ASSIGN(const auto document, answered("the token exchange", answer));
  return granted("the token exchange", document.root());
}

base::Result<Granted> impersonate(const base::Context& context, const Network& network,
                                  const std::string& url, const base::Secret& token,
                                  const std::string& scope) {
  constexpr const char* kWho = "the impersonation of a service account";
  if (!is_safe(url)) return bad("service_account_impersonation_url must be an https URL");
  http::Request request;
  request.method = "POST";
  request.url = url;
  request.bearer_token = token;
  request.headers.emplace_back("Content-Type", "application/json");
  json::Object body;
  body.set("scope", json::Array{json::Value(scope)});
  body.set("lifetime", fmt::format("{}s", kAssertionSeconds));
  request.body = json::compact(json::Value(std::move(body)));
  KL_ASSIGN(const auto answer, fetch(context, network, std::move(request)));
  KL_ASSIGN(const auto document, answered(kWho, answer));
  Granted out;
  out.token = base::Secret(std::string(document.root().text("accessToken")));
  const auto until = base::parse_rfc3339(document.root().text("expireTime"));
  if (out.token.empty() || !until.has_value()) {
    return base::retryable(fmt::format("{} gives an answer without a token", kWho), "unavailable");
  }
  out.lifetime = std::max(base::Duration::zero(), *until - context.clock().now());
  return out;
}

}  // namespace

base::Result<ServiceAccount> read_service_account(json::View root) {
  ServiceAccount out;
  out.email = std::string(base::trim(root.text("client_email")));
  out.key_id = std::string(root.text("private_key_id"));
  out.private_key = base::Secret(std::string(root.text("private_key")));
  out.token_uri = std::string(base::trim(root.text("token_uri")));
  if (out.email.empty()) return bad("client_email is missing");
  if (out.private_key.empty()) return bad("private_key is missing");
  if (const auto usable = check_rsa_key(out.private_key); !usable.has_value()) {
    return bad(usable.error().message);
  }
  if (out.token_uri.empty()) out.token_uri = kTokenUri;
  if (!is_safe(out.token_uri)) return bad("token_uri must be an https URL");
  return out;
}

base::Result<base::Secret> read_small_file(const std::string& path) {
  auto text = base::read_file(path, kLargestFile);
  if (!text.has_value()) return bad(text.error().message);
  return base::Secret(std::move(*text));
}

base::Result<Granted> grant_of_key(const base::Context& context, const Network& network,
                                   const ServiceAccount& account, const std::string& scope) {
  constexpr const char* kWho = "the token endpoint of the service account's key";
  const std::int64_t now =
      std::chrono::floor<std::chrono::seconds>(context.clock().now()).time_since_epoch().count();
  json::Object claims;
  claims.set("iss", account.email);
  claims.set("scope", scope);
  claims.set("aud", account.token_uri);
  claims.set("iat", now);
  claims.set("exp", now + kAssertionSeconds);
  KL_ASSIGN(const base::Secret assertion, sign_rs256(account.private_key, account.key_id, claims));
  http::Request request;
  request.method = "POST";
  request.url = account.token_uri;
  request.headers.emplace_back("Content-Type", kFormType);
  request.body = form({{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
                       {"assertion", assertion.reveal()}});
  KL_ASSIGN(const auto answer, fetch(context, network, std::move(request)));
  KL_ASSIGN(const auto document, answered(kWho, answer));
  return granted(kWho, document.root());
}

base::Result<Granted> grant_of_external_account(const base::Context& context,
                                                const Network& network, json::View root,
                                                const std::string& scope) {
  KL_ASSIGN(const base::Secret subject, read_source(context, network, root));
  const std::string url(root.text("service_account_impersonation_url"));
  KL_ASSIGN(auto first,
            exchange(context, network, root, subject, url.empty() ? scope : kCloudPlatform));
  if (url.empty()) return first;
  return impersonate(context, network, url, first.token, scope);
}

base::Result<Granted> grant_of_metadata(const base::Context& context, const Network& network,
                                        const std::string& host, const std::string& scope) {
  constexpr const char* kWho = "the metadata server";
  http::Request request;
  request.url =
      fmt::format("http://{}/computeMetadata/v1/instance/service-accounts/default/token?scopes={}",
                  host, base::percent_encode(scope));
  request.headers.emplace_back("Metadata-Flavor", "Google");
  Network near = network;
  near.connect_timeout = kMetadataConnect;
  const auto answer = fetch(context, near, std::move(request));
  if (!answer.has_value()) {
    if (answer.error().kind == base::ErrorKind::kCancelled) return answer.error();
    return base::retryable(
        fmt::format("there are no Google credentials: the sink names no Secret, "
                    "GOOGLE_APPLICATION_CREDENTIALS is not set, and no metadata server answers "
                    "({})",
                    answer.error().message),
        "unreachable");
  }
  KL_ASSIGN(const auto document, answered(kWho, *answer));
  return granted(kWho, document.root());
}

}  // namespace kollect::sinks::google
