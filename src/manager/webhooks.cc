#include "manager/webhooks.h"

#include <filesystem>

namespace kollect::manager {

namespace {

std::filesystem::path certificate_folder(const WebhookOptions& options,
                                         const std::map<std::string, std::string>& env) {
  if (!options.cert_path.empty()) return options.cert_path;
  const auto temporary = env.find("TMPDIR");
  return std::filesystem::path(temporary == env.end() ? "/tmp" : temporary->second) /
         "k8s-webhook-server" / "serving-certs";
}

/// Both empty when the text is not NAMESPACE/NAME.
std::pair<std::string, std::string> parts_of(const std::string& service) {
  const std::size_t slash = service.find('/');
  if (slash == std::string::npos) return {};
  return {service.substr(0, slash), service.substr(slash + 1)};
}

}  // namespace

base::Result<> check(const WebhookOptions& options) {
  if (!options.enabled || !options.self_signed) return {};
  const auto [ns, name] = parts_of(options.service);
  if (ns.empty() || name.empty() || name.find('/') != std::string::npos) {
    return base::configuration("--webhook-self-signed needs --webhook-service=NAMESPACE/NAME");
  }
  if (options.secret.empty() || options.configuration.empty()) {
    return base::configuration(
        "--webhook-self-signed needs --webhook-secret and --webhook-configuration");
  }
  return {};
}

admission::Settings settings_of(const ManagerOptions& options) {
  return {.tenant_mode = options.tenant_mode,
          .allow_private_sinks = options.sinks.allow_private,
          .allow_loopback_sinks = options.sinks.allow_loopback,
          .allow_local_sinks = options.sinks.allow_local,
          .max_export_bytes = options.max_export_bytes};
}

base::Result<std::unique_ptr<Webhooks>> Webhooks::start(
    const WebhookOptions& options, const admission::Settings& settings, kube::Client& client,
    const admission::Lookup& lookup, const base::Clock& clock, const base::Logger* log,
    const std::map<std::string, std::string>& env) {
  auto server = webhook::Server::create(options.address, lookup, settings, clock, log);
  if (!server) return server.error().with_prefix("--webhook-bind-address");
  auto webhooks = std::unique_ptr<Webhooks>(new Webhooks(std::move(*server)));
  webhook::Server* raw = webhooks->server_.get();
  if (!options.self_signed) {
    const auto folder = certificate_folder(options, env);
    KL_TRY(raw->follow_files(folder / options.cert_name, folder / options.cert_key));
    return webhooks;
  }
  webhook::SelfSignedOptions own;
  std::tie(own.ns, own.service) = parts_of(options.service);
  own.secret = options.secret;
  own.configuration = options.configuration;
  webhooks->self_signed_ = std::make_unique<webhook::SelfSigned>(
      client, std::move(own), [raw](const webhook::KeyPair& pair) { return raw->adopt(pair); },
      clock, log);
  webhooks->self_signed_->start();
  return webhooks;
}

Webhooks::~Webhooks() {
  stop();
}

void Webhooks::stop() {
  if (self_signed_) self_signed_->stop();
  server_->stop();
}

}  // namespace kollect::manager
