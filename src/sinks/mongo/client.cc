#include "sinks/mongo/client.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

namespace kollect::sinks::mongo {

namespace {

constexpr std::int32_t kSocketTimeout = 120'000;  // ms; where the URI has none
constexpr std::int32_t kSelectionTimeout = 30'000;

/// libmongoc starts itself before main() and would count in a file of /dev/shm: every process that
/// is killed leaves one, and where it cannot be had (or a killed one of the same number has left
/// it) a line goes to stderr. Runs before that start, since the library is static and its start has
/// no priority.
[[gnu::constructor(101)]] void keep_out_of_shared_memory() {
  ::setenv("MONGOC_DISABLE_SHM", "1", 0);
}

/// libmongoc's state of the process. Its log would go to stderr, addresses included.
class Library {
 public:
  Library() {
    mongoc_log_set_handler(nullptr, nullptr);
    mongoc_init();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { mongoc_cleanup(); }
};

void need_library() {
  static const Library kLibrary;
}

base::Error bad_uri(std::string_view why) {
  return base::configuration(fmt::format("mongodb: the URI of the Secret {}", why), "bad-dsn");
}

/// "majority", a number from 1, or the tag of a custom concern.
base::Result<Handle<mongoc_write_concern_t>> read_write_concern(const std::string& text) {
  Handle<mongoc_write_concern_t> out(mongoc_write_concern_new());
  std::int32_t nodes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), nodes);
  if (error == std::errc() && end == text.data() + text.size()) {
    constexpr std::int32_t kMost = 50;  // members of a replica set
    if (nodes < 1 || nodes > kMost) {
      return base::configuration(
          "spec.options[writeConcern]: must be majority, a number from 1 to 50 or the name of a "
          "write concern; without an answer nothing would be known to be written",
          "bad-option");
    }
    mongoc_write_concern_set_w(out.get(), nodes);
  } else if (text == "majority") {
    mongoc_write_concern_set_w(out.get(), MONGOC_WRITE_CONCERN_W_MAJORITY);
  } else {
    mongoc_write_concern_set_wtag(out.get(), text.c_str());
  }
  return out;
}

base::Result<> apply_options(const Access& access, mongoc_uri_t* uri) {
  if (!access.write_concern.empty()) {
    KL_ASSIGN(const auto concern, read_write_concern(access.write_concern));
    mongoc_uri_set_write_concern(uri, concern.get());
  }
  if (!mongoc_write_concern_is_acknowledged(mongoc_uri_get_write_concern(uri))) {
    return bad_uri("has w=0; without an answer nothing would be known to be written");
  }
  if (!access.app_name.empty() || mongoc_uri_get_appname(uri) == nullptr) {
    const std::string name = access.app_name.empty() ? "kollect" : access.app_name;
    if (!mongoc_uri_set_appname(uri, name.c_str())) {
      return base::configuration("spec.options[appName]: must be at most 128 bytes", "bad-option");
    }
  }
  if (!mongoc_uri_has_option(uri, MONGOC_URI_SOCKETTIMEOUTMS)) {
    mongoc_uri_set_option_as_int32(uri, MONGOC_URI_SOCKETTIMEOUTMS, kSocketTimeout);
  }
  if (!mongoc_uri_has_option(uri, MONGOC_URI_SERVERSELECTIONTIMEOUTMS)) {
    mongoc_uri_set_option_as_int32(uri, MONGOC_URI_SERVERSELECTIONTIMEOUTMS, kSelectionTimeout);
  }
  return {};
}

/// What is not a socket of the dialer's is not allowed under a guard.
base::Result<> check_mechanism(const Access& access, const mongoc_uri_t* uri) {
  const char* mechanism = mongoc_uri_get_auth_mechanism(uri);
  if (mechanism == nullptr || access.guard == nullptr) return {};
  constexpr std::array<std::string_view, 4> kAllowed = {"SCRAM-SHA-1", "SCRAM-SHA-256", "PLAIN",
                                                        "MONGODB-X509"};
  if (std::find(kAllowed.begin(), kAllowed.end(), std::string_view(mechanism)) != kAllowed.end()) {
    return {};
  }
  return bad_uri(
      "has an authMechanism that is not supported here; SCRAM-SHA-1, SCRAM-SHA-256, PLAIN and "
      "MONGODB-X509 are");
}

base::Result<Handle<mongoc_uri_t>> read_uri(const Access& access) {
  need_library();
  bson_error_t error{};
  Handle<mongoc_uri_t> uri(mongoc_uri_new_with_error(access.uri.reveal().c_str(), &error));
  if (uri == nullptr || access.uri.reveal().find('\0') != std::string::npos) {
    return bad_uri(
        "is no mongodb:// or mongodb+srv:// URI, or has a bad parameter; user names and passwords "
        "must be percent-encoded");
  }
  KL_TRY(apply_options(access, uri.get()));
  KL_TRY(check_mechanism(access, uri.get()));
  return uri;
}

std::string text_option(const mongoc_uri_t* uri, const char* name) {
  const char* text = mongoc_uri_get_option_as_utf8(uri, name, "");
  return text == nullptr ? "" : text;
}

DialOptions dial_options(const Access& access, const mongoc_uri_t* uri) {
  DialOptions out;
  out.guard = access.guard;
  out.allow_local = access.allow_local;
  out.resolver = access.resolver;
  out.tls = mongoc_uri_get_tls(uri) || access.ca_pem || access.insecure_skip_verify;
  out.ca_pem = access.ca_pem;
  out.ca_file = text_option(uri, MONGOC_URI_TLSCAFILE);
  out.certificate_file = text_option(uri, MONGOC_URI_TLSCERTIFICATEKEYFILE);
  out.certificate_password = text_option(uri, MONGOC_URI_TLSCERTIFICATEKEYFILEPASSWORD);
  const auto is_on = [&](const char* name) {
    return mongoc_uri_get_option_as_bool(uri, name, false);
  };
  // The spec's own trust counts more than the URI's.
  const bool insecure = is_on(MONGOC_URI_TLSINSECURE) && !access.ca_pem;
  out.verify = !access.insecure_skip_verify && !insecure &&
               (access.ca_pem || !is_on(MONGOC_URI_TLSALLOWINVALIDCERTIFICATES));
  out.verify_host = access.ca_pem || !is_on(MONGOC_URI_TLSALLOWINVALIDHOSTNAMES);
  const auto timeout = mongoc_uri_get_option_as_int32(uri, MONGOC_URI_CONNECTTIMEOUTMS, 0);
  if (timeout > 0) {
    out.connect_timeout =
        std::min(out.connect_timeout, base::Duration(std::chrono::milliseconds(timeout)));
  }
  return out;
}

base::Result<> check_hosts(const Dialer& dialer, const mongoc_uri_t* uri) {
  for (const auto* host = mongoc_uri_get_hosts(uri); host != nullptr; host = host->next) {
    KL_TRY(dialer.check_host(host->host, host->family == AF_UNIX));
  }
  return {};
}

struct Meaning {
  std::int64_t code;
  base::ErrorKind kind;
  std::string_view reason;
  std::string_view text;
};

/// Codes that waiting does not cure; everything else passes.
constexpr std::array kMeanings = {
    Meaning{
        13, base::ErrorKind::kDenied, "forbidden",
        "the user lacks a right; it needs find, insert, update and remove, and createCollection "
        "and createIndex where those are missing"},
    Meaning{18, base::ErrorKind::kDenied, "auth",
            "the server refuses the user or the password; check the Secret and authSource"},
    Meaning{121, base::ErrorKind::kTerminal, "rejected",
            "a document does not pass the collection's validation"},
    Meaning{
        11000, base::ErrorKind::kTerminal, "duplicate-key",
        "a unique index refuses a row; where clusters share the collection its index must begin "
        "with cluster"},
    Meaning{10334, base::ErrorKind::kTerminal, "row-too-large",
            "a document is above the server's limit"},
    Meaning{17280, base::ErrorKind::kTerminal, "row-too-large",
            "a key of an index is above the server's limit"},
    Meaning{52, base::ErrorKind::kTerminal, "rejected",
            "the server refuses keys that begin with $; MongoDB 5 or later takes them"},
    Meaning{57, base::ErrorKind::kTerminal, "rejected",
            "the server refuses keys with dots; MongoDB 5 or later takes them"},
};

std::string describe(std::string_view doing, std::string_view where) {
  return where.empty() ? fmt::format("mongodb: {}", doing)
                       : fmt::format("mongodb: {} {}", doing, where);
}

}  // namespace

