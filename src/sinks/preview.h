// What a sink would write, shown without touching a backend (spec: sinks 16.2, crds 3.10).
#pragma once

#include "api/types.h"
#include "base/json/value.h"

namespace kollect::sinks {

/// The members of status.preview but renderedAt, for a sample that is always the same: inventory
/// team-a/api, generation 1, 42 items, and Deployments api, web, cache of team-a. Equal specs give
/// equal previews. What cannot be rendered is told in `warnings`.
base::json::Object preview(const api::SnapshotSink& sink);
base::json::Object preview(const api::DatabaseSink& sink);
base::json::Object preview(const api::EventSink& sink);

}  // namespace kollect::sinks
