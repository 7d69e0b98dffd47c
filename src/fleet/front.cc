#include "fleet/front.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "fleet/api.h"

namespace kollect::fleet {

namespace {

constexpr auto kDrain = std::chrono::seconds(10);
constexpr std::uint64_t kMaxBody = 9U << 20U;
constexpr std::uint32_t kMaxHead = 32U << 10U;
constexpr auto kWrite = std::chrono::seconds(30);
/// Descriptors that are not for connections.
constexpr std::size_t kOtherFiles = 64;

std::string variable(const cli::Invocation& invocation, const char* name, std::string otherwise) {
  const auto found = invocation.env.find(name);
  return found == invocation.env.end() ? std::move(otherwise) : found->second;
}

base::Result<> read_address(const std::string& text, FrontSettings& settings) {
  const std::size_t colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? "" : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), settings.port);
  if (port.empty() || error != std::errc() || end != port.data() + port.size()) {
    return base::configuration(fmt::format("LISTEN_ADDR {}: must be ADDRESS:PORT", text));
  }
  settings.address = text.substr(0, colon);
  if (settings.address.starts_with('[') && settings.address.ends_with(']')) {
    settings.address = settings.address.substr(1, settings.address.size() - 2);
  }
  return {};
}

base::Result<> read_tokens(const cli::Invocation& invocation, bool crud, FrontSettings& settings) {
  settings.tokens_file = variable(invocation, "TOKENS_FILE", "");
  const auto read = invocation.env.find("AUTH_TOKEN");
  if (read != invocation.env.end()) settings.tokens.read = base::Secret(read->second);
  if (!settings.tokens.read && settings.tokens_file.empty()) {
    return base::configuration(
        "AUTH_TOKEN must be set, the token that readers send, or TOKENS_FILE");
  }
  const auto write = invocation.env.find("CRUD_AUTH_TOKEN");
  if (!crud) return {};  // a process that cannot write holds no token for it
  if (write != invocation.env.end()) {
    settings.tokens.write = base::Secret(write->second);
  } else if (settings.tokens_file.empty()) {
    settings.tokens.write = settings.tokens.read;
  }
  return {};
}

base::Result<> read_tls(const cli::Invocation& invocation, FrontSettings& settings) {
  settings.tls_certificate = variable(invocation, "TLS_CERT_FILE", "");
  settings.tls_key = variable(invocation, "TLS_KEY_FILE", "");
  settings.tls_client_ca = variable(invocation, "TLS_CLIENT_CA_FILE", "");
  if (settings.tls_certificate.empty() != settings.tls_key.empty()) {
    return base::configuration("TLS_CERT_FILE and TLS_KEY_FILE: both or none");
  }
  if (!settings.tls_client_ca.empty() && settings.tls_certificate.empty()) {
    return base::configuration("TLS_CLIENT_CA_FILE needs TLS_CERT_FILE and TLS_KEY_FILE");
  }
  const std::string wanted =
      base::to_lower(base::trim(variable(invocation, "TLS_CLIENT_AUTH", "required")));
  if (wanted != "required" && wanted != "optional") {
    return base::configuration("TLS_CLIENT_AUTH: must be required or optional");
  }
  settings.tls_client_required = wanted == "required";
  return {};
}

base::Result<> read_limits(const cli::Invocation& invocation, FrontSettings& settings) {
  for (const auto& [name, value] : {std::pair("SHUTDOWN_DELAY", &settings.shutdown_delay),
                                    std::pair("IDLE_TIMEOUT", &settings.idle_timeout),
                                    std::pair("HEADER_TIMEOUT", &settings.header_timeout),
                                    std::pair("BODY_TIMEOUT", &settings.body_timeout)}) {
    const std::string text = variable(invocation, name, "");
    if (text.empty()) continue;
    const auto duration = base::parse_duration(text);
    if (!duration) return duration.error().with_prefix(name);
    *value = *duration;
  }
  const std::string most = variable(invocation, "MAX_CONNECTIONS", "");
  if (most.empty()) return {};
  const auto [end, error] =
      std::from_chars(most.data(), most.data() + most.size(), settings.max_connections);
  if (error != std::errc() || end != most.data() + most.size() || settings.max_connections == 0) {
    return base::configuration("MAX_CONNECTIONS: must be a number above 0");
  }
  return {};
}

/// As many as there may be descriptors, up to the bound.
std::size_t connections_at_most(std::size_t bound) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return bound;
  const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, bound + kOtherFiles);
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = wanted;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
  }
  const rlim_t files = std::max<rlim_t>(limit.rlim_cur, 2 * kOtherFiles);
  return static_cast<std::size_t>(std::min<rlim_t>(files - kOtherFiles, bound));
}

}  // namespace

