// What the API server asks and is answered: AdmissionReview of admission.k8s.io/v1 (spec: crds 4).
#pragma once

#include <string>
#include <string_view>

#include "admission/admission.h"
#include "http/server.h"

namespace kollect::webhook {

/// "/validate-kollect-dev-v1alpha1-kollecttarget" for KollectTarget.
std::string path_of(std::string_view kind);

/// Answers a request of the API server. Whatever is being deleted is let through. Status 404, 405
/// or 400 when it is no question about the kind of its path; never an exception.
http::Answer answer(const http::ServerRequest& request, const admission::Lookup& lookup,
                    const admission::Settings& settings);

}  // namespace kollect::webhook
