// Credentials that services hand out: STS, container endpoints, the instance metadata service.
#include <fmt/format.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/json/document.h"
#include "base/strings.h"
#include "sinks/objects/s3/credentials.h"
#include "sinks/objects/xml.h"

namespace kollect::sinks::objects::s3 {

namespace {

constexpr std::size_t kLargestAnswer = 1U << 20U;
constexpr base::Duration kPatience = std::chrono::seconds(5);
constexpr const char* kContainerHost = "http://169.254.170.2";
constexpr const char* kInstanceHost = "http://169.254.169.254";
constexpr const char* kTokenSeconds = "21600";

http::Request request_to(std::string url) {
  http::Request request;
  request.url = std::move(url);
  request.max_body_bytes = kLargestAnswer;
  request.connect_timeout = kPatience;
  request.stall_timeout = kPatience;
  return request;
}

/// What a service says about a refusal: its status, never its text, which may hold anything.
base::Error refused(const char* who, int status) {
  auto text = fmt::format("{} answered {}", who, status);
  if (status == 429 || status >= 500) return base::retryable(text, "credentials");
  return base::denied(text, "access-denied");
}

std::optional<base::WallTime> time_of(std::string_view text) {
  const auto parsed = base::parse_rfc3339(text);
  return parsed.has_value() ? std::optional(*parsed) : std::nullopt;
}

/// The JSON that container endpoints and the instance metadata service answer with.
base::Result<Issued> read_issued(const char* who, std::string_view body) {
  const auto document = base::json::Document::parse(body);
  if (!document.has_value() || !document->root().is_object()) {
    return base::retryable(fmt::format("{}: the answer is no JSON", who), "credentials");
  }
  const auto root = document->root();
  Issued out{{std::string(root.text("AccessKeyId")),
              base::Secret(std::string(root.text("SecretAccessKey"))),
              base::Secret(std::string(root.text("Token")))},
             time_of(root.text("Expiration"))};
  if (out.credentials.access_key.empty() || out.credentials.secret_key.empty()) {
    return base::retryable(fmt::format("{}: the answer has no keys", who), "credentials");
  }
  return out;
}

std::string host_of(std::string_view url) {
  const auto start = url.find("://");
  if (start == std::string_view::npos) return {};
  auto host = url.substr(start + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  if (host.starts_with('[')) return std::string(host.substr(0, host.find(']') + 1));
  return std::string(host.substr(0, host.find(':')));
}

/// Over plain HTTP credentials come from the machine itself and the platform's fixed addresses.
bool may_ask(const std::string& url) {
  if (url.starts_with("https://")) return true;
  const auto host = host_of(url);
  return host.starts_with("127.") || host == "localhost" || host == "[::1]" ||
         host == "169.254.170.2" || host == "169.254.170.23" || host == "[fd00:ec2::23]";
}

std::string sts_url(const Environment& environment, const std::string& region) {
  if (const auto told = environment("AWS_ENDPOINT_URL_STS")) return *told;
  if (region.empty()) return "https://sts.amazonaws.com";
  return fmt::format("https://sts.{}.amazonaws.com{}", region,
                     region.starts_with("cn-") ? ".cn" : "");
}

}  // namespace

MaybeIssued from_web_identity(const base::Context& context, http::Client& client,
                              const Environment& environment, const std::string& region) {
  constexpr const char* kWho = "web identity (AssumeRoleWithWebIdentity)";
  const auto file = environment("AWS_WEB_IDENTITY_TOKEN_FILE");
  const auto role = environment("AWS_ROLE_ARN");
  if (!file || !role) return std::optional<Issued>();
  // Read each time: the platform replaces it.
  const auto token = base::read_file(*file);
  if (!token.has_value()) return token.error().with_prefix(kWho);
  auto request = request_to(sts_url(environment, region));
  request.method = "POST";
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  request.body = fmt::format(
      "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn={}&RoleSessionName={}"
      "&WebIdentityToken={}",
      base::percent_encode(*role),
      base::percent_encode(environment("AWS_ROLE_SESSION_NAME").value_or("kollect")),
      base::percent_encode(base::trim(*token)));
  KL_ASSIGN(const auto answer, client.fetch(context, request));
  if (answer.status != 200) return refused(kWho, answer.status);
  const auto root = parse_xml(answer.body);
  if (!root.has_value()) return root.error().with_prefix(kWho);
  const auto* result = root->find("AssumeRoleWithWebIdentityResult");
  const auto* found = result == nullptr ? nullptr : result->find("Credentials");
  if (found == nullptr || found->text_of("AccessKeyId").empty()) {
    return base::retryable(fmt::format("{}: the answer has no keys", kWho), "credentials");
  }
  return std::optional(Issued{{std::string(found->text_of("AccessKeyId")),
                               base::Secret(std::string(found->text_of("SecretAccessKey"))),
                               base::Secret(std::string(found->text_of("SessionToken")))},
                              time_of(found->text_of("Expiration"))});
}

MaybeIssued from_container(const base::Context& context, http::Client& client,
                           const Environment& environment) {
  constexpr const char* kWho = "the container's credentials endpoint";
  std::string url;
  if (const auto relative = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    url = kContainerHost + *relative;
  } else if (const auto full = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
    url = *full;
  } else {
    return std::optional<Issued>();
  }
  if (!may_ask(url)) {
    return base::configuration(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or the machine's or platform's own",
        "no-credentials");
  }
  auto request = request_to(url);
  auto token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const auto file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
    auto text = base::read_file(*file);
    if (!text.has_value()) return text.error().with_prefix(kWho);
    token = std::string(base::trim(*text));
  }
  if (token) request.headers = {{"Authorization", *token}};
  KL_ASSIGN(const auto answer, client.fetch(context, request));
  if (answer.status != 200) return refused(kWho, answer.status);
  KL_ASSIGN(auto issued, read_issued(kWho, answer.body));
  return std::optional(std::move(issued));
}

MaybeIssued from_instance(const base::Context& context, http::Client& client,
                          const Environment& environment) {
  constexpr const char* kWho = "the instance metadata service";
  if (base::iequals(environment("AWS_EC2_METADATA_DISABLED").value_or(""), "true")) {
    return std::optional<Issued>();
  }
  auto base_url = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or(kInstanceHost);
  while (base_url.ends_with('/')) base_url.pop_back();
  auto begin = request_to(base_url + "/latest/api/token");
  begin.method = "PUT";
  // Elsewhere than on an instance nobody answers there.
  begin.connect_timeout = std::chrono::seconds(1);
  begin.stall_timeout = std::chrono::seconds(2);
  begin.headers = {{"X-aws-ec2-metadata-token-ttl-seconds", kTokenSeconds}};
  const auto session = client.fetch(context, begin);
  if (!session.has_value()) {
    KL_TRY(context.check());
    return std::optional<Issued>();
  }
  if (session->status != 200) return std::optional<Issued>();
  const auto get = [&](const std::string& path) {
    auto request = request_to(base_url + path);
    request.headers = {{"X-aws-ec2-metadata-token", session->body}};
    return client.fetch(context, request);
  };
  const std::string folder = "/latest/meta-data/iam/security-credentials/";
  KL_ASSIGN(const auto roles, get(folder));
  if (roles.status == 404) return std::optional<Issued>();  // an instance without a role
  if (roles.status != 200) return refused(kWho, roles.status);
  const auto role = base::trim(base::split(roles.body, '\n').front());
  KL_ASSIGN(const auto answer, get(folder + encode_path(role)));
  if (answer.status != 200) return refused(kWho, answer.status);
  KL_ASSIGN(auto issued, read_issued(kWho, answer.body));
  return std::optional(std::move(issued));
}

}  // namespace kollect::sinks::objects::s3
