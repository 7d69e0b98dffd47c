// What a server says about itself: versions, groups, resources.
#pragma once

#include <optional>

#include "http/server.h"
#include "sandbox/registry.h"

namespace kollect::sandbox {

/// Answers /version, /api, /apis and below, in the plain and in the aggregated form; none for other
/// paths.
std::optional<http::Answer> discover(const http::ServerRequest& request, const Catalog& catalog);

}  // namespace kollect::sandbox
