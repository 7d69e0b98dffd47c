// What a broker must offer to the event sinks (spec: sinks 14). The sinks make the messages, a
// transport delivers them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "sinks/sink.h"

namespace kollect::sinks::events {

/// One message, ready to send. Broker-neutral: Kafka reads `key`, NATS `type` and `id`.
struct Message {
  InventoryId inventory;
  std::string cluster;  ///< the sink's; may be empty
  std::string key;      ///< messages of one key keep their order
  std::string type;     ///< of a change event ("upsert", ...); empty: the whole document
  std::optional<std::string> body;  ///< none: a tombstone of the key
  std::vector<std::pair<std::string, std::string>> headers;
  std::string id;  ///< what the broker drops duplicates by; equal for a repetition
  /// Opens or closes a bracket around all rows: a topic with several partitions needs it in each.
  bool bracket = false;
};

/// A connection to a broker. Called by one thread at a time; connects when first needed and again
/// when the connection is gone.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Connects and sees that the topic or stream for this inventory is there (created under
  /// `ensure`). Cheap when that was done before. Errors carry class and reason of spec sinks 16.3.
  virtual base::Result<> open(const base::Context& context, const InventoryId& inventory,
                              const std::string& cluster) = 0;
  /// Hands a message over; waits while too much is under way. Success is not delivery: see flush().
  virtual base::Result<> send(const base::Context& context, Message message) = 0;
  /// Waits until the broker has confirmed all that was sent. The first message that it did not
  /// confirm decides the error; nothing is under way afterwards.
  virtual base::Result<> flush(const base::Context& context) = 0;
  /// Largest body in bytes that the broker takes, headers allowed for. Valid after open().
  [[nodiscard]] virtual std::size_t max_body() const = 0;
  /// True once after an open() that had to create the topic or stream: consumers of earlier
  /// messages may have lost them.
  [[nodiscard]] virtual bool take_created() { return false; }
  /// A tombstone follows each delete (a compacted topic).
  [[nodiscard]] virtual bool wants_tombstones() const { return false; }
  /// Connects without side effects (spec: sinks 16.1).
  virtual base::Result<> probe(const base::Context& context) = 0;
};

}  // namespace kollect::sinks::events
