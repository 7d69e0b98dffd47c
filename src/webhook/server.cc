#include "webhook/server.h"

#include "http/listen_address.h"
#include "webhook/review.h"

namespace kollect::webhook {

namespace {

/// An object may have 3 MiB, and an update sends two.
constexpr std::uint64_t kMaxBody = 16U << 20U;
constexpr std::size_t kWorkers = 4;
/// One API server keeps one connection, or a few.
constexpr std::size_t kMaxConnections = 512;
constexpr auto kGrace = std::chrono::seconds(5);

}  // namespace

base::Result<std::unique_ptr<Server>> Server::create(const std::string& address,
                                                     const admission::Lookup& lookup,
                                                     admission::Settings settings,
                                                     const base::Clock& clock,
                                                     const base::Logger* log) {
  http::ServerOptions options;
  KL_TRY(http::read_listen_address(address, options));
  options.workers = kWorkers;
  options.max_connections = kMaxConnections;
  options.replace_idle = true;
  options.max_body_bytes = kMaxBody;
  return std::unique_ptr<Server>(new Server(std::move(options), lookup, settings, clock, log));
}

Server::~Server() {
  stop();
}

base::Result<> Server::adopt(const KeyPair& certificate) {
  http::ServerIdentity identity;
  identity.certificate_pem = certificate.certificate_pem;
  identity.key_pem = certificate.key_pem;
  const std::scoped_lock lock(mutex_);
  if (stopped_) return base::cancelled("the webhooks are being stopped");
  if (server_) return server_->set_identity(identity);
  http::ServerOptions options = options_;
  options.tls = identity;
  KL_ASSIGN(server_,
            http::Server::start(
                std::move(options),
                [this](const std::shared_ptr<const http::ServerRequest>& request,
                       http::Reply reply) { reply.send(answer(*request, lookup_, settings_)); },
                log_));
  if (log_ != nullptr) {
    log_->info("webhooks are served", {{"port", std::to_string(server_->port())}});
  }
  return {};
}

base::Result<> Server::follow_files(const std::string& certificate, const std::string& key) {
  const auto take = [this](const std::vector<std::string>& contents) {
    return adopt({.certificate_pem = contents[0], .key_pem = base::Secret(contents[1])});
  };
  const auto added =
      reloader_.add_or_await("certificate of the webhooks", {certificate, key}, take);
  if (!added && added.error().kind == base::ErrorKind::kTerminal) return added.error();
  if (!added && log_ != nullptr) {
    log_->warn("the webhooks have no certificate yet and are not served",
               {{"error", added.error().message},
                {"hint", "--validating-webhooks-enabled=false, where nobody asks them"}});
  }
  reloader_.start();
  return {};
}

bool Server::serving() const {
  const std::scoped_lock lock(mutex_);
  return server_ != nullptr && !stopped_;
}

std::uint16_t Server::port() const {
  const std::scoped_lock lock(mutex_);
  return server_ ? server_->port() : 0;
}

void Server::stop() {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(stopped_, true)) return;
  }
  // Nobody adopts any more; handlers do not take the lock.
  if (server_) server_->stop(kGrace);
}

}  // namespace kollect::webhook
