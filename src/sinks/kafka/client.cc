#include "sinks/kafka/client.h"

#include <netdb.h>

#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "sinks/kafka/errors.h"

namespace kollect::sinks::kafka {

namespace {

using std::chrono::milliseconds;

/// A wait for a report looks after the context so often.
constexpr milliseconds kGlance{200};
/// First and longest wait for an answer before it is asked for again.
constexpr milliseconds kFirstAnswer{250};
constexpr milliseconds kLongAnswer{4000};
/// When one of several brokers refuses us or all are down, the others get so long.
constexpr milliseconds kGrace{1000};
constexpr std::size_t kErrorText = 512;
constexpr std::string_view kPrefix = "kafka: ";

using Conf = std::unique_ptr<rd_kafka_conf_t, Freed<rd_kafka_conf_destroy>>;
using Headers = std::unique_ptr<rd_kafka_headers_t, Freed<rd_kafka_headers_destroy>>;
using Queue = std::unique_ptr<rd_kafka_queue_t, Freed<rd_kafka_queue_destroy>>;

/// Settings of the library. The first one that it does not take is remembered, without its value.
class Settings {
 public:
  void set(const char* name, const std::string& value) {
    std::array<char, kErrorText> ignored{};
    if (rd_kafka_conf_set(conf.get(), name, value.c_str(), ignored.data(), ignored.size()) !=
            RD_KAFKA_CONF_OK &&
        wrong.empty()) {
      wrong = name;
    }
  }
  void set(const char* name, std::int64_t value) { set(name, std::to_string(value)); }

  Conf conf{rd_kafka_conf_new()};
  std::string wrong;
};

/// "host" of the library's name for a broker, "host:port/id".
std::string host_of(std::string_view id) {
  id = id.substr(0, id.rfind('/'));
  id = id.substr(0, id.rfind(':'));
  if (id.starts_with('[') && id.ends_with(']')) id = id.substr(1, id.size() - 2);
  return std::string(id);
}

void set_producer(Settings& settings, const KafkaOptions& options, const Limits& limits) {
  constexpr std::int64_t kWindowMessages = 50'000;
  constexpr std::size_t kKiB = 1024;
  settings.set("bootstrap.servers", base::join(options.brokers, ","));
  settings.set("security.protocol", "plaintext");  // see Links
  settings.set("client.id", "kollect");
  settings.set("client.software.name", "kollect");
  settings.set("enable.idempotence", options.acks_all ? "true" : "false");
  settings.set("acks", options.acks_all ? "all" : "1");
  settings.set("compression.codec", options.compression);
  settings.set("allow.auto.create.topics", "false");
  settings.set("socket.nagle.disable", "true");
  settings.set("socket.keepalive.enable", "true");
  settings.set("message.timeout.ms",
               std::chrono::duration_cast<milliseconds>(options.message_timeout).count());
  settings.set("topic.metadata.refresh.interval.ms",
               std::chrono::duration_cast<milliseconds>(options.metadata_refresh).count());
  settings.set("message.max.bytes", static_cast<std::int64_t>(limits.message));
  settings.set("batch.size", static_cast<std::int64_t>(limits.batch));
  settings.set("queue.buffering.max.messages", kWindowMessages);
  // A message of the largest size must fit into an empty window.
  settings.set(
      "queue.buffering.max.kbytes",
      static_cast<std::int64_t>(std::max(options.window_bytes, 2 * limits.message) / kKiB));
  settings.set("reconnect.backoff.max.ms", 2000);
}

std::int64_t in_milliseconds(base::Duration duration) {
  return std::chrono::duration_cast<milliseconds>(duration).count();
}

Metadata facts_of(const rd_kafka_metadata_t& answer) {
  Metadata out;
  for (int i = 0; i < answer.broker_cnt; ++i) {
    out.brokers.push_back({.id = answer.brokers[i].id, .host = answer.brokers[i].host});
  }
  if (answer.topic_cnt == 0) return out;
  const rd_kafka_metadata_topic_t& topic = answer.topics[0];
  out.topic.code = topic.err;
  out.topic.complete = topic.err == RD_KAFKA_RESP_ERR_NO_ERROR && topic.partition_cnt > 0;
  for (int i = 0; i < topic.partition_cnt; ++i) {
    out.topic.leaders.push_back(topic.partitions[i].leader);
    if (topic.partitions[i].leader < 0) out.topic.complete = false;
  }
  return out;
}

}  // namespace

TopicHandle topic_handle(rd_kafka_t* client, const std::string& name,
                         std::atomic<std::int32_t>& partitions) {
  rd_kafka_topic_conf_t* conf = rd_kafka_default_topic_conf_dup(client);
  rd_kafka_topic_conf_set_opaque(conf, &partitions);
  rd_kafka_topic_conf_set_partitioner_cb(
      conf, [](const rd_kafka_topic_t* topic, const void* key, std::size_t size, std::int32_t count,
               void* seen, void* message) {
        static_cast<std::atomic<std::int32_t>*>(seen)->store(count, std::memory_order_relaxed);
        return rd_kafka_msg_partitioner_murmur2_random(topic, key, size, count, nullptr, message);
      });
  return TopicHandle(rd_kafka_topic_new(client, name.c_str(), conf));
}

Client::Client(const KafkaOptions& options)
    : broker_count_(options.brokers.size()),
      dialer_(options.guard, options.resolver),
      links_(options.login, options.tls,
             [this](std::optional<base::Error> error) { linked(std::move(error)); }) {}

base::Result<std::unique_ptr<Client>> Client::create(const KafkaOptions& options,
                                                     const Limits& limits) {
  std::unique_ptr<Client> client(new Client(options));
  KL_TRY(client->start(options, limits));
  return client;
}

base::Result<> Client::start(const KafkaOptions& options, const Limits& limits) {
  limits_ = limits;
  Settings settings;
  set_producer(settings, options, limits);
  rd_kafka_conf_t* conf = settings.conf.get();
  rd_kafka_conf_set_opaque(conf, this);
  // Its log quotes what brokers say; what matters comes as codes.
  rd_kafka_conf_set_log_cb(conf, [](const rd_kafka_t*, int, const char*, const char*) {});
  rd_kafka_conf_set_dr_msg_cb(conf, [](rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
    static_cast<Client*>(self)->reported(*message);
  });
  rd_kafka_conf_set_error_cb(conf, [](rd_kafka_t*, int code, const char*, void* self) {
    static_cast<Client*>(self)->failed(static_cast<rd_kafka_resp_err_t>(code));
  });
  if (!options.login.mechanism.empty() || options.tls.on) {
    rd_kafka_conf_set_socket_cb(
        conf, [](int, int, int, void* self) { return static_cast<Client*>(self)->links_.open(); });
    rd_kafka_conf_set_connect_cb(
        conf, [](int socket, const sockaddr* address, int size, const char* id, void* self) {
          return static_cast<Client*>(self)->links_.connect(
              socket, *address, static_cast<socklen_t>(size), host_of(id));
        });
  }
  if (dialer_.needed()) {
    rd_kafka_conf_set_resolve_cb(conf, [](const char* host, const char* service, const addrinfo*,
                                          addrinfo** list, void* self) {
      // Without a host a list is to be freed.
      if (host == nullptr) {
        Dialer::release(*list);
        return 0;
      }
      return static_cast<Client*>(self)->dialer_.resolve(host, service, list);
    });
  }
  std::array<char, kErrorText> ignored{};
  if (settings.wrong.empty()) {
    handle_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf, ignored.data(), ignored.size()));
  }
  if (handle_ == nullptr) {
    return base::configuration(
        fmt::format("kafka: the setting {} is not accepted",
                    settings.wrong.empty() ? "of a producer" : settings.wrong),
        "bad-option");
  }
  (void)settings.conf.release();  // the producer's now
  reports_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  return {};
}

