// The scale subresource: autoscaling/v1 Scale over spec.replicas.
#pragma once

#include "sandbox/call.h"
#include "sandbox/reader.h"
#include "sandbox/writer.h"

namespace kollect::sandbox {

/// Answers get, update and patch of the scale of an object.
Outcome<http::Answer> scale(const Call& call, Writer& writer, const Reader& reader);

}  // namespace kollect::sandbox
