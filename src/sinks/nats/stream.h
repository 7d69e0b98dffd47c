// Streams of JetStream: looked at, created and extended (spec: sinks 14.3, K-56).
// Format: https://docs.nats.io/reference/reference-protocols/nats_api_reference
#pragma once

#include <optional>
#include <string>

#include "base/context.h"
#include "base/json/value.h"
#include "base/result.h"
#include "sinks/nats/client.h"
#include "sinks/nats/options.h"

namespace kollect::sinks::nats {

struct Stream {
  std::optional<std::size_t> max_message;  ///< with headers
  bool created = false;
};

/// What is done about a stream that is missing or does not take our subjects.
enum class Provision {
  kEnsure,    ///< created; a subject is added to one that carries our mark
  kExisting,  ///< an error
  kLook,      ///< ensure, but nothing is changed: for probes
};

/// Errors: terminal "stream-missing", "stream-subject", "stream-unfit", "no-jetstream"; and those
/// of the client and of js_error().
base::Result<Stream> prepare_stream(const base::Context& context, Client& client,
                                    const std::string& name, const std::string& subject,
                                    const StreamSettings& settings, Provision provision);

/// JetStream is there for this user.
base::Result<> check_account(const base::Context& context, Client& client);

/// The member "error" of an answer as what it means. `about` names stream or message.
base::Error js_error(const base::json::Value& error, const std::string& about);

}  // namespace kollect::sinks::nats
