// The moves of a reflector as a table: what follows from how a step ended.
#pragma once

#include <cstdint>
#include <string_view>

#include "kube/reflector.h"

namespace kollect::kube {

/// What the reflector does.
enum class Step : std::uint8_t {
  kListStream,  ///< a list streamed by a watch that goes on afterwards
  kListPages,   ///< a paginated list
  kWatch,       ///< a watch from the last resourceVersion
  kStop,
};
inline constexpr std::size_t kSteps = 3;  ///< those that can end

/// How a step ended.
enum class Ending : std::uint8_t {
  kComplete,      ///< the list was complete
  kServerEnded,   ///< the server ended the watch in order
  kShortLived,    ///< so did it, but so soon that asking again at once would be a hot loop
  kCut,           ///< the connection broke after the head of the answer
  kSilent,        ///< no byte for too long on a connection that had answered
  kNoAnswer,      ///< the server took the request and said nothing at all
  kUnmarked,      ///< a streamed list whose end mark does not come
  kExpired,       ///< 410: the resourceVersion is gone
  kGarbled,       ///< an event that cannot be read, or an error event
  kStuck,         ///< kBusy several times at one resourceVersion
  kRejected,      ///< 400, 422 and other answers that say that the request is wrong
  kNoWatch,       ///< 405: this kind can be listed only
  kRenewed,       ///< 401, and there is a newer credential now
  kUnauthorized,  ///< 401, and there is none
  kForbidden,     ///< 403
  kGone,          ///< 404: the kind is not served (any more)
  kBusy,          ///< 429, 5xx
  kUnreachable,   ///< no connection
  kAsked,         ///< somebody wants a new list
  kStopped,
};
inline constexpr std::size_t kEndings = static_cast<std::size_t>(Ending::kStopped) + 1;

/// How long to wait before the next step.
enum class Pause : std::uint8_t {
  kNone,
  kBrief,    ///< up to the first back-off: many reflectors must not come back at one instant
  kBackoff,  ///< growing, at least what Retry-After asks for
  kLong,     ///< the time that a watch would have lasted
};

struct Move {
  Step next = Step::kStop;
  Pause pause = Pause::kNone;
  /// The error is shown, and the pause is the state `waiting`. Else this belongs to normal life.
  bool shown = false;
};

/// Names for logs.
std::string_view to_string(Step step);
std::string_view to_string(Ending ending);

/// `step`: the one that ended (a streamed list behind its end mark is a watch). A next step
/// kListStream is a paginated list where streams are not worth asking for.
Move next_move(Step step, Ending ending);
/// What a step looks like from outside.
ReflectorState state_of(Step step);

}  // namespace kollect::kube
