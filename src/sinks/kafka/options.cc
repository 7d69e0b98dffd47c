#include "sinks/kafka/options.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/strings.h"
#include "sinks/layout/path_template.h"

namespace kollect::sinks::kafka {

namespace {

constexpr std::size_t kTopicLimit = 249;
constexpr int kPartitionLimit = 10'000;
constexpr int kReplicaLimit = 32'767;
constexpr std::int64_t kMessageFloor = 16'384;
constexpr std::int64_t kMessageCeiling = 100'000'000;
constexpr const char* kDefaultPort = "9092";

base::Error bad_option(std::string_view key, std::string_view why) {
  return base::configuration(fmt::format("spec.options[{}]: {}", key, why), "bad-option");
}

base::Result<std::int64_t> read_number(std::string_view key, std::string_view text,
                                       std::int64_t least, std::int64_t most) {
  text = base::trim(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
    return bad_option(key, fmt::format("must be a number from {} to {}", least, most));
  }
  return number;
}

base::Result<std::string> read_word(std::string_view key, std::string_view text,
                                    const std::vector<std::string>& known) {
  const auto word = base::trim(text);
  for (const auto& one : known) {
    if (base::iequals(one, word)) return one;
  }
  return bad_option(key, fmt::format("must be one of {}", base::join(known, ", ")));
}

/// Milliseconds, a duration with its unit, or -1 for ever.
base::Result<std::int64_t> read_retention(std::string_view key, std::string_view text) {
  text = base::trim(text);
  if (auto number = read_number(key, text, -1, std::numeric_limits<std::int64_t>::max())) {
    return *number;
  }
  const auto duration = base::parse_duration(text);
  if (!duration || *duration < std::chrono::milliseconds(1)) {
    return bad_option(key, "must be milliseconds, a duration such as 168h, or -1 for ever");
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(*duration).count();
}

/// What the options say beside what goes into KafkaOptions at once.
struct Words {
  std::string mechanism;
  std::optional<bool> tls;
};

base::Result<> read_option(const std::string& key, const std::string& value, KafkaOptions& out,
                           Words& words) {
  if (key == "acks") {
    // Without any acknowledgement a lost message would count as delivered.
    KL_ASSIGN(const auto word, read_word(key, value, {"all", "-1", "1"}));
    out.acks_all = word != "1";
  } else if (key == "compression") {
    KL_ASSIGN(out.compression, read_word(key, value, {"none", "gzip", "snappy", "lz4", "zstd"}));
  } else if (key == "sasl.mechanism") {
    KL_ASSIGN(words.mechanism,
              read_word(key, value, {"SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN", "OAUTHBEARER"}));
  } else if (key == "tls") {
    KL_ASSIGN(const auto word, read_word(key, value, {"true", "false"}));
    words.tls = word == "true";
  } else if (key == "partitions") {
    KL_ASSIGN(const auto number, read_number(key, value, 1, kPartitionLimit));
    out.partitions = static_cast<int>(number);
  } else if (key == "replicationFactor") {
    KL_ASSIGN(const auto number, read_number(key, value, 1, kReplicaLimit));
    out.replication_factor = static_cast<int>(number);
  } else if (key == "retention") {
    KL_ASSIGN(out.retention_ms, read_retention(key, value));
  } else if (key == "cleanupPolicy") {
    KL_ASSIGN(out.cleanup_policy,
              read_word(key, value, {"delete", "compact", "compact,delete", "delete,compact"}));
  } else if (key == "messageMaxBytes") {
    KL_ASSIGN(const auto number, read_number(key, value, kMessageFloor, kMessageCeiling));
    out.message_max_bytes = static_cast<std::size_t>(number);
  }
  return {};
}

/// "host:port" of one entry: blanks and a scheme go, the usual port is added.
base::Result<std::string> read_broker(std::string_view text) {
  const auto scheme = text.find("://");
  if (scheme != std::string_view::npos) text.remove_prefix(scheme + 3);
  while (text.ends_with('/')) text.remove_suffix(1);
  const auto bad = text.find_first_of("@,/ \t\r\n");
  std::string host(text);
  std::string port = kDefaultPort;
  const auto colon = text.rfind(':');
  if (!base::is_numeric_address(host) && colon != std::string_view::npos && !text.ends_with(']')) {
    host = std::string(text.substr(0, colon));
    port = std::string(text.substr(colon + 1));
  }
  const bool v6 = host.find(':') != std::string::npos;
  if (v6 && host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const bool odd = host.empty() || host.find('[') != std::string::npos;
  if (bad != std::string_view::npos || odd || (v6 && !base::is_numeric_address(host)) ||
      !read_number("", port, 1, 65'535)) {
    return base::configuration("spec.kafka.brokers: entries must be host:port", "bad-endpoint");
  }
  return v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

bool is_topic_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

base::Result<> read_topic(const api::EventSink& sink, KafkaOptions& out) {
  const auto refuse = [](std::string_view field, std::string_view why) {
    return base::configuration(fmt::format("{} {}", field, why), "bad-name");
  };
  if (sink.spec.provisioning && sink.spec.provisioning->naming) {
    out.naming_template = std::string(base::trim(sink.spec.provisioning->naming->name_template));
  }
  if (out.naming_template.find("{generation}") != std::string::npos) {
    return refuse("spec.provisioning.naming.template",
                  "must not hold {generation}: every generation would get a topic of its own");
  }
  out.topic = std::string(base::trim(sink.spec.kafka->topic));
  if (!out.naming_template.empty()) return {};
  if (out.topic.empty()) return refuse("spec.kafka.topic", "must be the name of a topic");
  if (out.topic.size() > kTopicLimit || !std::ranges::all_of(out.topic, is_topic_char) ||
      out.topic == "." || out.topic == "..") {
    return refuse("spec.kafka.topic",
                  "must be at most 249 letters, digits, dots, underscores and hyphens");
  }
  return {};
}

/// A value of the Secret without a newline at its end (K-16).
base::Secret pick(const SecretData& auth, const char* key) {
  const auto at = auth.find(key);
  if (at == auth.end()) return {};
  std::string_view text = at->second.reveal();
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  return base::Secret(std::string(text));
}

base::Error bad_secret(std::string_view why) {
  return base::configuration(fmt::format("the sink's Secret {}", why), "bad-secret");
}

base::Result<> read_login(const SecretData& auth, std::string mechanism, KafkaOptions& out) {
  const base::Secret token = pick(auth, "token");
  const base::Secret password = pick(auth, "password");
  Login& login = out.login;
  login.username = pick(auth, "username").reveal();
  login.secret = token.empty() ? password : token;
  if (mechanism == "OAUTHBEARER") {
    if (token.empty()) return bad_secret("has no key token, which OAUTHBEARER needs");
  } else if (login.username.empty()) {
    if (!mechanism.empty() || !login.secret.empty()) return bad_secret("has no key username");
    return {};
  } else if (login.secret.empty()) {
    return bad_secret("has a username but neither password nor token");
  }
  login.mechanism = mechanism.empty() ? "SCRAM-SHA-256" : std::move(mechanism);
  const bool bare = login.mechanism == "PLAIN" || login.mechanism == "OAUTHBEARER";
  if (bare && !out.tls.on) {
    return bad_option("sasl.mechanism",
                      fmt::format("{} sends the credential as it is: it needs spec.tls or "
                                  "options.tls \"true\"",
                                  login.mechanism));
  }
  return {};
}

base::Result<> read_tls(const api::EventSink& sink, const SecretData& auth,
                        const std::optional<std::string>& ca_pem, std::optional<bool> told,
                        KafkaOptions& out) {
  if (told == false && sink.spec.tls) return bad_option("tls", "is \"false\" beside spec.tls");
  Tls& tls = out.tls;
  tls.on = told.value_or(false) || sink.spec.tls.has_value();
  tls.ca_pem = ca_pem;
  tls.insecure_skip_verify = sink.spec.tls && sink.spec.tls->insecure_skip_verify.value_or(false);
  tls.client_cert_pem = pick(auth, "tls.crt").reveal();
  tls.client_key_pem = pick(auth, "tls.key");
  if (tls.client_cert_pem.empty() != tls.client_key_pem.empty()) {
    return bad_secret("must have both tls.crt and tls.key, or none");
  }
  if (!tls.client_cert_pem.empty() && !tls.on) {
    return bad_secret("has a client certificate: that needs spec.tls or options.tls \"true\"");
  }
  return {};
}

base::Result<KafkaOptions> read(const api::EventSink& sink, const SecretData& auth,
                                const std::optional<std::string>& ca_pem) {
  if (!sink.spec.kafka) {
    return base::configuration("spec.kafka must be given for type kafka", "bad-endpoint");
  }
  KafkaOptions out;
  for (const auto& entry : sink.spec.kafka->brokers) {
    const auto text = base::trim(entry);
    if (text.empty()) continue;
    KL_ASSIGN(auto broker, read_broker(text));
    out.brokers.push_back(std::move(broker));
  }
  if (out.brokers.empty()) {
    return base::configuration("spec.kafka.brokers must have an address", "bad-endpoint");
  }
  KL_TRY(read_topic(sink, out));
  out.ensure = !sink.spec.provisioning || sink.spec.provisioning->mode != "existing";
  if (sink.spec.serialization && !sink.spec.serialization->compression.empty()) {
    out.compression = sink.spec.serialization->compression;
  }
  Words words;
  for (const auto& [key, value] : sink.spec.options) KL_TRY(read_option(key, value, out, words));
  KL_TRY(read_tls(sink, auth, ca_pem, words.tls, out));
  KL_TRY(read_login(auth, words.mechanism, out));
  return out;
}

}  // namespace

base::Result<KafkaOptions> kafka_options(const api::EventSink& sink, const SecretData& auth,
                                         const std::optional<std::string>& ca_pem) {
  auto made = read(sink, auth, ca_pem);
  if (!made) return made.error().with_prefix(fmt::format("sink {}", sink.metadata.name));
  return made;
}

std::string topic_of(const KafkaOptions& options, const InventoryId& inventory,
                     const std::string& cluster) {
  if (options.naming_template.empty()) return options.topic;
  const PathTemplate text(options.naming_template, document_placeholders());
  std::string name = text.expand([&](std::string_view word) -> std::string_view {
    if (word == "cluster") return cluster.empty() ? std::string_view("default") : cluster;
    if (word == "namespace") return inventory.ns;
    return word == "name" ? std::string_view(inventory.name) : std::string_view();
  });
  constexpr std::size_t kHashDigits = 8;
  const std::string hash = base::sha256_hex(name).substr(0, kHashDigits);
  for (char& c : name) {
    if (!is_topic_char(c)) c = '_';
  }
  if (name == "." || name == "..") name = "_";
  if (name.size() <= kTopicLimit) return name;
  return fmt::format("{}_{}", name.substr(0, kTopicLimit - kHashDigits - 1), hash);
}

}  // namespace kollect::sinks::kafka