base::Result<> check_access(const Access& access) {
  KL_ASSIGN(const auto uri, read_uri(access));
  KL_ASSIGN(const auto dialer, Dialer::create(dial_options(access, uri.get())));
  return check_hosts(*dialer, uri.get());
}

base::Result<std::unique_ptr<Client>> Client::open(const base::Context& context,
                                                   const Access& access) {
  KL_TRY(context.check());
  KL_ASSIGN(const auto uri, read_uri(access));
  std::unique_ptr<Client> out(new Client);
  KL_ASSIGN(out->dialer_, Dialer::create(dial_options(access, uri.get())));
  bson_error_t error{};
  out->client_.reset(mongoc_client_new_from_uri_with_error(uri.get(), &error));
  if (out->client_ == nullptr) {
    return base::retryable("mongodb: the SRV and TXT records of the URI's host cannot be read",
                           "unreachable");
  }
  // SRV records have become hosts by now.
  KL_TRY(check_hosts(*out->dialer_, mongoc_client_get_uri(out->client_.get())));
  mongoc_client_set_error_api(out->client_.get(), MONGOC_ERROR_API_VERSION_2);
  out->dialer_->serve(out->client_.get());
  out->begin(context);
  return out;
}

void Client::begin(const base::Context& context) {
  context_ = context;
  dialer_->begin(context);
}

