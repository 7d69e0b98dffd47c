// Sinks of type nats and kafka: an inventory as messages (spec: sinks 14).
#pragma once

#include <memory>
#include <string>

#include "api/types.h"
#include "sinks/events/transport.h"
#include "sinks/sink.h"

namespace kollect::sinks::events {

enum class Mode {
  kSnapshot,  ///< each message is the whole document, or a part of it
  kChanges,   ///< one message per changed row
};

/// spec.options.events: "snapshot" (also when it is not given) or "changes". Error: configuration.
base::Result<Mode> read_mode(const api::EventSink& sink);

/// kSnapshot: one message per export and part (spec: sinks 14.1). Nothing is sent for a pass that
/// resumes (Pass::resumed) and whose rows, generation and ceiling are those of the last confirmed
/// one (K-49). A message of a set with rows that could not be read (Export::keep_*) holds the
/// others and says in `incomplete` whose rows stay (P-9, X-9); the report warns of it.
///
/// kChanges: "upsert" and "delete" for each changed row. A pass that does not resume, and one whose
/// differences are not known, sends all rows between "snapshot" and "snapshot-end"; with rows that
/// could not be read between "partial-snapshot" and "partial-snapshot-end", which name them, and
/// deletes of theirs are not sent. A row above the ceiling is replaced by its identity, size and
/// hash, and the report warns of it. Memory: one message and what the transport holds; after an
/// error 32 bytes and more for each change that is to be sent again.
///
/// What was not confirmed is sent again byte for byte with the same id while rows and generation
/// stay the same (K-55): the time of its first sending is remembered. Dry runs contact nobody.
/// One thread at a time; errors are the transport's and "too-large".
std::unique_ptr<Sink> make_sink(Mode mode, std::unique_ptr<Transport> transport);

}  // namespace kollect::sinks::events
