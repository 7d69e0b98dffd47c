// The contract of event sinks against a real nats-server with TLS.
#include "sinks/events/contract.h"
#include "sinks/nats/nats_fixture.h"
#include "support/certificates.h"

namespace kollect::sinks::events::contract {
namespace {

using nats::NatsOptions;
using nats::NatsServer;

class NatsWorld final : public World {
 public:
  NatsWorld() {
    static int number = 0;
    stream_ = fmt::format("contract_{}", number++);
    options_ = server_.options(stream_, "kollect." + stream_);
  }
  ~NatsWorld() override { server_.api("$JS.API.STREAM.DELETE." + stream_); }

  std::unique_ptr<Transport> make_transport(Mode mode) override {
    NatsOptions options = options_;
    options.changes = mode == Mode::kChanges;
    return nats::make_transport(std::move(options));
  }
  std::unique_ptr<Transport> make_with_wrong_credentials() override {
    NatsOptions options = options_;
    options.login.password = base::Secret(secret());
    return nats::make_transport(std::move(options));
  }
  std::unique_ptr<Transport> make_with_wrong_ca() override {
    NatsOptions options = options_;
    options.tls.ca_pem = kollect::testing::TestAuthority().pem();
    return nats::make_transport(std::move(options));
  }
  std::vector<Received> read_all() override { return server_.read_all(stream_); }
  void kill_server() override { server_.kill(); }
  void start_server() override { server_.start(); }
  [[nodiscard]] bool has_keys() const override { return false; }
  [[nodiscard]] std::string secret() const override { return "not-the-password"; }

 private:
  NatsServer& server_ = NatsServer::with_tls();
  std::string stream_;
  NatsOptions options_;
};

INSTANTIATE_TEST_SUITE_P(Nats, EventSinkContract,
                         ::testing::Values(Backend{"Tls",
                                                   [] { return std::make_unique<NatsWorld>(); }}),
                         backend_name);

}  // namespace
}  // namespace kollect::sinks::events::contract
