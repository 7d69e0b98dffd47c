#include "manager/connection/probe.h"

#include <chrono>

#include <fmt/format.h>

namespace kollect::manager {
namespace {

constexpr base::Duration kDeadline = std::chrono::seconds(15);

base::Error named(const base::Error& error, const char* reason, const base::Redactor& redactor) {
  return {.kind = error.kind, .reason = reason, .message = redactor.redact(error.message)};
}

/// A Secret without what the sink needs is the Secret's fault.
const char* reason_of(const base::Error& error) {
  return error.reason == "bad-secret" || error.reason == kSecretResolveFailed
             ? kSecretResolveFailed
             : kConnectionTestFailed;
}

}  // namespace

base::Result<ProbeOutcome> unresolved(const base::Error& error, const base::Redactor& redactor) {
  if (error.reason == kSinkNotFound) return ProbeOutcome{.error = error};
  if (error.kind != base::ErrorKind::kConfiguration) return error;
  return ProbeOutcome{.error = named(error, reason_of(error), redactor)};
}

base::Result<ProbeOutcome> probe(const base::Context& context, const ResolvedSink& sink,
                                 const base::Redactor& redactor) {
  const auto made = sink.make();
  if (!made) {
    sink.probed(false);
    return ProbeOutcome{.error = named(made.error(), reason_of(made.error()), redactor)};
  }
  const base::SteadyTime begin = context.clock().steady_now();
  const auto answer = (*made)->probe(context.with_timeout(kDeadline));
  ProbeOutcome outcome{.took = context.clock().steady_now() - begin};
  if (answer) {
    sink.probed(true);
    outcome.message = fmt::format("{} answered", sink.type);
    return outcome;
  }
  KL_TRY(context.check());
  sink.probed(false);
  outcome.error = named(answer.error(), kConnectionTestFailed, redactor);
  return outcome;
}

}  // namespace kollect::manager
