// Bodies in the binary form that kubectl sends for some kinds
// (application/vnd.kubernetes.protobuf).
#pragma once

#include <string_view>

#include "base/json/value.h"
#include "sandbox/status.h"

namespace kollect::sandbox {

/// The manifest in a body: the four bytes "k8s\0", then runtime.Unknown around the object. Known
/// are the kinds and fields that kubectl's `create`, `scale` and `auth` commands write; anything
/// else is refused with 415 rather than lost. Field numbers: the .proto files of the Kubernetes
/// API.
Outcome<base::json::Value> read_protobuf(std::string_view body);

}  // namespace kollect::sandbox
