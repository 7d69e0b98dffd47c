#include "http/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <condition_variable>
#include <exception>
#include <thread>

#include "base/hash.h"
#include "base/strings.h"
#include "http/server_connection.h"

namespace kollect::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

// ---- values

std::optional<std::string_view> ServerRequest::header(std::string_view lower_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_name) return value;
  }
  return std::nullopt;
}

std::multimap<std::string, std::string> ServerRequest::parameters() const {
  const auto decode = [](std::string_view text) {
    std::string plain = base::replace_all(std::string(text), "+", " ");
    return base::percent_decode(plain).value_or(plain);
  };
  std::multimap<std::string, std::string> out;
  for (const std::string_view part : base::split(query, '&')) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    out.emplace(decode(part.substr(0, equals)),
                equals == std::string_view::npos ? "" : decode(part.substr(equals + 1)));
  }
  return out;
}

Answer Answer::text(int status, std::string body) {
  Answer answer;
  answer.status = status;
  answer.headers.emplace_back("Content-Type", "text/plain; charset=utf-8");
  answer.body = std::move(body);
  return answer;
}

Answer Answer::json(int status, std::string body) {
  Answer answer;
  answer.status = status;
  answer.headers.emplace_back("Content-Type", "application/json");
  answer.body = std::move(body);
  return answer;
}

Reply::Reply(std::shared_ptr<Connection> connection, std::uint64_t turn)
    : connection_(std::move(connection)), turn_(turn) {}
Reply::Reply(Reply&& other) noexcept
    : connection_(std::move(other.connection_)), turn_(other.turn_) {}
Reply& Reply::operator=(Reply&& other) noexcept {
  std::swap(connection_, other.connection_);
  std::swap(turn_, other.turn_);
  return *this;
}

Reply::~Reply() {
  // When a handler throws, the connection answers for it.
  if (connection_ && std::uncaught_exceptions() == 0) connection_->abandon(turn_);
}

void Reply::send(Answer answer) {
  if (const auto connection = std::exchange(connection_, nullptr)) {
    connection->answer(turn_, std::move(answer));
  }
}

// ---- the server

struct Server::Impl {
  Impl(ServerOptions options, Handler handler, const base::Logger* log)
      : core(std::make_shared<ServerCore>(std::move(options), std::move(handler), log)),
        workers(std::max<std::size_t>(1, core->options.workers)),
        acceptor(core->io),
        retry(core->io) {
    core->workers = &workers;
    core->on_change = [this] {
      if (core->stopping) return drain();
      if (!accepting) accept();
    };
  }

  base::Result<> listen();
  void accept();
  void on_accepted(tcp::socket socket);
  void stop(base::Duration grace);
  /// While the server is stopping: when nothing is under way any more, everything is closed.
  void drain();
  [[nodiscard]] bool lets_in() const {
    const ServerOptions& options = core->options;
    if (core->stopping && !options.accept_while_stopping) return false;
    return core->open.size() < options.max_connections ||
           (options.replace_idle && core->first_idle != nullptr);
  }

  std::shared_ptr<ServerCore> core;
  asio::thread_pool workers;
  tcp::acceptor acceptor;
  asio::steady_timer retry;
  std::shared_ptr<TlsContext> tls;  // guarded by mutex
  std::uint16_t port = 0;
  bool accepting = false;  // I/O thread only
  bool draining = false;   // I/O thread only
  std::mutex mutex;
  std::condition_variable all_closed;
  bool stopped = false;  // guarded by mutex
  std::thread thread;
};

base::Result<> Server::Impl::listen() {
  const ServerOptions& options = core->options;
  ErrorCode error;
  asio::ip::address address = asio::ip::address_v6::any();
  if (!options.address.empty()) {
    address = asio::ip::make_address(options.address, error);
    if (error) {
      return base::configuration(fmt::format("\"{}\" is no IP address", options.address));
    }
  }
  const tcp::endpoint endpoint(address, options.port);
  const auto failed = [&](const char* what) {
    return base::terminal(fmt::format("cannot {} {} port {}: {}", what, address.to_string(),
                                      options.port, error.message()));
  };
  acceptor.open(endpoint.protocol(), error);
  if (error && options.address.empty()) {  // a system without IPv6
    core->options.address = "0.0.0.0";
    return listen();
  }
  if (error) return failed("open a socket for");
  acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (options.address.empty()) acceptor.set_option(asio::ip::v6_only(false), error);
  acceptor.bind(endpoint, error);
  if (error) return failed("bind");
  acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return failed("listen on");
  port = acceptor.local_endpoint(error).port();
  return {};
}

