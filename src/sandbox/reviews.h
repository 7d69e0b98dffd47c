// Questions that are answered and not kept: who am I, may I.
#pragma once

#include "sandbox/access.h"
#include "sandbox/call.h"

namespace kollect::sandbox {

/// Fills in the status of a TokenReview, SubjectAccessReview and their kin.
Outcome<base::json::Value> review(const Call& call, const Identity& asking, const Access& access,
                                  base::json::Value object);

}  // namespace kollect::sandbox