base::Result<FrontSettings> read_front(const cli::Invocation& invocation, bool crud) {
  FrontSettings settings;
  KL_TRY(read_tokens(invocation, crud, settings));
  KL_TRY(read_tls(invocation, settings));
  KL_TRY(read_address(variable(invocation, "LISTEN_ADDR", "0.0.0.0:8080"), settings));
  KL_TRY(read_limits(invocation, settings));
  return settings;
}

base::Result<> Front::take_identity(const std::vector<std::string>& contents) {
  http::ServerIdentity identity{.certificate_pem = contents[0],
                                .key_pem = base::Secret(contents[1]),
                                .client_ca_pem = contents.size() > 2 ? contents[2] : "",
                                .client_required = settings_.tls_client_required};
  if (server_) return server_->set_identity(identity);
  identity_ = std::move(identity);
  return {};
}

base::Result<std::unique_ptr<Front>> Front::create(FrontSettings settings, const base::Clock& clock,
                                                   const base::Logger& log) {
  auto front = std::unique_ptr<Front>(new Front(std::move(settings), clock, log));
  const FrontSettings& set = front->settings_;
  Front* raw = front.get();
  front->tokens_.replace(all_tokens(set.tokens, std::nullopt));
  if (!set.tokens_file.empty()) {
    const auto added = raw->reloader_.add(
        "tokens", {set.tokens_file},
        [raw](const std::vector<std::string>& contents) -> base::Result<> {
          KL_ASSIGN(auto of_file, parse_tokens(contents.front()));
          raw->tokens_.replace(all_tokens(raw->settings_.tokens, std::move(of_file)));
          return {};
        });
    if (!added) return added.error().with_prefix("TOKENS_FILE");
  }
  if (!set.tls_certificate.empty()) {
    std::vector<std::string> files = {set.tls_certificate, set.tls_key};
    if (!set.tls_client_ca.empty()) files.push_back(set.tls_client_ca);
    const auto added = raw->reloader_.add(
        "certificate", std::move(files),
        [raw](const std::vector<std::string>& contents) { return raw->take_identity(contents); });
    if (!added) return added.error().with_prefix("TLS");
  }
  return front;
}

Front::~Front() = default;

base::Result<> Front::listen(Api& api) {
  api_ = &api;
  http::ServerOptions options;
  options.address = settings_.address;
  options.port = settings_.port;
  options.tls = identity_;
  options.max_connections = connections_at_most(settings_.max_connections);
  options.replace_idle = true;
  options.quick = [&api](const http::RequestView& request) { return api.quick(request); };
  options.accept_while_stopping = true;
  options.max_header_bytes = kMaxHead;
  options.max_body_bytes = kMaxBody;
  options.idle_timeout = settings_.idle_timeout;
  options.header_timeout = settings_.header_timeout;
  options.body_timeout = settings_.body_timeout;
  options.write_timeout = kWrite;
  KL_ASSIGN(server_, http::Server::start(
                         std::move(options),
                         [&api](const std::shared_ptr<const http::ServerRequest>& request,
                                http::Reply reply) { reply.send(api.answer(*request)); },
                         &log_));
  reloader_.start();
  return {};
}

void Front::add_metrics(metrics::Registry& registry) const {
  const auto open = registry.gauge("kollect_http_connections", "Connections that are open.");
  const auto set = [](const metrics::Counter& counter, std::uint64_t value) {
    counter.add(static_cast<double>(value) - counter.value());
  };
  const auto accepted =
      registry.counter("kollect_http_connections_total", "Connections that were accepted.");
  const auto refused = registry.counter("kollect_http_requests_refused_total",
                                        "Requests that were malformed or beyond a limit.");
  const auto slow = registry.counter("kollect_http_slow_clients_total",
                                     "Connections that were closed because nobody read.");
  const auto sent = registry.counter("kollect_http_sent_bytes_total", "Bytes that were sent.");
  registry.before_text([=, this] {
    const http::ServerCounts now = counts();
    open.set(static_cast<double>(now.connections));
    set(accepted, now.accepted);
    set(refused, now.refused);
    set(slow, now.slow);
    set(sent, now.bytes_sent);
  });
}

void Front::close() {
  api_->leave();
  clock_.sleep(settings_.shutdown_delay, std::stop_token());
  server_->stop(kDrain);
}

}  // namespace kollect::fleet
