#include "manager/connection/conditions.h"

#include "manager/connection/probe.h"

namespace kollect::manager {
namespace {

using base::json::Value;

constexpr const char* kVerified = "ConnectionVerified";
constexpr const char* kInsecure = "TLSInsecure";

std::int64_t int_at(const Value* value) {
  return value != nullptr && value->is_int() ? value->as_int() : 0;
}

/// A result that stays when probes are off: one that passed, asked for by annotation, of the spec
/// as it is. A failure would keep the sink from being used with nobody to take it back.
bool stays(const Value& manifest) {
  const Value* list = manifest.at_path({"status", "conditions"});
  if (list == nullptr || !list->is_array()) return false;
  for (const Value& one : list->as_array()) {
    if (one.text("type") != kVerified) continue;
    return one.text("status") == "True" && int_at(one.find("observedGeneration")) ==
                                               int_at(manifest.at_path({"metadata", "generation"}));
  }
  return false;
}

Told told_of(const base::Error* error) {
  // A Secret that is missing has no event (spec: runtime 7.5).
  const bool tells = error != nullptr && error->reason == kConnectionTestFailed;
  return {.topic = "probe",
          .warning = true,
          .reason = tells ? error->reason : std::string(),
          .message = tells ? error->message : std::string()};
}

}  // namespace

std::vector<Told> set_sink_conditions(StatusDraft& draft, const Value& manifest,
                                      const SinkFacts& facts) {
  if (!facts.insecure) draft.drop(kInsecure);
  switch (facts.test) {
    case SinkFacts::Test::kOff:
      if (!stays(manifest)) draft.drop(kVerified);
      draft.drop("Degraded");
      return {told_of(nullptr)};
    case SinkFacts::Test::kPassed:
      draft.set({.type = kVerified,
                 .status = "True",
                 .reason = "ConnectionOK",
                 .message = facts.message});
      draft.drop("Degraded");
      if (facts.insecure) {
        draft.set({.type = kInsecure,
                   .status = "True",
                   .reason = "InsecureSkipVerify",
                   .message = "the server's certificate is not checked"});
      }
      return {told_of(nullptr)};
    case SinkFacts::Test::kExported:
      draft.set({.type = kVerified,
                 .status = "True",
                 .reason = "ExportSucceeded",
                 .message = "an export has worked since the last probe"});
      draft.drop("Degraded");
      return {told_of(nullptr)};
    case SinkFacts::Test::kFailed:
      break;
  }
  const base::Error& error = *facts.error;
  draft.set(
      {.type = kVerified, .status = "False", .reason = error.reason, .message = error.message});
  draft.set(
      {.type = "Degraded", .status = "True", .reason = error.reason, .message = error.message});
  return {told_of(&error)};
}

void set_test_conditions(StatusDraft& draft, const base::Error* error, const std::string& message) {
  const auto set = [&](const char* type, const char* good) {
    draft.set({.type = type,
               .status = error == nullptr ? "True" : "False",
               .reason = error == nullptr ? good : error->reason,
               .message = error == nullptr ? message : error->message});
  };
  set(kVerified, "ConnectionOK");
  set("Ready", "ProbeSucceeded");
}

}  // namespace kollect::manager
