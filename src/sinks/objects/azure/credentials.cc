#include "sinks/objects/azure/credentials.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/json/document.h"
#include "base/strings.h"

namespace kollect::sinks::objects::azure {

namespace {

/// Renewed so long before its end: a long upload must not outlive it.
constexpr base::Duration kEarly = std::chrono::minutes(5);
constexpr base::Duration kPatience = std::chrono::seconds(5);
constexpr std::size_t kLargestAnswer = std::size_t{1} << 20U;
constexpr const char* kStorage = "https://storage.azure.com/";
constexpr const char* kMetadataHost = "http://169.254.169.254";

struct Token {
  base::Secret value;
  base::WallTime expires;
};

/// The usual accident of secrets made from files.
std::string without_line_end(std::string_view text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  return std::string(text);
}

/// Name of the Secret's key and its value.
std::pair<std::string, std::string> first_of(const SecretData& secret,
                                             std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto found = secret.find(key);
    if (found == secret.end()) continue;
    auto text = without_line_end(found->second.reveal());
    if (!text.empty()) return {key, std::move(text)};
  }
  return {};
}

base::Error bad_secret(const std::string& why) {
  return base::configuration("the sink's Secret: " + why, "bad-secret");
}

class AccountKey final : public Authority {
 public:
  AccountKey(std::string account, base::Secret key)
      : account_(std::move(account)), key_(std::move(key)) {}
  base::Result<> allow(const base::Context& /*context*/, Signable& request,
                       std::string& /*extra_query*/) override {
    request.headers["authorization"] = shared_key_authorization(request, account_, key_.reveal());
    return {};
  }

 private:
  std::string account_;
  base::Secret key_;
};

class Signature final : public Authority {
 public:
  explicit Signature(base::Secret sas) : sas_(std::move(sas)) {}
  base::Result<> allow(const base::Context& /*context*/, Signable& /*request*/,
                       std::string& extra_query) override {
    extra_query = sas_.reveal();
    return {};
  }
  [[nodiscard]] bool lists_only() const override { return true; }

 private:
  base::Secret sas_;
};

/// What an issuer says about a refusal: its status, never its text, which may hold anything.
base::Error refused(const char* who, int status) {
  auto text = fmt::format("{} answered {}", who, status);
  if (status == 429 || status >= 500) return base::retryable(text, "credentials");
  return base::denied(text, "access-denied");
}

/// Seconds as a number or as a text of digits.
std::int64_t seconds_of(base::json::View root, std::string_view member) {
  const auto value = root.find(member);
  if (!value) return 0;
  if (value->is_number()) return static_cast<std::int64_t>(value->number().as_double());
  return value->is_string() ? std::atoll(std::string(value->as_string()).c_str()) : 0;
}

base::Result<Token> read_token(const char* who, const http::Response& answer, base::WallTime now) {
  if (answer.status != 200) return refused(who, answer.status);
  const auto document = base::json::Document::parse(answer.body);
  if (!document.has_value() || document->root().text("access_token").empty()) {
    return base::retryable(fmt::format("{}: the answer has no token", who), "credentials");
  }
  const auto root = document->root();
  const auto lives = std::chrono::seconds(seconds_of(root, "expires_in"));
  return Token{base::Secret(std::string(root.text("access_token"))), now + lives};
}

http::Request request_to(std::string url) {
  http::Request request;
  request.url = std::move(url);
  request.max_body_bytes = kLargestAnswer;
  request.connect_timeout = kPatience;
  request.stall_timeout = kPatience;
  return request;
}

/// A token that identifies us is exchanged for one of Azure over https, or with the machine itself.
bool may_ask(std::string_view url) {
  if (url.starts_with("https://")) return true;
  return url.starts_with("http://127.") || url.starts_with("http://localhost:") ||
         url.starts_with("http://[::1]");
}

class OwnIdentity final : public Authority {
 public:
  explicit OwnIdentity(Environment environment) : environment_(std::move(environment)) {}

  base::Result<> allow(const base::Context& context, Signable& request,
                       std::string& /*extra_query*/) override {
    const auto now = context.clock().now();
    if (!token_ || now >= token_->expires - kEarly) {
      auto fresh = ask(context, now);
      if (fresh.has_value()) {
        token_ = std::move(*fresh);
      } else if (!token_ || now >= token_->expires) {  // the old one is good until its end
        return fresh.error();
      }
    }
    request.headers["authorization"] = "Bearer " + token_->value.reveal();
    return {};
  }

  bool renew() override { return std::exchange(token_, std::nullopt).has_value(); }

 private:
  base::Result<Token> ask(const base::Context& context, base::WallTime now) {
    if (const auto file = environment_("AZURE_FEDERATED_TOKEN_FILE")) {
      return exchange(context, *file, now);
    }
    return of_machine(context, now);
  }

