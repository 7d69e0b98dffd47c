#include "sinks/nats/stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::sinks::nats {

namespace {

using base::json::Array;
using base::json::Object;
using base::json::Value;

constexpr std::string_view kMark = "kollect.dev/managed";
constexpr int kNoResponders = 503;
constexpr std::int64_t kStreamNotFound = 10059;
constexpr std::int64_t kStreamNameTaken = 10058;
constexpr std::int64_t kSubjectsOverlap = 10065;
constexpr std::int64_t kMessageTooLarge = 10054;
constexpr std::int64_t kNotEnabled = 10076;
constexpr std::int64_t kNotEnabledForAccount = 10039;

std::int64_t number_in(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  return found != nullptr && found->is_int() ? found->as_int() : 0;
}

/// The answer as JSON; errors of the server are in it.
base::Result<Value> ask(const base::Context& context, Client& client, const std::string& subject,
                        const std::string& body) {
  KL_ASSIGN(const Reply reply, client.ask(context, subject, body));
  if (reply.status == kNoResponders) {
    // Also for some moments after a start.
    return base::retryable(
        "nats: nobody answers for JetStream: it is not enabled, or not ready yet", "no-jetstream");
  }
  const auto document = base::json::Document::parse(reply.payload);
  if (!document) return base::retryable("nats: JetStream's answer is no JSON", "unreachable");
  return base::json::to_value(document->root());
}

Object config_of(const std::string& name, const std::string& subject,
                 const StreamSettings& settings) {
  Object out;
  out.set("name", name);
  out.set("description", "Inventories of Kubernetes objects, written by kollect");
  out.set("subjects", Array{Value(subject)});
  out.set("retention", settings.retention);
  out.set("storage", settings.memory ? "memory" : "file");
  out.set("discard", "old");
  out.set("num_replicas", settings.replicas);
  out.set("max_consumers", -1);
  out.set("max_msgs", -1);
  out.set("max_bytes", settings.max_bytes == 0 ? std::int64_t{-1} : settings.max_bytes);
  out.set("max_age", std::int64_t{settings.max_age.count()});
  base::Duration window = settings.duplicate_window;
  if (settings.max_age > base::Duration::zero()) window = std::min(window, settings.max_age);
  out.set("duplicate_window", std::int64_t{window.count()});
  Object marks;
  marks.set(std::string(kMark), "true");
  out.set("metadata", std::move(marks));
  return out;
}

bool is_ours(const Value& config) {
  const Value* marks = config.find("metadata");
  return marks != nullptr && marks->text(kMark) == "true";
}

bool takes(const Value& config, const std::string& subject) {
  const Value* subjects = config.find("subjects");
  return subjects != nullptr && subjects->is_array() &&
         std::ranges::any_of(subjects->as_array(), [&](const Value& one) {
           return one.is_string() && covers(one.as_string(), subject);
         });
}

base::Error lacks(const std::string& name, const std::string& subject) {
  return base::terminal(
      fmt::format(
          "nats: stream {} exists and does not take the subject {}; add that subject to it, or "
          "name another stream in spec.nats.stream",
          name, subject),
      "stream-subject");
}

base::Result<Stream> read(const Value& config, const std::string& name) {
  Stream out;
  const Value* no_ack = config.find("no_ack");
  const Value* sealed = config.find("sealed");
  if ((no_ack != nullptr && *no_ack == Value(true)) ||
      (sealed != nullptr && *sealed == Value(true))) {
    return base::terminal(
        fmt::format("nats: stream {} is sealed or gives no acknowledgements; name another one",
                    name),
        "stream-unfit");
  }
  if (const std::int64_t most = number_in(config, "max_msg_size"); most > 0) {
    out.max_message = static_cast<std::size_t>(most);
  }
  return out;
}

base::Result<Value> change(const base::Context& context, Client& client, const std::string& verb,
                           const std::string& name, Object config) {
  return ask(context, client, fmt::format("$JS.API.STREAM.{}.{}", verb, name),
             base::json::compact(Value(std::move(config))));
}

/// None: it exists meanwhile.
base::Result<std::optional<Stream>> create(const base::Context& context, Client& client,
                                           const std::string& name, const std::string& subject,
                                           const StreamSettings& settings) {
  KL_ASSIGN(const Value answer,
            change(context, client, "CREATE", name, config_of(name, subject, settings)));
  if (const Value* error = answer.find("error")) {
    const std::int64_t code = number_in(*error, "err_code");
    if (code == kStreamNameTaken) return std::optional<Stream>();
    if (code == kSubjectsOverlap) {
      return base::terminal(
          fmt::format(
              "nats: stream {} cannot be created: another stream has the subject {}; name that "
              "one in spec.nats.stream, or use another subject",
              name, subject),
          "stream-subject");
    }
    return js_error(*error, "creating stream " + name);
  }
  const Value* config = answer.find("config");
  if (config == nullptr) return base::retryable("nats: JetStream's answer has no configuration");
  KL_ASSIGN(Stream out, read(*config, name));
  out.created = true;
  return std::optional<Stream>(out);
}

base::Result<Stream> extend(const base::Context& context, Client& client, const Value& config,
                            const std::string& name, const std::string& subject) {
  Object changed = config.as_object();
  Value* subjects = changed.find("subjects");
  if (subjects == nullptr || !subjects->is_array()) return lacks(name, subject);
  // One that the new one covers would overlap with it.
  std::erase_if(subjects->as_array(), [&](const Value& one) {
    return one.is_string() && covers(subject, one.as_string());
  });
  subjects->as_array().emplace_back(subject);
  KL_ASSIGN(const Value answer, change(context, client, "UPDATE", name, std::move(changed)));
  if (const Value* error = answer.find("error")) {
    return js_error(*error, fmt::format("adding the subject {} to stream {}", subject, name));
  }
  return read(config, name);
}

}  // namespace