void Server::Impl::accept() {
  accepting = lets_in();
  if (!accepting) return;
  acceptor.async_accept([this](const ErrorCode& error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) {
      on_accepted(std::move(socket));
      return accept();
    }
    // Out of descriptors, for example: later there may be some.
    retry.expires_after(std::chrono::milliseconds(100));
    retry.async_wait([this](const ErrorCode& cancelled) {
      if (!cancelled) accept();
    });
  });
}

void Server::Impl::on_accepted(tcp::socket socket) {
  ErrorCode error;
  socket.set_option(tcp::no_delay(true), error);
  socket.set_option(asio::socket_base::keep_alive(true), error);
  if (const int size = core->options.send_buffer_bytes; size > 0) {
    socket.set_option(asio::socket_base::send_buffer_size(size), error);
  }
  const tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) return;  // gone already
  if (core->open.size() >= core->options.max_connections && core->first_idle != nullptr) {
    core->first_idle->close();
  }
  std::shared_ptr<TlsContext> context;
  {
    const std::scoped_lock lock(mutex);
    context = tls;
  }
  const std::string address = peer.address().to_string();
  std::make_shared<Connection>(core, make_socket(std::move(socket), std::move(context)),
                               fmt::format("{}:{}", address, peer.port()))
      ->begin();
}

void Server::Impl::drain() {
  if (draining) return;
  const auto& open = core->open;
  if (std::ranges::any_of(open, [](const Connection* one) { return one->busy(); })) return;
  draining = true;
  ErrorCode error;
  acceptor.close(error);
  const auto rest = open;
  for (Connection* connection : rest) connection->close();
  draining = false;
  const std::scoped_lock lock(mutex);
  all_closed.notify_all();
}

void Server::Impl::stop(base::Duration grace) {
  {
    const std::scoped_lock lock(mutex);
    if (std::exchange(stopped, true)) return;
  }
  if (thread.joinable()) {
    core->post([this] {
      core->stopping = true;
      ErrorCode error;
      if (!core->options.accept_while_stopping) acceptor.close(error);
      retry.cancel();
      const auto open = core->open;
      for (Connection* connection : open) connection->wind_up();
      drain();
    });
    {
      std::unique_lock lock(mutex);
      all_closed.wait_for(lock, std::chrono::duration_cast<std::chrono::nanoseconds>(grace),
                          [this] { return core->connections == 0; });
    }
    core->post([this] {
      ErrorCode error;
      acceptor.close(error);
      const auto open = core->open;
      for (Connection* connection : open) connection->close();
      core->io.stop();
    });
    thread.join();
  }
  workers.stop();
  workers.join();
  {
    const std::scoped_lock lock(core->mutex);
    core->ended = true;
  }
  core->on_change = nullptr;
  // What is still queued holds connections, and they hold the queue.
  core->io.restart();
  core->io.poll();
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() {
  stop(base::Duration::zero());
}

base::Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Handler handler,
                                                    const base::Logger* log) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler), log);
  if (impl->core->options.tls) {
    KL_ASSIGN(impl->tls, make_tls_context(*impl->core->options.tls));
  }
  KL_TRY(impl->listen());
  Impl* raw = impl.get();
  raw->core->post([raw] { raw->accept(); });
  raw->thread = std::thread([core = raw->core] {
    const auto guard = asio::make_work_guard(core->io);
    core->io.run();
  });
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

std::uint16_t Server::port() const {
  return impl_->port;
}

base::Result<> Server::set_identity(const ServerIdentity& identity) {
  KL_ASSIGN(auto context, make_tls_context(identity));
  const std::scoped_lock lock(impl_->mutex);
  impl_->tls = std::move(context);
  return {};
}

void Server::stop(base::Duration grace) {
  impl_->stop(grace);
}

ServerCounts Server::counts() const {
  const ServerCore& core = *impl_->core;
  return {.connections = core.connections,
          .accepted = core.accepted,
          .requests = core.requests,
          .refused = core.refused,
          .slow = core.slow,
          .bytes_sent = core.bytes_sent};
}

}  // namespace kollect::http
