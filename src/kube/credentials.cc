#include "kube/credentials.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/json/document.h"
#include "base/strings.h"
#include "kube/pem.h"

namespace kollect::kube {

namespace {

constexpr std::size_t kMaxToken = 1U << 20U;
constexpr int kEmptyFileTries = 20;
constexpr base::Duration kEmptyFileWait = std::chrono::milliseconds(50);
constexpr base::Duration kExpiryMargin = std::chrono::seconds(30);

std::vector<std::pair<std::string, std::string>> impersonation_headers(
    const ClusterConfig& config) {
  std::vector<std::pair<std::string, std::string>> headers;
  if (!config.impersonate) return headers;
  const auto& as = *config.impersonate;
  headers.emplace_back("Impersonate-User", as.user);
  if (!as.uid.empty()) headers.emplace_back("Impersonate-Uid", as.uid);
  for (const std::string& group : as.groups) headers.emplace_back("Impersonate-Group", group);
  for (const auto& [key, values] : as.extra) {
    const std::string name = "Impersonate-Extra-" + base::percent_encode(base::to_lower(key));
    for (const std::string& value : values) headers.emplace_back(name, value);
  }
  return headers;
}

std::shared_ptr<http::TlsOptions> tls_of(const ClusterConfig& config) {
  auto tls = std::make_shared<http::TlsOptions>();
  tls->ca_pem = config.ca_pem;
  tls->insecure_skip_verify = config.insecure_skip_verify;
  tls->client_cert_pem = config.client_cert_pem;
  tls->client_key_pem = config.client_key_pem;
  tls->server_name = config.tls_server_name;
  return tls;
}

}  // namespace

Credentials::Credentials(const ClusterConfig& config, std::map<std::string, std::string> env)
    : config_(config), env_(std::move(env)), headers_(impersonation_headers(config)) {
  credential_.tls = tls_of(config);
  credential_.generation = 1;
  if (config.token_file.empty()) credential_.bearer = config.token;
  if (!config.username.empty()) credential_.basic = {config.username, config.password};
}

base::Result<Credential> Credentials::current(const base::Context& context) {
  const std::lock_guard lock(mutex_);
  if (!config_.token_file.empty()) {
    KL_TRY(refresh_token_file(context, false));
  } else if (config_.exec && exec_is_due(context)) {
    KL_TRY(refresh_exec(context));
  }
  return credential_;
}

base::Result<Credential> Credentials::renew(const base::Context& context,
                                            std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  if (credential_.generation != generation) return credential_;  // somebody else was faster
  if (!config_.token_file.empty()) {
    KL_TRY(refresh_token_file(context, true));
  } else if (config_.exec) {
    KL_TRY(refresh_exec(context));
  }
  return credential_;
}

std::optional<Credentials::FileStamp> Credentials::stamp_of(const std::filesystem::path& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileStamp{info.st_dev, info.st_ino, info.st_mtim.tv_sec, info.st_mtim.tv_nsec,
                   info.st_size};
}

base::Result<> Credentials::refresh_token_file(const base::Context& context, bool force) {
  const std::filesystem::path& path = config_.token_file;
  for (int attempt = 0;; ++attempt) {
    const auto stamp = stamp_of(path);
    if (!force && stamp && stamp == stamp_) return {};
    auto text = base::read_file(path, kMaxToken);
    const std::string token(text ? base::trim(*text) : std::string_view());
    if (!token.empty()) {
      stamp_ = stamp;
      if (token != credential_.bearer.reveal()) {
        credential_.bearer = base::Secret(token);
        ++credential_.generation;
      }
      return {};
    }
    // Caught between two states: the last good token serves until the file is whole again.
    if (!credential_.bearer.empty()) return {};
    if (attempt == kEmptyFileTries) {
      return base::denied(
          fmt::format("token file: {}", text ? path.string() + " is empty" : text.error().message),
          "unauthorized");
    }
    if (!context.sleep(kEmptyFileWait)) {
      KL_TRY(context.check());
      return base::cancelled("time limit reached", "timeout");
    }
  }
}

bool Credentials::exec_is_due(const base::Context& context) const {
  return !have_exec_ || (renew_at_ && context.clock().now() >= *renew_at_);
}

base::Result<> Credentials::refresh_exec(const base::Context& context) {
  KL_ASSIGN(ExecCredential fresh, run_exec_plugin(context, config_, env_));
  take(std::move(fresh), context.clock().now());
  return {};
}

void Credentials::take(ExecCredential fresh, base::WallTime now) {
  credential_.bearer = std::move(fresh.token);
  if (!fresh.client_cert_pem.empty()) {
    auto tls = tls_of(config_);
    tls->client_cert_pem = std::move(fresh.client_cert_pem);
    tls->client_key_pem = std::move(fresh.client_key_pem);
    credential_.tls = std::move(tls);
  }
  renew_at_.reset();
  if (fresh.expires) {
    // A credential that lives shorter than the margin must not make every request run the program.
    const base::Duration life = *fresh.expires - now;
    renew_at_ = *fresh.expires - std::min(kExpiryMargin, std::max(life, base::Duration{}) / 10);
  }
  have_exec_ = true;
  ++credential_.generation;
}

std::string Credentials::explain_refusal(base::WallTime now) {
  const std::lock_guard lock(mutex_);
  const auto token_end = token_valid_until(credential_.bearer.reveal());
  if (token_end && *token_end <= now) {
    return "the token expired at " + base::format_rfc3339_seconds(*token_end);
  }
  const auto cert_end = valid_until(credential_.tls->client_cert_pem);
  if (cert_end && *cert_end <= now) {
    return "the client certificate expired at " + base::format_rfc3339_seconds(*cert_end);
  }
  const bool anonymous =
      credential_.bearer.empty() && !credential_.basic && credential_.tls->client_cert_pem.empty();
  return anonymous ? "the context has no credentials" : "";
}

std::optional<base::WallTime> token_valid_until(std::string_view token) {
  const auto parts = base::split(token, '.');
  if (parts.size() != 3) return std::nullopt;
  std::string payload(parts[1]);
  std::ranges::replace(payload, '-', '+');
  std::ranges::replace(payload, '_', '/');
  payload.resize((payload.size() + 3) / 4 * 4, '=');
  const auto text = base::base64_decode(payload);
  if (!text) return std::nullopt;
  const auto claims = base::json::Document::parse_borrowed(*text);
  const auto end = claims ? claims->root().find("exp") : std::nullopt;
  if (!end || !end->is_number()) return std::nullopt;
  const base::json::Number seconds = end->number();
  constexpr std::int64_t kFarFuture = 9'000'000'000;  // what nanoseconds can count
  if (seconds.kind != base::json::Number::Kind::kInt || seconds.i < 0 || seconds.i > kFarFuture) {
    return std::nullopt;
  }
  return base::WallTime(std::chrono::seconds(seconds.i));
}

}  // namespace kollect::kube
