#include "sinks/nats/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/hash.h"
#include "base/strings.h"
#include "sinks/events/event_sink.h"

namespace kollect::sinks::nats {

namespace {

constexpr const char* kDefaultStream = "kollect_events";

base::Error bad_url(std::string_view why) {
  return base::configuration(
      fmt::format("the NATS URL {}; it is nats://HOST:PORT or tls://HOST:PORT, several with commas",
                  why),
      "bad-endpoint");
}

base::Error bad_option(std::string_view key, std::string_view what) {
  return base::configuration(fmt::format("spec.options[{}] must be {}", key, what), "bad-option");
}

template <class T>
base::Result<T> read_number(std::string_view key, std::string_view text, T least, T most) {
  text = base::trim(text);
  T out{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || out < least || out > most) {
    return bad_option(key, fmt::format("a whole number from {} to {}", least, most));
  }
  return out;
}

base::Result<base::Duration> read_duration(std::string_view key, std::string_view text) {
  const auto out = base::parse_duration(base::trim(text));
  if (!out || *out < base::Duration::zero()) return bad_option(key, "a duration such as 24h");
  return out;
}

base::Result<> read_options(const std::map<std::string, std::string>& options, NatsOptions& out) {
  for (const auto& [key, value] : options) {
    const std::string word = base::to_lower(base::trim(value));
    if (key == "replicas") {
      KL_ASSIGN(out.settings.replicas, read_number(key, value, 1, 5));
    } else if (key == "storage") {
      if (word != "file" && word != "memory") return bad_option(key, "file or memory");
      out.settings.memory = word == "memory";
    } else if (key == "maxAge") {
      KL_ASSIGN(out.settings.max_age, read_duration(key, value));
    } else if (key == "maxBytes") {
      KL_ASSIGN(out.settings.max_bytes,
                read_number<std::int64_t>(key, value, -1, std::int64_t{1} << 62));
    } else if (key == "duplicateWindow") {
      KL_ASSIGN(out.settings.duplicate_window, read_duration(key, value));
    } else if (key == "retention") {
      if (word != "limits" && word != "interest" && word != "workqueue") {
        return bad_option(key, "limits, interest or workqueue");
      }
      out.settings.retention = word;
    }
  }
  return {};
}

/// K-16: the newline at the end is an accident.
base::Secret secret_in(const SecretData& auth, const char* key) {
  const auto found = auth.find(key);
  if (found == auth.end()) return {};
  std::string_view text = found->second.reveal();
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return base::Secret(std::string(text));
}

base::Result<> read_secret(const SecretData& auth, NatsOptions& out) {
  Login& login = out.login;
  login.token = secret_in(auth, "token");
  login.username = secret_in(auth, "username");
  login.password = secret_in(auth, "password");
  login.credentials = secret_in(auth, "creds");
  login.nkey = secret_in(auth, "nkey");
  out.tls.certificate = secret_in(auth, "tls.crt");
  out.tls.key = secret_in(auth, "tls.key");
  if (out.tls.certificate.empty() != out.tls.key.empty()) {
    return base::configuration("the Secret has one of tls.crt and tls.key only; both are needed",
                               "bad-secret");
  }
  return {};
}

/// One of "a.b.{cluster}"; no wildcards, no empty tokens.
base::Result<> check_subject(std::string_view subject) {
  const auto refuse = [](std::string_view why) {
    return base::configuration(fmt::format("spec.nats.subject {}", why), "bad-subject");
  };
  if (subject.empty()) return refuse("must not be blank");
  for (const std::string_view token : base::split(subject, '.')) {
    if (token.empty()) return refuse("has an empty part between dots");
    const bool odd = std::ranges::any_of(
        token, [](unsigned char c) { return c <= 0x20 || c == 0x7F || c == '*' || c == '>'; });
    if (odd) return refuse("must not hold blanks, * or >");
    if (token.find("{generation}") != std::string_view::npos) {
      return refuse("knows {cluster}, {namespace} and {name} only");
    }
  }
  if (subject.starts_with('$')) return refuse("must not begin with $");
  return {};
}

std::string clean(std::string_view value, std::string_view odd) {
  if (value.empty()) return "_";
  std::string out(value);
  std::ranges::replace_if(
      out,
      [&](unsigned char c) {
        return c <= 0x20 || c == 0x7F || odd.find(static_cast<char>(c)) != std::string_view::npos;
      },
      '_');
  return out;
}

std::string fill(std::string text, const InventoryId& inventory, const std::string& cluster,
                 std::string_view odd) {
  // The cluster is free text, so it comes last: it may look like a placeholder.
  text = base::replace_all(std::move(text), "{namespace}", clean(inventory.ns, odd));
  text = base::replace_all(std::move(text), "{name}", clean(inventory.name, odd));
  return base::replace_all(std::move(text), "{cluster}", clean(cluster, odd));
}

base::Result<std::uint16_t> read_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) {
    return bad_url("has a port that is none");
  }
  return port;
}

base::Result<> take_user(std::string_view user, Login& login) {
  if (!login.token.empty() || !login.username.empty() || !login.credentials.empty() ||
      !login.nkey.empty()) {
    return {};
  }
  const auto colon = user.find(':');
  auto name = base::percent_decode(user.substr(0, colon));
  if (!name) return bad_url("has a user that is not percent-encoded");
  if (colon == std::string_view::npos) {
    login.token = base::Secret(std::move(*name));
    return {};
  }
  auto password = base::percent_decode(user.substr(colon + 1));
  if (!password) return bad_url("has a password that is not percent-encoded");
  login.username = base::Secret(std::move(*name));
  login.password = base::Secret(std::move(*password));
  return {};
}