base::Error js_error(const Value& error, const std::string& about) {
  const std::int64_t status = number_in(error, "code");
  const std::int64_t code = number_in(error, "err_code");
  const std::string text = fmt::format("nats: {}: {} (JetStream error {})", about,
                                       base::cut_utf8(error.text("description"), 200), code);
  if (code == kNotEnabled || code == kNotEnabledForAccount) {
    return base::terminal("nats: JetStream is not enabled for the user's account", "no-jetstream");
  }
  if (code == kMessageTooLarge) return base::retryable(text, "too-large");
  if (code == kStreamNotFound) return base::retryable(text, "stream-missing");
  if (status == 403 || status == 401) return base::denied(text, "permission");
  if (status == 400 || status == 404 || status == 409) return base::terminal(text, "refused");
  return base::retryable(text, "busy");
}

base::Result<Stream> prepare_stream(const base::Context& context, Client& client,
                                    const std::string& name, const std::string& subject,
                                    const StreamSettings& settings, Provision provision) {
  for (int attempt = 0;; ++attempt) {
    KL_ASSIGN(const Value answer, ask(context, client, "$JS.API.STREAM.INFO." + name, ""));
    if (const Value* error = answer.find("error")) {
      if (number_in(*error, "err_code") != kStreamNotFound || attempt == 3) {
        return js_error(*error, "stream " + name);
      }
      if (provision == Provision::kLook) return Stream{};
      if (provision == Provision::kExisting) {
        return base::terminal(
            fmt::format(
                "nats: stream {} does not exist, and provisioning.mode existing creates none",
                name),
            "stream-missing");
      }
      KL_ASSIGN(const auto created, create(context, client, name, subject, settings));
      if (created) return *created;
      continue;  // another one was faster
    }
    const Value* config = answer.find("config");
    if (config == nullptr || !config->is_object()) {
      return base::retryable("nats: JetStream's answer has no configuration", "unreachable");
    }
    if (takes(*config, subject)) return read(*config, name);
    if (provision == Provision::kExisting || !is_ours(*config)) return lacks(name, subject);
    if (provision == Provision::kLook) return read(*config, name);
    return extend(context, client, *config, name, subject);
  }
}

base::Result<> check_account(const base::Context& context, Client& client) {
  KL_ASSIGN(const Value answer, ask(context, client, "$JS.API.INFO", ""));
  if (const Value* error = answer.find("error")) return js_error(*error, "the account");
  return {};
}

}  // namespace kollect::sinks::nats