Client::~Client() {
  if (handle_ == nullptr) return;
  reports_.request_stop();
  const Queue queue(rd_kafka_queue_get_main(handle_.get()));
  rd_kafka_queue_yield(queue.get());
  reports_.join();
  links_.stop();
  rd_kafka_purge(handle_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                    RD_KAFKA_PURGE_F_NON_BLOCKING);
}

void Client::serve(const std::stop_token& stop) {
  constexpr int kPollMs = 1000;
  while (!stop.stop_requested()) rd_kafka_poll(handle_.get(), kPollMs);
}

void Client::reported(const rd_kafka_message_t& message) {
  const auto number = reinterpret_cast<std::uintptr_t>(message._private);
  const std::scoped_lock lock(mutex_);
  --under_way_;
  if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR &&
      (!first_failure_ || number < first_failure_->number)) {
    first_failure_ = {.number = number, .code = message.err};
  }
  if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) all_down_ = false;
  if (message.err == RD_KAFKA_RESP_ERR__FATAL) broken_ = true;
  changed_.notify_all();
}

void Client::failed(rd_kafka_resp_err_t code) {
  const std::scoped_lock lock(mutex_);
  if (code == RD_KAFKA_RESP_ERR__FATAL) broken_ = true;
  if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) all_down_ = true;
  changed_.notify_all();
}

void Client::linked(std::optional<base::Error> error) {
  const std::scoped_lock lock(mutex_);
  refusal_.reset();
  // Whoever is not there now may be later.
  const bool passing = !error || error->kind == base::ErrorKind::kRetryable ||
                       error->kind == base::ErrorKind::kCancelled;
  if (passing) return;
  refusal_ = error->message.starts_with(kPrefix) ? std::move(*error) : error->with_prefix("kafka");
}

