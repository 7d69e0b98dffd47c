// Event sinks of type nats: messages to a stream of JetStream (spec: sinks 14.3).
#pragma once

#include <memory>

#include "sinks/events/transport.h"
#include "sinks/nats/options.h"

namespace kollect::sinks::nats {

/// Nothing is contacted yet. A message is confirmed when JetStream has stored it; up to
/// options.window are under way. A connection that failed, or that has been given up after an
/// error, is opened anew by the next open(), which also looks at the stream again. No thread: while
/// nobody calls, the server's pings wait, and after some minutes it ends the connection.
std::unique_ptr<events::Transport> make_transport(NatsOptions options);

}  // namespace kollect::sinks::nats
