#include "sinks/nats/nats_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>

#include "base/json/document.h"
#include "sinks/nats/client.h"
#include "sinks/nats/stream.h"

namespace kollect::sinks::nats {

namespace {

constexpr std::size_t kHeaderReserve = 2048;
constexpr std::size_t kWriteAt = 128U << 10U;  ///< buffered bytes that are worth a system call
constexpr base::Duration kWait = std::chrono::milliseconds(50);
constexpr base::Duration kTrusted = std::chrono::seconds(10);  ///< as long a silence proves nothing
constexpr base::Duration kPong = std::chrono::seconds(5);
constexpr int kNoResponders = 503;

/// `why` is the guard's.
base::Error refused(const std::string& why) {
  return base::configuration("nats: the server " + why, "address-refused");
}

class NatsTransport final : public events::Transport {
 public:
  explicit NatsTransport(NatsOptions options)
      : options_(std::move(options)), pattern_(pattern_of(options_)) {}

  base::Result<> open(const base::Context& context, const InventoryId& inventory,
                      const std::string& cluster) override;
  base::Result<> send(const base::Context& context, events::Message message) override;
  base::Result<> flush(const base::Context& context) override;
  [[nodiscard]] std::size_t max_body() const override {
    return limit_ > 2 * kHeaderReserve ? limit_ - kHeaderReserve : limit_ / 2;
  }
  [[nodiscard]] bool take_created() override { return std::exchange(created_, false); }
  base::Result<> probe(const base::Context& context) override;

 private:
  base::Result<Client> dial(const base::Context& context) const;
  base::Result<std::vector<Place>> places_of(const Server& server) const;
  base::Result<> connect(const base::Context& context);
  base::Result<> prepare(const base::Context& context, const std::string& stream);
  base::Result<> exchange(const base::Context& context, base::Duration wait);
  base::Result<> wait_until_at_most(const base::Context& context, std::size_t messages,
                                    std::size_t bytes);
  void confirm(Reply reply);
  void note(base::Error error) {
    if (!failed_) failed_ = std::move(error);
  }
  /// Gives the connection up: nothing that was sent is under way any more.
  base::Error give_up(base::Error error);

  NatsOptions options_;
  std::string pattern_;
  std::optional<Client> client_;
  base::SteadyTime heard_{};
  std::map<std::string, Stream> streams_;  ///< looked at since the connection stands
  std::size_t limit_ = 1U << 20U;          ///< of a message with headers
  bool created_ = false;