base::Result<Server> read_server(std::string_view text, Login& login) {
  Server out;
  if (const auto scheme_end = text.find("://"); scheme_end != std::string_view::npos) {
    const std::string scheme = base::to_lower(text.substr(0, scheme_end));
    if (scheme != "nats" && scheme != "tls") {
      return bad_url("has a scheme other than nats and tls");
    }
    out.tls = scheme == "tls";
    text.remove_prefix(scheme_end + 3);
  }
  if (text.ends_with('/')) text.remove_suffix(1);
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    KL_TRY(take_user(text.substr(0, at), login));
    text.remove_prefix(at + 1);
  }
  std::string_view port;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return bad_url("has a bracket that is not closed");
    out.host = text.substr(1, close - 1);
    port = text.substr(close + 1);
    if (!port.empty() && !port.starts_with(':')) return bad_url("has text behind the address");
    if (!port.empty()) port.remove_prefix(1);
  } else if (const auto colon = text.find(':'); colon == text.rfind(':')) {
    out.host = text.substr(0, colon);
    if (colon != std::string_view::npos) port = text.substr(colon + 1);
  } else {
    out.host = text;  // an IPv6 address without brackets
  }
  if (!port.empty()) {
    KL_ASSIGN(out.port, read_port(port));
  }
  if (out.host.empty() || out.host.find_first_of("/?# ") != std::string::npos) {
    return bad_url("has no host");
  }
  return out;
}

base::Result<NatsOptions> read_all(const api::EventSink& sink, const SecretData& auth,
                                   const std::optional<std::string>& ca_pem) {
  const api::EventSinkSpec& spec = sink.spec;
  if (!spec.nats) return base::configuration("spec.nats must be given");
  NatsOptions out;
  out.sink = sink.metadata.name;
  KL_TRY(read_secret(auth, out));
  const auto own = base::trim(spec.nats->url);
  KL_ASSIGN(out.servers, read_servers(own.empty() ? base::trim(spec.endpoint) : own, out.login));
  out.subject = base::trim(spec.nats->subject);
  KL_TRY(check_subject(out.subject));
  out.stream = base::replace_all(std::string(base::trim(spec.nats->stream)), ".", "_");
  if (out.stream.empty()) out.stream = kDefaultStream;
  if (spec.provisioning && spec.provisioning->naming) {
    const auto name = base::trim(spec.provisioning->naming->name_template);
    if (name.find("{generation}") != std::string_view::npos) {
      return base::configuration(
          "spec.provisioning.naming.template must not hold {generation}: every generation would "
          "get a stream of its own",
          "bad-name");
    }
    if (!name.empty()) out.stream = name;
  }
  out.ensure = !spec.provisioning || spec.provisioning->mode != "existing";
  KL_TRY(read_options(spec.options, out));
  out.tls.ca_pem = ca_pem;
  out.tls.insecure_skip_verify = spec.tls && spec.tls->insecure_skip_verify.value_or(false);
  out.wants_tls =
      ca_pem.has_value() || out.tls.insecure_skip_verify || !out.tls.certificate.empty();
  KL_ASSIGN(const events::Mode mode, events::read_mode(sink));
  out.changes = mode == events::Mode::kChanges;
  return out;
}

}  // namespace

base::Result<std::vector<Server>> read_servers(std::string_view text, Login& login) {
  std::vector<Server> out;
  for (const std::string_view one : base::split(text, ',')) {
    const auto trimmed = base::trim(one);
    if (trimmed.empty()) continue;
    KL_ASSIGN(auto server, read_server(trimmed, login));
    out.push_back(std::move(server));
  }
  if (out.empty()) {
    return base::configuration("spec.nats.url or spec.endpoint must name the server",
                               "bad-endpoint");
  }
  return out;
}

base::Result<NatsOptions> nats_options(const api::EventSink& sink, const SecretData& auth,
                                       const std::optional<std::string>& ca_pem) {
  auto out = read_all(sink, auth, ca_pem);
  if (!out) return out.error().with_prefix("sink " + sink.metadata.name);
  return out;
}

std::string subject_of(const NatsOptions& options, const InventoryId& inventory,
                       const std::string& cluster, std::string_view type) {
  std::string out = fill(options.subject, inventory, cluster, ".*>");
  if (!type.empty()) out.append(".").append(type);
  return out;
}

std::string pattern_of(const NatsOptions& options) {
  std::string out;
  for (const std::string_view token : base::split(options.subject, '.')) {
    const bool varies = token.find("{cluster}") != std::string_view::npos ||
                        token.find("{namespace}") != std::string_view::npos ||
                        token.find("{name}") != std::string_view::npos;
    if (!out.empty()) out += '.';
    out += varies ? "*" : token;
  }
  if (options.changes) out += ".*";
  return out;
}

std::string stream_of(const NatsOptions& options, const InventoryId& inventory,
                      const std::string& cluster) {
  return clean(fill(options.stream, inventory, cluster, ".*>/\\"), ".*>/\\");
}

bool covers(std::string_view outer, std::string_view inner) {
  const auto wide = base::split(outer, '.');
  const auto narrow = base::split(inner, '.');
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (wide[i] == ">") return narrow.size() > i;
    if (i >= narrow.size() || narrow[i] == ">") return false;
    if (wide[i] != "*" && wide[i] != narrow[i]) return false;
  }
  return wide.size() == narrow.size();
}

}  // namespace kollect::sinks::nats