bool Client::broken() const {
  const std::scoped_lock lock(mutex_);
  return broken_;
}

bool Client::hopeless() const {
  if (dialer_.refusal().has_value() && broker_count_ == 1) return true;
  const std::scoped_lock lock(mutex_);
  return (refusal_.has_value() || all_down_) && broker_count_ == 1;
}

base::Error Client::explain(rd_kafka_resp_err_t code, std::string_view doing) const {
  if (auto refusal = dialer_.refusal()) return *refusal;
  const std::scoped_lock lock(mutex_);
  return refusal_ ? *refusal_ : error_of(code, doing);
}

base::Result<Metadata> Client::metadata(const base::Context& context, rd_kafka_topic_t* topic) {
  constexpr std::string_view kDoing = "connecting";
  const auto began = context.clock().steady_now();
  milliseconds limit = kFirstAnswer;
  while (true) {
    const auto check = context.check();
    if (!check) {
      return check.error().reason == "timeout" ? explain(RD_KAFKA_RESP_ERR__TRANSPORT, kDoing)
                                               : check.error();
    }
    const auto left = std::min<base::Duration>(context.remaining(), limit);
    const rd_kafka_metadata_t* answer = nullptr;
    const auto code =
        rd_kafka_metadata(handle_.get(), 0, topic, &answer,
                          static_cast<int>(std::max<std::int64_t>(1, in_milliseconds(left))));
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
      const std::unique_ptr<const rd_kafka_metadata_t, Freed<rd_kafka_metadata_destroy>> owner(
          answer);
      return facts_of(*answer);
    }
    if (hopeless()) return explain(code, kDoing);
    if (context.clock().steady_now() - began > kGrace) {
      const std::unique_lock lock(mutex_);
      const bool lost = all_down_ || refusal_.has_value();
      if (lost) break;
    }
    // Some errors come at once.
    if (code != RD_KAFKA_RESP_ERR__TIMED_OUT) context.sleep(milliseconds(20));
    limit = std::min(limit * 2, kLongAnswer);
  }
  return explain(RD_KAFKA_RESP_ERR__TRANSPORT, kDoing);
}

base::Result<> Client::wait(const base::Context& context, std::unique_lock<std::mutex>& lock) {
  KL_TRY(context.check());
  changed_.wait_for(lock, kGlance);
  return {};
}

base::Result<> Client::send(const base::Context& context, rd_kafka_topic_t* topic,
                            const events::Message& message, std::int32_t partition) {
  Headers headers(rd_kafka_headers_new(message.headers.size()));
  for (const auto& [name, value] : message.headers) {
    rd_kafka_header_add(headers.get(), name.data(), static_cast<ssize_t>(name.size()), value.data(),
                        static_cast<ssize_t>(value.size()));
  }
  // No value at all is a tombstone.
  const char* body = message.body ? message.body->data() : nullptr;
  const std::size_t size = message.body ? message.body->size() : 0;
  std::unique_lock lock(mutex_);
  const std::uint64_t number = ++last_number_;
  while (true) {
    if (broken_) {
      return error_of(RD_KAFKA_RESP_ERR__FATAL,
                      fmt::format("topic {}", rd_kafka_topic_name(topic)));
    }
    ++under_way_;  // its report may come before the call is back
    lock.unlock();
    const auto code = rd_kafka_producev(
        handle_.get(), RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(partition),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_KEY(message.key.data(), message.key.size()),
        RD_KAFKA_V_VALUE(const_cast<char*>(body), size), RD_KAFKA_V_HEADERS(headers.get()),
        RD_KAFKA_V_OPAQUE(reinterpret_cast<void*>(static_cast<std::uintptr_t>(number))),
        RD_KAFKA_V_END);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
      (void)headers.release();  // the message's now
      return {};
    }
    lock.lock();
    --under_way_;
    // The library tells it on its own thread too, maybe later.
    if (code == RD_KAFKA_RESP_ERR__FATAL) broken_ = true;
    if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
      return error_of(code, fmt::format("topic {}", rd_kafka_topic_name(topic)));
    }
    KL_TRY(wait(context, lock));
  }
}

base::Result<> Client::flush(const base::Context& context) {
  std::unique_lock lock(mutex_);
  while (under_way_ > 0) {
    if (auto waited = wait(context, lock); !waited) {
      broken_ = true;
      return waited;
    }
  }
  const auto failure = std::exchange(first_failure_, std::nullopt);
  if (!failure) return {};
  lock.unlock();
  const bool reached = failure->code != RD_KAFKA_RESP_ERR__MSG_TIMED_OUT;
  return reached ? error_of(failure->code, "sending") : explain(failure->code, "sending");
}

}  // namespace kollect::sinks::kafka
