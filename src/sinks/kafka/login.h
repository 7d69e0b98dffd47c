// Presenting oneself on a connection, before anything else is said on it.
// Format: https://kafka.apache.org/protocol (SaslHandshake 1, SaslAuthenticate 0)
#pragma once

#include "base/context.h"
#include "base/result.h"
#include "sinks/events/wire.h"
#include "sinks/kafka/options.h"

namespace kollect::sinks::kafka {

/// Errors: denied "auth", those of the wire, retryable "unreachable" for answers that are none.
base::Result<> log_in(const base::Context& context, events::Wire& wire, const Login& login);

}  // namespace kollect::sinks::kafka