  base::Result<Token> exchange(const base::Context& context, const std::string& file,
                               base::WallTime now) {
    constexpr const char* kWho = "workload identity (token exchange)";
    const auto client = environment_("AZURE_CLIENT_ID");
    const auto tenant = environment_("AZURE_TENANT_ID");
    if (!client || !tenant) {
      return base::configuration(
          fmt::format("{}: AZURE_CLIENT_ID and AZURE_TENANT_ID are not both set", kWho),
          "no-credentials");
    }
    auto host = environment_("AZURE_AUTHORITY_HOST").value_or("https://login.microsoftonline.com");
    while (host.ends_with('/')) host.pop_back();
    if (!may_ask(host)) {
      return base::configuration(fmt::format("{}: AZURE_AUTHORITY_HOST must be https", kWho),
                                 "no-credentials");
    }
    // Read each time: the platform replaces it.
    const auto token = base::read_file(file);
    if (!token.has_value()) return token.error().with_prefix(kWho);
    auto request =
        request_to(fmt::format("{}/{}/oauth2/v2.0/token", host, base::percent_encode(*tenant)));
    request.method = "POST";
    request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
    request.body = fmt::format(
        "grant_type=client_credentials&client_id={}&scope={}"
        "&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"
        "&client_assertion={}",
        base::percent_encode(*client), base::percent_encode(std::string(kStorage) + ".default"),
        base::percent_encode(base::trim(*token)));
    KL_ASSIGN(const auto answer, http_.fetch(context, request));
    return read_token(kWho, answer, now);
  }

  base::Result<Token> of_machine(const base::Context& context, base::WallTime now) {
    constexpr const char* kWho = "managed identity";
    http::Request request;
    const auto resource = base::percent_encode(kStorage);
    const auto endpoint = environment_("IDENTITY_ENDPOINT");
    const auto header = environment_("IDENTITY_HEADER");
    if (endpoint && header) {
      request =
          request_to(fmt::format("{}?api-version=2019-08-01&resource={}", *endpoint, resource));
      request.headers = {{"X-IDENTITY-HEADER", *header}};
    } else {
      auto host = environment_("AZURE_POD_IDENTITY_AUTHORITY_HOST").value_or(kMetadataHost);
      while (host.ends_with('/')) host.pop_back();
      request = request_to(fmt::format(
          "{}/metadata/identity/oauth2/token?api-version=2018-02-01&resource={}", host, resource));
      request.headers = {{"Metadata", "true"}};
    }
    if (const auto client = environment_("AZURE_CLIENT_ID")) {
      request.url += "&client_id=" + base::percent_encode(*client);
    }
    const auto answer = http_.fetch(context, request);
    if (!answer.has_value()) {
      KL_TRY(context.check());
      return base::configuration(
          "no credentials: the sink's Secret has neither accountKey nor sasToken, and this machine "
          "has no managed identity",
          "no-credentials");
    }
    return read_token(kWho, *answer, now);
  }

  Environment environment_;
  http::Client http_;
  std::optional<Token> token_;
};

}  // namespace

base::Result<SecretParts> secret_parts(const SecretData& secret) {
  SecretParts out;
  out.account = first_of(secret, {"accountName", "AZURE_STORAGE_ACCOUNT"}).second;
  const auto [key_name, key] = first_of(secret, {"accountKey", "AZURE_STORAGE_KEY"});
  const auto [sas_name, sas] = first_of(secret, {"sasToken", "AZURE_STORAGE_SAS_TOKEN"});
  if (!key.empty() && !sas.empty()) {
    return bad_secret(fmt::format("has both {} and {}; keep one", key_name, sas_name));
  }
  if (!key.empty()) {
    auto decoded = base::base64_decode(key);
    if (!decoded.has_value() || decoded->empty()) {
      return bad_secret(fmt::format("{} is no base64, as keys of storage accounts are", key_name));
    }
    out.key = base::Secret(std::move(*decoded));
  }
  if (!sas.empty()) {
    const auto query = sas.starts_with('?') ? sas.substr(1) : sas;
    if (query.find("sig=") == std::string::npos ||
        query.find_first_of(" \t\r\n#?\"<>\\") != std::string::npos) {
      return bad_secret(fmt::format("{} is no shared access signature (sv=...&sig=...)", sas_name));
    }
    out.sas = base::Secret(query);
  }
  return out;
}

std::unique_ptr<Authority> by_account_key(std::string account, base::Secret key) {
  return std::make_unique<AccountKey>(std::move(account), std::move(key));
}

std::unique_ptr<Authority> by_signature(base::Secret sas) {
  return std::make_unique<Signature>(std::move(sas));
}

std::unique_ptr<Authority> by_own_identity(Environment environment) {
  return std::make_unique<OwnIdentity>(std::move(environment));
}

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): nobody sets it
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

}  // namespace kollect::sinks::objects::azure
