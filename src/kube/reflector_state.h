// The moves of a reflector as a table: what follows from how a step ended.
#pragma once

#include <string_view>

#include "kube/reflector.h"

namespace kollect::kube {

/// What the reflector does next.
enum class Step {
  kListStream,   ///< a list streamed by a watch that goes on afterwards
  kListPages,    ///< a paginated list
  kWatch,        ///< a watch from the last resourceVersion
  kWaitToList,   ///< back-off, then a list
  kWaitToWatch,  ///< back-off, then a watch from the last resourceVersion
  kStop,
};

/// How a step ended.
enum class Ending {
  kComplete,     ///< a paginated list was complete
  kServerEnded,  ///< the server ended the watch in order, or the connection was cut between events
  kShortLived,   ///< the same, but so soon that asking again at once would be a hot loop
  kSilent,       ///< no byte for too long
  kExpired,      ///< 410: the resourceVersion is gone
  kGarbled,      ///< an event that cannot be read, or an error event
  kNotOffered,   ///< the server refuses streamed lists, or never marks their end
  kNoEnd,        ///< a streamed list broke off before its end mark
  kRefused,      ///< 401, 403, 404, or any other answer that only a change elsewhere can mend
  kBusy,         ///< 429, 5xx, unreachable, time limit
  kStopped,
};
std::string_view to_string(Step step);
std::string_view to_string(Ending ending);

/// `step`: the one that ended (kListStream after its end mark counts as kWatch).
Step next_step(Step step, Ending ending);
/// What a step looks like from outside.
ReflectorState state_of(Step step);

}  // namespace kollect::kube
