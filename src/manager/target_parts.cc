#include "manager/target_parts.h"

#include <fmt/format.h>

namespace kollect::manager {

using base::json::Array;
using base::json::Value;

namespace {
constexpr const char* kFailed = "InformerRegistrationFailed";
}

base::Error unreadable(base::Error problem) {
  problem.reason = kFailed;
  return problem;
}

Value strings(const std::vector<std::string>& list) {
  if (list.empty()) return {};
  Array array;
  for (const std::string& one : list) array.emplace_back(one);
  return {std::move(array)};
}

base::Result<select::Selection> compile_selection(const select::Filter& filter,
                                                  const api::GroupVersionKind& profile_kind) {
  auto selection = select::Selection::compile(filter, profile_kind);
  if (selection) return selection;
  base::Error error = selection.error();
  error.reason = kFailed;
  return error;
}

base::Result<extract::Program> compile_program(const Cached<api::Profile>& profile,
                                               const std::vector<api::ResourceRule>& rules,
                                               const extract::Options& options) {
  extract::Program::CompileInput input;
  input.spec = &profile.object.spec;
  input.annotations = profile.meta().annotations;
  input.options = options;
  for (const api::ResourceRule& rule : rules) input.rule_kinds.push_back(rule.gvk);
  auto program = extract::Program::compile(input);
  if (program) return std::move(*program);
  const auto& first = program.error().front();
  return base::configuration(
      fmt::format("profile {}: {}: {}", profile.meta().name, first.field, first.message), kFailed);
}

std::string fingerprint_of(const api::Metadata& target, const Cached<api::Profile>& profile) {
  std::string text = fmt::format("{} {}\n{} {}\n", target.uid, target.generation,
                                 profile.meta().uid, profile.meta().generation);
  for (const auto& [key, value] : profile.meta().annotations) {
    if (key.starts_with("kollect.dev/")) text += key + "=" + value + "\n";
  }
  return text;
}

base::Result<select::Namespaces> named_namespaces(const select::Selection& selection,
                                                  const std::string& own,
                                                  const base::Error& why_unknown) {
  if (selection.uses_namespace_selectors()) {
    return base::configuration(
        fmt::format("namespaces are chosen by labels, but cannot be listed and watched: {}",
                    why_unknown.message),
        kFailed);
  }
  select::Namespaces named;
  for (const std::string& name : selection.included_namespaces()) {
    named[name] = {.name = name, .labels = {}, .annotations = {}};
  }
  if (named.empty() && !own.empty()) named[own] = {.name = own, .labels = {}, .annotations = {}};
  return named;
}

std::optional<bool> cluster_scoped_only(const collector::Collector& collector,
                                        const std::vector<api::GroupVersionKind>& kinds) {
  for (const api::GroupVersionKind& kind : kinds) {
    const auto found = collector.find_kind(kind);
    if (!found) {
      if (found.error().reason == "discovery-pending") return std::nullopt;
      return false;
    }
    if (found->resource.namespaced) return false;
  }
  return !kinds.empty();
}

std::optional<base::Error> cluster_kinds_denied(const collector::Collector& collector,
                                                const std::vector<api::GroupVersionKind>& kinds,
                                                const ScopeRules* rules) {
  for (const api::GroupVersionKind& kind : kinds) {
    if (rules != nullptr && rules->names_kind(kind)) continue;
    const auto found = collector.find_kind(kind);
    if (!found) {
      if (found.error().reason == "discovery-pending") return found.error();
      return unreadable(found.error());
    }
    if (found->resource.namespaced) continue;
    return base::configuration(
        fmt::format("the kind {} has no namespaces, so {} has to name it in allowedGVKs",
                    kind_text(kind), rules != nullptr ? "scope " + rules->name : "a scope"),
        "ScopeGVKDenied");
  }
  return std::nullopt;
}

TargetStanding take_signals(const collector::Signals& signals, TargetFacts& facts,
                            const TargetStanding& before) {
  facts.complete = signals.complete;
  facts.rows = signals.row_count;
  facts.forbidden_namespaces = signals.forbidden_namespaces;
  if (signals.access_check_error) facts.access_check_error = signals.access_check_error->message;
  facts.extraction_failures = signals.extraction_failures;
  facts.last_extraction_error = signals.last_extraction_error;
  using enum TargetPhase;
  TargetStanding now{.phase = kUnknown, .unread = signals.forbidden_namespaces};
  if (!signals.registered) return now;
  // A right that is back is of no use before what it is for was read.
  if (signals.evaluating) add_to(now.unread, before.unread);
  if (!signals.error) {
    const bool returns = signals.evaluating && before.phase == kUnreadable;
    now.phase = !signals.complete ? kUnknown : returns ? kUnreadable : kComplete;
    return now;
  }
  // What was read before stays and is exported; the target says that it does not go on. But the
  // rows of what may not be listed any more have gone from memory: sinks keep what they have.
  const bool refused = signals.error->reason == "forbidden";
  facts.failed = signals.error;
  facts.failed->reason = kFailed;
  now.phase = signals.complete && !refused ? kComplete : kUnreadable;
  return now;
}

}  // namespace kollect::manager