  std::uint64_t first_ = 1;        ///< token of the oldest message that is not confirmed
  std::deque<std::size_t> sizes_;  ///< from first_ on; 0: confirmed
  std::size_t under_way_ = 0;      ///< messages
  std::size_t bytes_ = 0;          ///< theirs
  std::optional<base::Error> failed_;
};

base::Result<std::vector<Place>> NatsTransport::places_of(const Server& server) const {
  const bool numeric = base::is_numeric_address(server.host);
  const auto* guard = options_.guard.get();
  if (guard != nullptr) {
    if (const auto why = guard->refuse_host(server.host)) return refused(*why);
  }
  std::vector<std::string> addresses = {server.host};
  if (!numeric) {
    KL_ASSIGN(addresses,
              options_.resolver ? options_.resolver(server.host) : base::resolve_host(server.host));
  }
  std::vector<Place> out;
  for (const std::string& address : addresses) {
    if (guard != nullptr) {
      if (const auto why = guard->refuse_address(address)) return refused(*why);
    }
    out.push_back({.address = address,
                   .port = server.port,
                   .name = server.host,
                   .tls = server.tls || options_.wants_tls});
  }
  return out;
}

/// The servers in their order. Every address of all of them is checked before the first is dialled.
base::Result<Client> NatsTransport::dial(const base::Context& context) const {
  std::vector<Place> places;
  std::optional<base::Error> worst;
  for (const Server& server : options_.servers) {
    auto found = places_of(server);
    if (found) {
      places.insert(places.end(), found->begin(), found->end());
    } else if (found.error().kind == base::ErrorKind::kConfiguration) {
      return base::Error(found.error());
    } else {
      worst = found.error();
    }
  }
  for (const Place& place : places) {
    auto client = Client::connect(context, place, options_.tls, options_.login);
    if (client) return client;
    KL_TRY(context.check());
    // One that speaks to us and refuses tells more than one that is not there.
    if (!worst || worst->reason == "unreachable") worst = client.error();
  }
  return worst ? *worst : base::retryable("nats: the server has no address", "unreachable");
}

base::Result<> NatsTransport::connect(const base::Context& context) {
  if (client_ && !client_->still_there(context)) client_.reset();
  if (client_ && context.clock().steady_now() - heard_ > kTrusted) {
    // Pings that wait are answered by this, and a server that went is found out.
    if (!client_->ping(context.with_timeout(kPong))) client_.reset();
    KL_TRY(context.check());
  }
  if (client_) return {};
  streams_.clear();
  KL_ASSIGN(auto client, dial(context));
  client_.emplace(std::move(client));
  heard_ = context.clock().steady_now();
  return {};
}

base::Result<> NatsTransport::prepare(const base::Context& context, const std::string& stream) {
  const auto known = streams_.find(stream);
  if (known == streams_.end()) {
    const auto found = prepare_stream(context, *client_, stream, pattern_, options_.settings,
                                      options_.ensure ? Provision::kEnsure : Provision::kExisting);
    if (!found) return base::Error(found.error());
    created_ = created_ || found->created;
    streams_[stream] = *found;
  }
  limit_ = std::min(client_->max_payload(),
                    streams_[stream].max_message.value_or(client_->max_payload()));
  return {};
}

base::Result<> NatsTransport::open(const base::Context& context, const InventoryId& inventory,
                                   const std::string& cluster) {
  KL_TRY(connect(context));
  const std::string stream = stream_of(options_, inventory, cluster);
  auto prepared = prepare(context, stream);
  if (!prepared && prepared.error().reason == "unreachable") {
    // It was open before and died unnoticed: that is no failure yet.
    client_.reset();
    KL_TRY(connect(context));
    prepared = prepare(context, stream);
  }
  if (!prepared) return give_up(prepared.error());
  heard_ = context.clock().steady_now();
  return {};
}

base::Error NatsTransport::give_up(base::Error error) {
  client_.reset();
  streams_.clear();
  first_ += sizes_.size();
  sizes_.clear();
  under_way_ = 0;
  bytes_ = 0;
  failed_.reset();
  return error;
}

void NatsTransport::confirm(Reply reply) {
  if (reply.token < first_ || reply.token - first_ >= sizes_.size()) return;
  std::size_t& size = sizes_[reply.token - first_];
  if (size == 0) return;
  bytes_ -= size;
  --under_way_;
  size = 0;
  while (!sizes_.empty() && sizes_.front() == 0) {
    sizes_.pop_front();
    ++first_;
  }
  if (reply.status == kNoResponders) {
    note(
        base::retryable("nats: no stream takes the subject any more; the next try looks at it anew",
                        "stream-missing"));
    return;
  }
  if (reply.payload.find("\"error\":{") == std::string::npos) return;
  const auto document = base::json::Document::parse(reply.payload);
  const auto answer = document ? base::json::to_value(document->root()) : base::json::Value();
  const auto* error = answer.find("error");
  note(error != nullptr ? js_error(*error, "a message was not stored")
                        : base::retryable("nats: an acknowledgement is no JSON", "unreachable"));
}

base::Result<> NatsTransport::exchange(const base::Context& context, base::Duration wait) {
  const std::size_t before = under_way_;
  KL_TRY(client_->exchange(context, wait, [&](Reply reply) { confirm(std::move(reply)); }));
  const base::SteadyTime now = context.clock().steady_now();
  if (under_way_ < before || under_way_ == 0) heard_ = now;
  if (failed_) return base::Error(*failed_);
  if (now - heard_ > options_.publish_timeout) {
    return base::retryable(fmt::format("nats: JetStream has not acknowledged {} messages in {}",
                                       under_way_, base::format_duration(options_.publish_timeout)),
                           "timeout");
  }
  return {};
}

base::Result<> NatsTransport::wait_until_at_most(const base::Context& context, std::size_t messages,
                                                 std::size_t bytes) {
  heard_ = context.clock().steady_now();
  while (under_way_ > messages || bytes_ > bytes) KL_TRY(exchange(context, kWait));
  return {};
}

base::Result<> NatsTransport::send(const base::Context& context, events::Message message) {
  if (!client_) return base::retryable("nats: not connected", "unreachable");
  if (!message.body) return {};  // tombstones are for topics with keys
  auto sent = [&]() -> base::Result<> {
    message.headers.emplace_back("Nats-Msg-Id", std::move(message.id));
    std::size_t size = message.body->size() + 64;
    for (const auto& [name, value] : message.headers) size += name.size() + value.size() + 4;
    if (size > limit_) {
      return base::retryable(
          fmt::format("nats: a message of {} bytes is larger than the {} that server and stream "
                      "take",
                      size, limit_),
          "too-large");
    }
    client_->publish(subject_of(options_, message.inventory, message.cluster, message.type),
                     first_ + sizes_.size(), message.headers, *message.body);
    if (under_way_ == 0) heard_ = context.clock().steady_now();
    sizes_.push_back(size);
    ++under_way_;
    bytes_ += size;
    if (under_way_ >= options_.window || bytes_ >= options_.window_bytes) {
      return wait_until_at_most(context, options_.window / 2, options_.window_bytes / 2);
    }
    if (client_->buffered() < kWriteAt) return {};
    return exchange(context, base::Duration::zero());
  }();
  if (!sent) return give_up(sent.error());
  return {};
}

base::Result<> NatsTransport::flush(const base::Context& context) {
  if (!client_) return base::retryable("nats: not connected", "unreachable");
  auto flushed = wait_until_at_most(context, 0, 0);
  if (!flushed) return give_up(flushed.error());
  return {};
}

base::Result<> NatsTransport::probe(const base::Context& context) {
  KL_ASSIGN(Client client, dial(context));
  KL_TRY(check_account(context, client));
  // With placeholders in its name the stream depends on the inventory.
  const std::string stream = stream_of(options_, {"{", "{"}, "{");
  if (stream.find('{') != std::string::npos) return {};
  KL_TRY(prepare_stream(context, client, stream, pattern_, options_.settings,
                        options_.ensure ? Provision::kLook : Provision::kExisting));
  return {};
}

}  // namespace

std::unique_ptr<events::Transport> make_transport(NatsOptions options) {
  return std::make_unique<NatsTransport>(std::move(options));
}

}  // namespace kollect::sinks::nats
