// /openapi/v3: enough for kubectl to know that the server checks fields, and the schemas of custom
// kinds for `kubectl explain`.
#pragma once

#include <optional>

#include "http/server.h"
#include "sandbox/registry.h"

namespace kollect::sandbox {

std::optional<http::Answer> open_api(const http::ServerRequest& request, const Catalog& catalog);

}  // namespace kollect::sandbox
