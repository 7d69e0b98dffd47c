// List and watch of one resource, kept going for ever.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/context.h"
#include "base/json/document.h"
#include "base/log.h"
#include "kube/client.h"

namespace kollect::kube {

/// What is watched.
struct WatchQuery {
  Resource resource;
  std::string ns = {};  ///< empty: all namespaces, or cluster-scoped
  std::string label_selector = {};
  std::string field_selector = {};
  bool metadata_only = false;  ///< objects come as PartialObjectMetadata
};

/// Receives the objects of a reflector, on its thread and in order. Objects always name their
/// apiVersion and kind. A call that takes long holds up the server, nothing else.
class ObjectReceiver {
 public:
  virtual ~ObjectReceiver() = default;
  /// A complete list begins: objects not given before end_list() are gone. Called again when a list
  /// fails half way.
  virtual void begin_list() = 0;
  /// A list page's or a watch event's object: it exists in this state. The view dies with the call.
  virtual void object(base::json::View object) = 0;
  /// It was deleted, or does not match the query any more; `object` is its last state.
  virtual void deleted(base::json::View object) = 0;
  virtual void end_list() = 0;
};

/// Places in line for lists, so that a start with many kinds neither floods the server nor the
/// memory. Thread-safe.
class ListGate {
 public:
  explicit ListGate(std::size_t places);
  ~ListGate();
  /// Waits for a place; the handle gives it back. Error: cancelled.
  base::Result<std::shared_ptr<void>> enter(const base::Context& context);
  /// How many stand in line.
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

struct ReflectorOptions {
  bool watch_list = true;  ///< ask for a streamed list where the server offers it
  /// A streamed list whose end mark does not come although nothing else comes either: the server
  /// ignored the wish, pages are asked for.
  base::Duration mark_patience = std::chrono::seconds(10);
  std::uint32_t page_size = 500;
  /// No byte for so long (bookmarks count): the connection is dead, the watch is resumed on a new
  /// one.
  base::Duration silence = std::chrono::seconds(75);
  base::Duration backoff_base = std::chrono::milliseconds(800);
  base::Duration backoff_cap = std::chrono::seconds(30);
  /// The server is asked to end a watch after a random time between this and twice this.
  base::Duration watch_time = std::chrono::minutes(5);
  /// A new list after so long at the latest, as a backstop; zero: never.
  base::Duration resync = base::Duration::zero();
  std::size_t queue_bytes =
      4U << 20U;           ///< events read but not yet handled; more stops reading the socket
  std::uint64_t seed = 0;  ///< of jitter; 0: from the machine
};

/// The states of a reflector. Every move is in the table of reflector_state.h.
enum class ReflectorState { kStarting, kListing, kWatching, kWaiting, kStopped };
std::string_view to_string(ReflectorState state);

/// Lists by what made them necessary.
struct ListCauses {
  std::uint64_t start = 0;
  std::uint64_t expired = 0;     ///< the server had forgotten our resourceVersion
  std::uint64_t unreadable = 0;  ///< an event could not be read
  std::uint64_t failed = 0;      ///< the list or watch before had failed otherwise
  std::uint64_t asked = 0;       ///< relist_now() or resync
};

struct ReflectorStatus {
  ReflectorState state = ReflectorState::kStarting;
  bool synced = false;  ///< at least one complete list was handed over
  /// Why it is waiting: reasons as of Client::list ("forbidden", "gvk-not-found", "unreachable",
  /// "timeout", ...); "not-watchable" where a kind can be listed only. None while it is well.
  std::optional<base::Error> error;
  std::string resource_version;
  base::SteadyTime last_contact{};  ///< the last byte from the server: proof of life
  // Counters, since the start.
  std::uint64_t lists = 0;           ///< complete ones
  std::uint64_t streamed_lists = 0;  ///< of these
  std::uint64_t watches = 0;         ///< that the server granted, those behind streamed lists too
  std::uint64_t events = 0;          ///< changes handed over, lists and bookmarks apart
  std::uint64_t bookmarks = 0;
  std::uint64_t objects = 0;     ///< handed over by lists
  std::uint64_t unreadable = 0;  ///< objects of lists that were left out
  /// Objects that there are: those of the last complete list, and what came and went since.
  std::uint64_t present = 0;
  std::uint64_t waiting = 0;   ///< lines of the watch that have come and were not handled yet
  std::uint64_t held_up = 0;   ///< times that reading stopped because too much was waiting
  std::uint64_t cuts = 0;      ///< connections that broke
  std::uint64_t silences = 0;  ///< connections given up because nothing came
  std::uint64_t bytes = 0;     ///< of watches and streamed lists, as of their ends
  std::uint32_t failures = 0;  ///< in a row, until a watch does well
  ListCauses begun;            ///< lists begun
};

/// One thread: lists (or streams the list), watches, resumes at the last resourceVersion after a
/// cut, lists anew after 410, tries again with back-off after every error, also after 403 and 404
/// (rights and kinds may come later). A list counts only when complete. It stays with its resource:
/// a kind that comes back with another version or scope needs a new reflector. start() and stop()
/// once each; the destructor stops and waits.
class Reflector {
 public:
  /// All references must outlive it.
  Reflector(Client& client, WatchQuery query, ObjectReceiver& receiver, ListGate& gate,
            const base::Clock& clock, const base::Logger* log, ReflectorOptions options = {});
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  /// `changed` is called after every change of state, synced or error, on the reflector's thread;
  /// must be quick.
  void start(std::function<void(const ReflectorStatus&)> changed = nullptr);
  /// Ends the connection and waits for the thread. Not from a callback.
  void stop();
  /// Asks it to end and returns at once; stop() still has to follow. For owners of many.
  void request_stop();
  /// Cuts a wait short (rights or kinds may have changed).
  void retry_now();
  /// Lists anew: at once when it watches or waits, after the list that is under way otherwise. For
  /// receivers that want to see every object again.
  void relist_now();
  [[nodiscard]] ReflectorStatus status() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::kube
