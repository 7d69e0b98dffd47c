#include "sinks/nats/client.h"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/hash.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "sinks/nats/nkey.h"
#include "sinks/nats/protocol.h"

namespace kollect::sinks::nats {

namespace {

using base::json::Object;
using base::json::Value;

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kStatusLine = "NATS/1.0";
/// Tokens of questions; those of messages are below.
constexpr std::uint64_t kQuestions = std::uint64_t{1} << 62U;
constexpr base::Duration kStep = std::chrono::milliseconds(50);
constexpr base::Duration kGreeting = std::chrono::seconds(10);
constexpr base::Duration kAnswer = std::chrono::seconds(10);

std::string random_name() {
  std::array<unsigned char, 12> bytes{};
  RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
  return base::hex_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// Says whose connection it was.
template <class T>
base::Result<T> named(base::Result<T> result) {
  if (result.has_value() || result.error().kind == base::ErrorKind::kCancelled) return result;
  return result.error().with_prefix("nats");
}

/// What "-ERR 'text'" means. The server's text is not passed on as it is: it may quote a subject.
base::Error server_error(std::string_view text) {
  const std::string word = base::to_lower(text);
  const auto says = [&](std::string_view part) { return word.find(part) != std::string::npos; };
  if (says("permissions violation")) {
    return base::denied(
        "nats: the user may not publish or ask there (permissions violation); it "
        "needs to publish to the subject and to $JS.API.>, and to subscribe to "
        "_INBOX.>",
        "permission");
  }
  if (says("auth") || says("account") || says("credentials") || says("revoked")) {
    return base::denied("nats: the server refuses the credentials of the Secret", "auth");
  }
  if (says("maximum payload")) {
    return base::retryable("nats: a message was larger than the server takes", "too-large");
  }
  if (says("tls") || says("secure")) {
    return base::terminal("nats: the server wants TLS; use tls:// or spec.tls", "tls");
  }
  if (says("maximum connections") || says("stale connection") || says("slow consumer")) {
    return base::retryable(
        fmt::format("nats: the server ended the connection: {}", base::cut_utf8(word, 60)),
        "unreachable");
  }
  return base::retryable("nats: the server reports a protocol error", "unreachable");
}

base::Error garbled() {
  return base::retryable("nats: the server sent what is not the NATS protocol", "unreachable");
}

std::uint64_t number(std::string_view text) {
  std::uint64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

base::Result<Value> json_of(std::string_view text) {
  const auto document = base::json::Document::parse(std::string(text));
  if (!document) return garbled();
  return base::json::to_value(document->root());
}

bool flag(const Value& info, std::string_view name) {
  const Value* found = info.find(name);
  return found != nullptr && found->is_bool() && found->as_bool();
}

base::Result<> add_login(Object& out, const Login& login, const std::string& nonce) {
  const auto sign = [&](const base::Secret& seed) -> base::Result<NKey> {
    if (nonce.empty()) {
      return base::denied("nats: the server asks for no key, so it has none to compare with",
                          "auth");
    }
    KL_ASSIGN(auto key, NKey::from_seed(seed));
    KL_ASSIGN(auto signature, key.sign(nonce));
    out.set("sig", std::move(signature));
    return key;
  };
  if (!login.token.empty()) {
    out.set("auth_token", login.token.reveal());
  } else if (!login.username.empty()) {
    out.set("user", login.username.reveal());
    out.set("pass", login.password.reveal());
  } else if (!login.credentials.empty()) {
    KL_ASSIGN(const auto credentials, read_credentials(login.credentials));
    KL_TRY(sign(credentials.seed));
    out.set("jwt", credentials.jwt.reveal());
  } else if (!login.nkey.empty()) {
    KL_ASSIGN(const auto key, sign(login.nkey));
    out.set("nkey", key.public_key());
  }
  return {};
}

}  // namespace

base::Result<Client> Client::connect(const base::Context& context, const Place& place,
                                     const TlsOptions& tls, const Login& login) {
  const base::Context limited = context.with_timeout(kGreeting);
  auto greeted = [&]() -> base::Result<Client> {
    KL_ASSIGN(auto wire, named(Wire::connect(limited, place.address, place.port)));
    Client client(std::move(wire));
    KL_TRY(client.greet(limited, place, tls, login));
    return client;
  }();
  if (greeted) return greeted;
  KL_TRY(context.check());
  if (greeted.error().kind == base::ErrorKind::kCancelled) {
    return base::retryable(fmt::format("nats: {}:{} does not answer", place.name, place.port),
                           "unreachable");
  }
  return greeted.error().with_prefix(fmt::format("{}:{}", place.name, place.port));
}

base::Result<> Client::greet(const base::Context& context, const Place& place,
                             const TlsOptions& tls, const Login& login) {
  while (!info_) KL_TRY(step(context, kStep, {}));
  KL_ASSIGN(const Value info, json_of(*info_));
  const bool wants = flag(info, "tls_required");
  const bool secure = wants || place.tls;
  if (place.tls && !wants && !flag(info, "tls_available")) {
    return base::terminal("nats: the server has no TLS, which the URL or spec.tls asks for", "tls");
  }
  if (!flag(info, "headers")) {
    return base::terminal("nats: the server knows no headers; 2.2 or later is needed",
                          "no-headers");
  }
  if (const Value* most = info.find("max_payload"); most != nullptr && most->is_int()) {
    max_payload_ = static_cast<std::size_t>(std::max<std::int64_t>(most->as_int(), 0));
  }
  if (secure) {
    // Whoever stands in between could put words before those that nobody can forge.
    if (!wire_.input().empty()) return garbled();
    KL_TRY(named(wire_.start_tls(context, tls, place.name)));
  }
  KL_ASSIGN(const std::string hello, connect_text(login, std::string(info.text("nonce")), secure));
  inbox_ = fmt::format("_INBOX.{}.", random_name());
  wire_.output() += hello + "PING\r\n";
  const std::size_t before = pongs_;
  while (pongs_ == before) KL_TRY(step(context, kStep, {}));
  wire_.output() += fmt::format("SUB {}* 1\r\n", inbox_);
  return {};
}

base::Result<std::string> Client::connect_text(const Login& login, const std::string& nonce,
                                               bool tls) const {
  Object out;
  out.set("verbose", false);
  out.set("pedantic", false);
  out.set("tls_required", tls);
  out.set("name", "kollect");
  out.set("lang", "c++");
  out.set("version", "1");
  out.set("protocol", 1);
  out.set("echo", false);
  out.set("headers", true);
  out.set("no_responders", true);
  KL_TRY(add_login(out, login, nonce));
  return "CONNECT " + base::json::compact(Value(std::move(out))) + "\r\n";
}

void Client::publish(std::string_view subject, std::uint64_t token,
                     const std::vector<std::pair<std::string, std::string>>& headers,
                     std::string_view body) {
  std::size_t size = kStatusLine.size() + 2 * kLineEnd.size();
  for (const auto& [name, value] : headers) size += name.size() + value.size() + 4;
  std::string& out = wire_.output();
  if (headers.empty()) {
    fmt::format_to(std::back_inserter(out), "PUB {} {}{} {}\r\n", subject, inbox_, token,
                   body.size());
  } else {
    fmt::format_to(std::back_inserter(out), "HPUB {} {}{} {} {}\r\n{}\r\n", subject, inbox_, token,
                   size, size + body.size(), kStatusLine);
    for (const auto& [name, value] : headers) {
      out.append(name).append(": ").append(value).append(kLineEnd);
    }
    out += kLineEnd;
  }
  out.append(body).append(kLineEnd);
}

base::Result<> Client::step(const base::Context& context, base::Duration wait,
                            const std::function<void(Reply)>& take) {
  const auto pumped = named(wire_.pump(context, wait));
  parse(take);
  if (error_) {
    base::Error error = *error_;
    // Of one message only: the connection goes on.
    if (error.reason == "permission") error_.reset();
    return error;
  }
  return pumped;
}

base::Result<> Client::exchange(const base::Context& context, base::Duration wait,
                                const std::function<void(Reply)>& take) {
  return step(context, wait, take);
}

base::Result<Reply> Client::ask(const base::Context& context, std::string_view subject,
                                std::string_view body) {
  const base::Context limited = context.with_timeout(kAnswer);
  const std::uint64_t token = kQuestions + ++asked_;
  publish(subject, token, {}, body);
  std::optional<Reply> answer;
  while (!answer) {
    const auto stepped = step(limited, kStep, [&](Reply reply) {
      if (reply.token == token) answer = std::move(reply);
    });
    if (stepped) continue;
    KL_TRY(context.check());
    if (stepped.error().kind == base::ErrorKind::kCancelled) {
      return base::retryable("nats: JetStream does not answer", "unreachable");
    }
    return base::Error(stepped.error());
  }
  return std::move(*answer);
}

bool Client::still_there(const base::Context& context) {
  // The first time may read what came before the end.
  return step(context, base::Duration::zero(), {}).has_value() &&
         step(context, base::Duration::zero(), {}).has_value();
}

base::Result<> Client::ping(const base::Context& context) {
  wire_.output() += "PING\r\n";
  const std::size_t before = pongs_;
  while (pongs_ == before) KL_TRY(step(context, kStep, {}));
  return {};
}

void Client::parse(const std::function<void(Reply)>& take) {
  std::string& input = wire_.input();
  while (!error_ || error_->reason == "permission") {
    const auto said = read_said(input, at_);
    if (!said) break;
    hear(*said, take);
  }
  if (at_ == input.size()) {
    input.clear();
    at_ = 0;
  } else if (at_ > (256U << 10U)) {
    input.erase(0, at_);
    at_ = 0;
  }
}

void Client::hear(const Said& said, const std::function<void(Reply)>& take) {
  switch (said.what) {
    case Said::What::kMessage: {
      if (!take || !said.subject.starts_with(inbox_)) return;
      take({.token = number(said.subject.substr(inbox_.size())),
            .status = said.status,
            .payload = std::string(said.payload)});
      return;
    }
    case Said::What::kInfo: {
      info_ = std::string(said.text);
      // Later ones tell of other limits.
      const auto info = json_of(*info_);
      const Value* most = info ? info->find("max_payload") : nullptr;
      if (most != nullptr && most->is_int() && most->as_int() > 0) {
        max_payload_ = static_cast<std::size_t>(most->as_int());
      }
      return;
    }
    case Said::What::kPing:
      wire_.output() += "PONG\r\n";
      return;
    case Said::What::kPong:
      ++pongs_;
      return;
    case Said::What::kError:
      if (!error_) error_ = server_error(said.text);
      return;
    case Said::What::kNothing:
      return;
    case Said::What::kGarbled:
      error_ = garbled();
      return;
  }
}

}  // namespace kollect::sinks::nats
