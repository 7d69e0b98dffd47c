// The loop of `kollect top` in a terminal.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "cli/invocation.h"
#include "top/feed.h"

namespace kollect::top {

/// Until somebody presses q, asks for the stop, or the terminal goes away. The feed is asked on a
/// thread of its own, so that keys are heeded meanwhile; its errors are shown and it is asked
/// again. Error: configuration (no terminal).
base::Result<> run_live(const cli::Invocation& invocation, Feed& feed, base::Duration interval);

}  // namespace kollect::top
