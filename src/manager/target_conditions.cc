#include "manager/target_conditions.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace kollect::manager {
namespace {

Told degrade(StatusDraft& draft, const std::string& reason, const std::string& message,
             bool with_event) {
  draft.drop("Ready");
  draft.drop("Synced");
  draft.set({.type = "Degraded", .status = "True", .reason = reason, .message = message});
  return {.topic = "state",
          .warning = true,
          .reason = with_event ? reason : std::string(),
          .message = message};
}

bool is_sink_reason(const std::string& reason) {
  return reason == "SinkNotFound" || reason == "SinkForbidden" || reason == "SinkLookupFailed" ||
         reason == "SinkUnreachable" || reason == "InventoryListFailed" ||
         reason == "SecretResolveFailed";
}

/// These are said by an event when they come (spec: runtime 7.1).
bool has_event(const std::string& reason) {
  return reason == "ScopeGVKDenied" || reason == "ScopeNamespaceDenied" ||
         reason == "ScopeResourceExportDenied" || reason == "ProfileForbidden" ||
         reason == "ExtractionFailed" || is_sink_reason(reason);
}

void reachable(StatusDraft& draft, const TargetFacts& facts) {
  if (facts.sink_problem) {
    draft.set({.type = "SinkReachable",
               .status = "False",
               .reason = facts.sink_problem->reason,
               .message = facts.sink_problem->message});
  } else if (facts.sinks == 0) {
    draft.set({.type = "SinkReachable",
               .status = "True",
               .reason = "NoSinksInNamespace",
               .message = "no inventory of the namespace refers to a sink"});
  } else {
    draft.set({.type = "SinkReachable",
               .status = "True",
               .reason = "SinksReachable",
               .message = fmt::format("{} sink{}", facts.sinks, facts.sinks == 1 ? "" : "s")});
  }
}

/// What is wrong, the first of the steps that says so.
std::optional<base::Error> problem_of(const TargetFacts& facts) {
  if (facts.blocked) return facts.blocked;
  if (facts.failed) return facts.failed;
  if (facts.access_check_error) {
    return base::retryable("rights could not be checked: " + *facts.access_check_error,
                           "AccessCheckFailed");
  }
  if (facts.extraction_failures > 0) {
    return base::terminal(
        fmt::format("{} object{} gave no row; the last: {}", facts.extraction_failures,
                    facts.extraction_failures == 1 ? "" : "s", facts.last_extraction_error),
        "ExtractionFailed");
  }
  return facts.sink_problem;
}

}  // namespace

std::vector<Told> set_target_conditions(StatusDraft& draft, const TargetFacts& facts) {
  std::vector<Told> told;
  if (!facts.blocked && !facts.namespaces) reachable(draft, facts);
  if (const auto problem = problem_of(facts)) {
    told.push_back(degrade(draft, problem->reason, problem->message, has_event(problem->reason)));
    return told;
  }
  draft.drop("Degraded");
  if (!facts.complete) {
    draft.set({.type = "Ready",
               .status = "Unknown",
               .reason = "Collecting",
               .message = facts.waiting.empty() ? "the first list is on its way" : facts.waiting});
    draft.drop("Synced");
    return told;
  }
  const std::string message = fmt::format(
      "profile {}: {}{} resource{}", facts.profile,
      facts.namespaces
          ? fmt::format("{} namespace{}, ", *facts.namespaces, *facts.namespaces == 1 ? "" : "s")
          : "",
      facts.rows, facts.rows == 1 ? "" : "s");
  draft.set({.type = "Ready", .status = "True", .reason = "Collecting", .message = message});
  if (facts.forbidden_namespaces.empty()) {
    draft.set({.type = "Synced", .status = "True", .reason = "Collecting", .message = message});
    told.push_back({.topic = "scope", .warning = false, .reason = {}, .message = {}});
  } else {
    const std::string forbidden =
        "not allowed to list in " + base::join(facts.forbidden_namespaces, ", ");
    draft.set(
        {.type = "Synced", .status = "True", .reason = "ScopeForbidden", .message = forbidden});
    told.push_back(
        {.topic = "scope", .warning = true, .reason = "ScopeForbidden", .message = forbidden});
  }
  told.push_back({.topic = "state",
                  .warning = false,
                  .reason = facts.namespaces   ? ""
                            : facts.sinks == 0 ? "NoSinksInNamespace"
                                               : "SinksReachable",
                  .message = message});
  return told;
}

}  // namespace kollect::manager