base::Error Client::refused(std::string_view doing, std::string_view where, std::int64_t code) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.code != code) continue;
    return {meaning.kind, std::string(meaning.reason),
            fmt::format("{}: {} [code {}]", describe(doing, where), meaning.text, code)};
  }
  return base::retryable(
      fmt::format("{}: the server answers with an error [code {}]", describe(doing, where), code),
      "server-error");
}

base::Error Client::failed(std::string_view doing, std::string_view where,
                           const bson_error_t& error) const {
  if (const auto stopped = context_.check(); !stopped.has_value()) return stopped.error();
  const auto& failure = dialer_->failure();
  if (failure && (dialer_->lost() || error.domain == MONGOC_ERROR_SERVER_SELECTION ||
                  error.domain == MONGOC_ERROR_STREAM)) {
    return *failure;
  }
  switch (error.domain) {
    case MONGOC_ERROR_SERVER:
    case MONGOC_ERROR_WRITE_CONCERN:
      return refused(doing, where, error.code);
    case MONGOC_ERROR_SCRAM:
    case MONGOC_ERROR_SASL:
      return refused(doing, where, 18);
    case MONGOC_ERROR_CLIENT:
      if (error.code == MONGOC_ERROR_CLIENT_AUTHENTICATE) return refused(doing, where, 18);
      break;
    case MONGOC_ERROR_SERVER_SELECTION:
      return base::retryable(
          "mongodb: no server that takes writes was found; check the hosts, replicaSet and "
          "directConnection of the URI",
          "unreachable");
    case MONGOC_ERROR_STREAM:
      return base::retryable("mongodb: the connection to the server was lost", "unreachable");
    default:
      break;
  }
  return base::retryable(fmt::format("{}: the driver reports an error [{}.{}]",
                                     describe(doing, where), error.domain, error.code),
                         "server-error");
}

base::Result<> Client::command(std::string_view doing, const std::string& database,
                               const Bson& command, Bson& reply) {
  bson_error_t error{};
  if (mongoc_client_command_simple(get(), database.c_str(), command.get(), nullptr, reply.refill(),
                                   &error)) {
    return {};
  }
  return failed(doing, "", error);
}

}  // namespace kollect::sinks::mongo
