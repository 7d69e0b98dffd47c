#include "manager/operator_flags.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/flags.h"

namespace kollect::manager {
namespace {

/// Each part has a lease that is renewed all the time.
constexpr std::int64_t kMostShards = 64;

/// Flags of the operators that this one takes the place of.
struct ZapTexts {
  bool development = false;
  std::string encoder;
  std::string level;
  std::string stack_level;
  std::string time_encoding;
};

/// Of the read API.
struct ReadTexts {
  std::int64_t port = 8082;
  std::string audiences;
  std::string auth_keep = "30s";
  std::string cors_origins;
  std::int64_t max_streams = 64;
  std::int64_t buffer_bytes = std::int64_t{32} << 20;
};

/// Texts as given; checked and converted afterwards.
struct Texts {
  std::string watch_namespaces;
  std::string default_included;
  std::string default_excluded;
  std::string scrub_keys;
  std::string sqlite_dir;
  std::string sensitive_kinds;
  std::string rate_limit = "0s";
  std::string count_resync = "0s";
  std::string start_spread = "5s";
  std::string drain = "30s";
  std::string watch_silence = "75s";
  std::string lease = "60s";
  std::string renew_deadline = "40s";
  std::string retry = "5s";
  std::string metrics_interval = "30s";
  std::string resync = "12h";
  std::int64_t dispatch_workers = 4;
  std::int64_t dispatch_queue = 512;
  std::string dispatch_wait;
  ZapTexts zap;
  std::string log_level = "info";
  std::string log_format = "json";
  std::int64_t max_export_bytes = 1572864;
  std::int64_t target_workers = 5;
  std::int64_t inventory_workers = 3;
  std::int64_t cluster_target_workers = 2;
  std::int64_t cluster_inventory_workers = 2;
  std::int64_t export_threads = 8;
  std::int64_t shards = 0;
  ReadTexts read;
  bool allow_private = false;
  bool allow_loopback = false;
  bool allow_local = false;
};

/// An event of a usual object.
constexpr std::size_t kEventBytes = 8U << 10U;

/// A boolean flag that also takes =true and =false.
void add_switch(CLI::App& app, const std::string& name, bool& value, const std::string& help) {
  app.add_flag(name + "{true}", value, help)->default_str(value ? "true" : "false");
}

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (const std::string_view part : base::split(list, ',')) {
    const std::string word(base::trim(part));
    if (!word.empty() && std::ranges::find(words, word) == words.end()) words.push_back(word);
  }
  return words;
}

void declare_zap(CLI::App& app, ZapTexts& zap) {
  add_switch(app, "--zap-devel", zap.development, "As --log-format text --log-level debug");
  cli::add_flag_value(app, "--zap-encoder", zap.encoder, "json, console: as --log-format");
  cli::add_flag_value(app, "--zap-log-level", zap.level,
                      "debug, info, error, panic, or a number from 1 on, which is debug");
  cli::add_flag_value(app, "--zap-stacktrace-level", zap.stack_level,
                      "info, error, panic: accepted; lines of the log have no stacks");
  cli::add_flag_value(app, "--zap-time-encoding", zap.time_encoding,
                      "epoch, millis, nano, iso8601, rfc3339, rfc3339nano: accepted; times of the "
                      "log are RFC 3339 in UTC");
}

void declare_read_api(CLI::App& app, ReadApiOptions& api, ReadTexts& texts) {
  const auto value = [&](const char* name, auto& place, const char* help) {
    cli::add_flag_value(app, name, place, help)->capture_default_str();
  };
  add_switch(app, "--inventory-http-enabled", api.enabled, "Serve the read API of the inventory");
  value("--inventory-http-port", texts.port, "Port of the read API");
  value("--inventory-bind-address", api.address,
        "Address of the read API without its port; empty: all");
  value("--inventory-auth-mode", api.auth_mode,
        "kubernetes: bearer tokens with rights on inventories; disabled: everybody may read");
  value("--inventory-auth-audiences", texts.audiences,
        "Audiences of which a token must have one, comma separated; empty: the API server's own");
  value("--inventory-auth-cache-ttl", texts.auth_keep,
        "How long a decision about a token is kept, and after which streams ask again; 0: not");
  add_switch(app, "--inventory-http-opt-in", api.opt_in,
             "Only rows of inventories with spec.httpEndpoint.enabled are served");
  value("--inventory-http-cors-origins", texts.cors_origins,
        "Origins whose pages may read, comma separated; empty: none");
  value("--inventory-tls-cert-path", api.cert_path,
        "Folder with the certificate of the read API; empty: plain HTTP");
  value("--inventory-tls-cert-name", api.cert_name, "File of the certificate in that folder");
  value("--inventory-tls-cert-key", api.cert_key, "File of its key");
  add_switch(app, "--inventory-ui", api.ui, "Serve the web console at /ui/ of the read API");
  value("--inventory-max-streams", texts.max_streams, "Open event streams of the read API at most");
  value("--inventory-stream-buffer-bytes", texts.buffer_bytes,
        "Changes that are kept for streams that are behind");
}

void declare(CLI::App& app, OperatorFlags& flags, Texts& texts) {
  const auto text = [&](const char* name, std::string& value, const char* help) {
    cli::add_flag_value(app, name, value, help)->capture_default_str();
  };
  const auto number = [&](const char* name, std::int64_t& value, const char* help) {
    cli::add_flag_value(app, name, value, help)->capture_default_str();
  };
  text("--kubeconfig", flags.kubeconfig,
       "Kubeconfig file; default: the service account, KUBECONFIG, ~/.kube/config");
  text("--context", flags.context, "Context of the kubeconfig; default: the current one");
  text("--health-probe-bind-address", flags.health_address,
       "Address of /healthz and /readyz; 0: none");
  add_switch(app, "--validating-webhooks-enabled", flags.webhooks.enabled,
             "Answer the API server's questions whether objects of ours may be written");
  text("--webhook-bind-address", flags.webhooks.address, "Address of the webhooks");
  text("--webhook-cert-path", flags.webhooks.cert_path,
       "Folder with the certificate of the webhooks; default: "
       "k8s-webhook-server/serving-certs in the temporary folder");
  text("--webhook-cert-name", flags.webhooks.cert_name, "File of the certificate in that folder");
  text("--webhook-cert-key", flags.webhooks.cert_key, "File of its key");
  add_switch(app, "--webhook-self-signed", flags.webhooks.self_signed,
             "Make and renew a certificate, and tell the API server to trust it");
  text("--webhook-service", flags.webhooks.service,
       "NAMESPACE/NAME of the Service that the API server calls; of --webhook-self-signed");
  text("--webhook-secret", flags.webhooks.secret,
       "Secret in that namespace that keeps the certificate for all replicas");
  text("--webhook-configuration", flags.webhooks.configuration,
       "ValidatingWebhookConfiguration whose caBundle is kept");
  text("--watch-namespaces", texts.watch_namespaces,
       "Namespaces of Kollect objects, comma separated; empty: all");
  text("--default-included-namespaces", texts.default_included,
       "Namespaces of targets that name none, comma separated");
  text("--default-excluded-namespaces", texts.default_excluded,
       "Namespaces that no target collects from, comma separated");
  text("--sqlite-dir", texts.sqlite_dir,
       "Folder of the files of sqlite sinks; empty: they are refused");
  text("--scrub-keys", texts.scrub_keys, "More keys whose values are redacted, comma separated");
  text("--sensitive-kinds", texts.sensitive_kinds,
       "More GROUP/KIND that are treated like Secrets, comma separated");
  add_switch(app, "--tenant-mode", flags.manager.tenant_mode,
             "Only namespaced rights; cluster kinds are off");
  add_switch(app, "--allow-private-sinks", texts.allow_private,
             "Sinks may have private addresses (RFC 1918, IPv6 unique local)");
  add_switch(app, "--allow-loopback-sinks", texts.allow_loopback,
             "Sinks may have loopback and private addresses: for trying out on one machine");
  add_switch(app, "--allow-local-sinks", texts.allow_local,
             "Sinks may be files here: file:// repositories, SQLite files anywhere");
  add_switch(app, "--watch-list", flags.manager.watch_list,
             "Ask for lists as streams, which spares the server's memory");
  text("--watch-silence", texts.watch_silence,
       "A watch is opened anew when nothing came for so long, bookmarks included");
  number("--max-export-bytes", texts.max_export_bytes,
         "Ceiling of one exported document in bytes; 0 or less: the default");
  number("--max-concurrent-reconciles-target", texts.target_workers, "Targets looked at at once");
  number("--max-concurrent-reconciles-inventory", texts.inventory_workers,
         "Inventories looked at at once");
  number("--max-concurrent-reconciles-cluster-target", texts.cluster_target_workers,
         "Cluster targets looked at at once");
  number("--max-concurrent-reconciles-cluster-inventory", texts.cluster_inventory_workers,
         "Cluster inventories looked at at once");
  number("--max-concurrent-exports", texts.export_threads, "Exports at once");
  text("--reconcile-rate-limit", texts.rate_limit,
       "Base of the waits after failures; 0: 5ms doubling to 1000s");
  text("--target-count-resync", texts.count_resync, "Refresh of collected counts; 0: 60s");
  text("--export-start-spread", texts.start_spread,
       "First exports to sinks with a cluster name wait a random time up to this");
  text("--drain-timeout", texts.drain, "How long running exports may take at the end");
  text("--metrics-bind-address", flags.metrics.address, "Address of /metrics; 0: none");
  add_switch(app, "--metrics-secure", flags.metrics.secure,
             "Metrics over HTTPS, for bearer tokens that may get the path /metrics");
  text("--metrics-cert-path", flags.metrics.cert_path,
       "Folder with the certificate of the metrics");
  text("--metrics-cert-name", flags.metrics.cert_name, "File of the certificate in that folder");
  text("--metrics-cert-key", flags.metrics.cert_key, "File of its key");
  text("--collect-metrics-sample-interval", texts.metrics_interval,
       "Rows of a target are read for metrics at most this often");
  add_switch(app, "--enable-pprof", flags.pprof,
             "Serve profiles of processor time and memory to whoever reaches the address");
  text("--pprof-bind-address", flags.pprof_address, "Address of /debug/pprof/");
  add_switch(app, "--leader-elect", flags.leader_elect,
             "Several processes may run; the one that holds a lease of the cluster writes");
  text("--leader-elect-lease-duration", texts.lease,
       "A leader that is not heard of for so long is replaced");
  text("--leader-elect-renew-deadline", texts.renew_deadline,
       "A leader that cannot renew its lease for so long stops writing and ends");
  text("--leader-elect-retry-period", texts.retry, "Time between renewals, and between questions");
  text("--leader-elect-id", flags.lease_name, "Name of the lease");
  text("--leader-elect-namespace", flags.lease_namespace,
       "Namespace of the lease; empty: the one of the service account or the context");
  number("--shards", texts.shards,
         "Replicas share the namespaces in so many parts, each written by the one that holds its "
         "lease; in place of --leader-elect, with its other flags; 0: not");
  number("--collect-dispatch-workers", texts.dispatch_workers,
         "Threads for lists beside the watches, reviews and discovery; 0 or less: the default");
  number("--collect-dispatch-queue-size", texts.dispatch_queue,
         "Events of a watch that may wait, each counted as 8 KiB; 0 or less: the default");
  text("--collect-dispatch-enqueue-wait", texts.dispatch_wait,
       "Accepted; a watch whose queue is full is not read on, without a wait before");
  text("--informer-resync-period", texts.resync,
       "Everything is listed anew after so long, as a backstop; 0: the default");
  text("--log-level", texts.log_level, "debug, info, warn, error");
  text("--log-format", texts.log_format, "text, json");
  declare_read_api(app, flags.read_api, texts.read);
  declare_zap(app, texts.zap);
}

base::Result<std::size_t> at_least_one(const char* flag, std::int64_t value) {
  if (value < 1) return base::configuration(fmt::format("{} must be 1 or more", flag));
  return static_cast<std::size_t>(value);
}

base::Result<base::Duration> duration(const char* flag, const std::string& text) {
  KL_ASSIGN(const base::Duration parsed, cli::duration_flag(flag, text));
  if (parsed < base::Duration::zero()) {
    return base::configuration(fmt::format("{} must not be negative", flag));
  }
  return parsed;
}

/// The newer spelling is the default, the older one counts where it is given.
base::Result<> read_logging(const Texts& texts, OperatorFlags& flags) {
  if (texts.log_format != "text" && texts.log_format != "json") {
    return base::configuration("--log-format takes text or json");
  }
  const ZapTexts& zap = texts.zap;
  if (!zap.encoder.empty() && zap.encoder != "json" && zap.encoder != "console") {
    return base::configuration("--zap-encoder takes json or console");
  }
  bool json = texts.log_format == "json" && !zap.development;
  if (!zap.encoder.empty()) json = zap.encoder == "json";
  flags.log_format = json ? base::LogFormat::kJson : base::LogFormat::kText;
  std::string level = zap.development ? "debug" : texts.log_level;
  if (!zap.level.empty()) {
    const bool number = std::ranges::all_of(zap.level, [](char c) { return c >= '0' && c <= '9'; });
    const bool known = number || zap.level == "debug" || zap.level == "info" ||
                       zap.level == "error" || zap.level == "panic";
    if (!known || zap.level.front() == '0') {
      return base::configuration("--zap-log-level takes debug, info, error, panic or a number");
    }
    level = number ? "debug" : zap.level == "panic" ? "error" : zap.level;
  }
  if (!zap.stack_level.empty()) {
    if (zap.stack_level != "info" && zap.stack_level != "error" && zap.stack_level != "panic") {
      return base::configuration("--zap-stacktrace-level takes info, error or panic");
    }
    flags.without_effect.emplace_back("--zap-stacktrace-level");
  }
  if (!zap.time_encoding.empty()) {
    constexpr std::array<std::string_view, 6> kEncodings = {"epoch",   "millis",  "nano",
                                                            "iso8601", "rfc3339", "rfc3339nano"};
    if (std::ranges::find(kEncodings, zap.time_encoding) == kEncodings.end()) {
      return base::configuration(
          "--zap-time-encoding takes epoch, millis, nano, iso8601, rfc3339 or rfc3339nano");
    }
    if (!zap.time_encoding.starts_with("rfc3339")) {
      flags.without_effect.emplace_back("--zap-time-encoding");
    }
  }
  KL_ASSIGN(flags.log_level, base::parse_log_level(level));
  return {};
}

base::Result<> read_read_api(const ReadTexts& texts, OperatorFlags& flags) {
  ReadApiOptions& api = flags.read_api;
  if (texts.port < 0 || texts.port > UINT16_MAX) {
    return base::configuration("--inventory-http-port takes 0 to 65535");
  }
  api.port = static_cast<std::uint16_t>(texts.port);
  api.audiences = words_of(texts.audiences);
  api.cors_origins = words_of(texts.cors_origins);
  KL_ASSIGN(api.auth_keep, duration("--inventory-auth-cache-ttl", texts.auth_keep));
  KL_ASSIGN(api.max_streams, at_least_one("--inventory-max-streams", texts.max_streams));
  KL_ASSIGN(api.stream_buffer_bytes,
            at_least_one("--inventory-stream-buffer-bytes", texts.buffer_bytes));
  KL_TRY(check(api));
  flags.manager.read_api = api.enabled;
  flags.manager.read_opt_in = api.opt_in;
  return {};
}

base::Result<> convert(const Texts& texts, OperatorFlags& flags) {
  ManagerOptions& m = flags.manager;
  m.watch_namespaces = words_of(texts.watch_namespaces);
  m.default_included = words_of(texts.default_included);
  m.default_excluded = words_of(texts.default_excluded);
  m.extract.scrub_keys = words_of(texts.scrub_keys);
  m.extract.sensitive_kinds = words_of(texts.sensitive_kinds);
  if (texts.max_export_bytes > 0) {
    m.max_export_bytes = static_cast<std::size_t>(texts.max_export_bytes);
  }
  KL_ASSIGN(m.target_workers,
            at_least_one("--max-concurrent-reconciles-target", texts.target_workers));
  KL_ASSIGN(m.inventory_workers,
            at_least_one("--max-concurrent-reconciles-inventory", texts.inventory_workers));
  KL_ASSIGN(m.cluster_target_workers, at_least_one("--max-concurrent-reconciles-cluster-target",
                                                   texts.cluster_target_workers));
  KL_ASSIGN(m.cluster_inventory_workers,
            at_least_one("--max-concurrent-reconciles-cluster-inventory",
                         texts.cluster_inventory_workers));
  KL_ASSIGN(m.exporter.threads, at_least_one("--max-concurrent-exports", texts.export_threads));
  KL_ASSIGN(m.reconcile_rate_limit, duration("--reconcile-rate-limit", texts.rate_limit));
  KL_ASSIGN(const base::Duration resync, duration("--target-count-resync", texts.count_resync));
  if (resync > base::Duration::zero()) m.count_resync = resync;
  KL_ASSIGN(m.exporter.start_spread, duration("--export-start-spread", texts.start_spread));
  KL_ASSIGN(m.watch_silence, duration("--watch-silence", texts.watch_silence));
  if (m.watch_silence < std::chrono::seconds(1)) {
    return base::configuration("--watch-silence must be 1s or more");
  }
  KL_ASSIGN(m.drain, duration("--drain-timeout", texts.drain));
  KL_ASSIGN(m.metrics_interval,
            duration("--collect-metrics-sample-interval", texts.metrics_interval));
  KL_ASSIGN(flags.election.lease, duration("--leader-elect-lease-duration", texts.lease));
  KL_ASSIGN(flags.election.renew_deadline,
            duration("--leader-elect-renew-deadline", texts.renew_deadline));
  KL_ASSIGN(flags.election.retry, duration("--leader-elect-retry-period", texts.retry));
  if (const auto fine = flags.election.check(); !fine) {
    return fine.error().with_prefix("--leader-elect-*");
  }
  if (texts.shards < 0 || texts.shards > kMostShards) {
    return base::configuration(fmt::format("--shards takes 0 to {}", kMostShards));
  }
  m.shards = static_cast<std::size_t>(texts.shards);
  if (m.shards > 0 && flags.leader_elect) {
    return base::configuration(
        "--shards and --leader-elect exclude each other: either one replica writes everything, or "
        "each its part");
  }
  KL_TRY(check(flags.webhooks));
  KL_ASSIGN(const base::Duration relist, duration("--informer-resync-period", texts.resync));
  if (relist > base::Duration::zero()) m.resync = relist;
  if (texts.dispatch_workers > 0) {
    m.collect_workers = static_cast<std::size_t>(texts.dispatch_workers);
  }
  if (texts.dispatch_queue > 0) {
    m.watch_queue_bytes = static_cast<std::size_t>(texts.dispatch_queue) * kEventBytes;
  }
  if (!texts.dispatch_wait.empty()) {
    if (const auto wait = base::parse_duration(texts.dispatch_wait); !wait) {
      return wait.error().with_prefix("--collect-dispatch-enqueue-wait");
    }
    flags.without_effect.emplace_back("--collect-dispatch-enqueue-wait");
  }
  KL_TRY(read_read_api(texts.read, flags));
  KL_TRY(read_logging(texts, flags));
  m.sinks.allow_loopback = texts.allow_loopback;
  m.sinks.allow_private = texts.allow_private;
  m.sinks.allow_local = texts.allow_local;
  m.sinks.sqlite_dir = texts.sqlite_dir;
  return {};
}

/// KOLLECT_WATCH_NAMESPACES for --watch-namespaces.
std::string variable_of(std::string_view flag) {
  std::string name = "KOLLECT_";
  for (const char c : flag.substr(2)) {
    name += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return name;
}

}  // namespace

std::optional<int> read_operator_flags(const cli::Invocation& invocation,
                                       const std::vector<std::string>& args, OperatorFlags& flags) {
  Texts texts;
  CLI::App app("Runs the operator until it is told to stop.", "operator");
  declare(app, flags, texts);
  std::vector<std::string> all;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (name == "--help" || !name.starts_with("--")) continue;
    if (const auto it = invocation.env.find(variable_of(name)); it != invocation.env.end()) {
      all.push_back(name + "=" + it->second);
    }
  }
  all.insert(all.end(), args.begin(), args.end());
  flags.given = base::join(all, " ");
  if (const auto code = cli::parse_flags(app, invocation, all)) return code;
  if (const auto done = convert(texts, flags); !done) {
    fmt::print(invocation.err, "{} operator: {}; see {} operator --help\n", invocation.program,
               done.error().message, invocation.program);
    return cli::kExitFailed;
  }
  return std::nullopt;
}

}  // namespace kollect::manager
