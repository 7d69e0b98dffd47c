#include "pipeline/summary.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace kollect::pipeline {
namespace {

using base::json::Array;
using base::json::Object;
using base::json::Value;

Value texts(const std::vector<std::string>& list) {
  Array array;
  for (const std::string& text : list) array.emplace_back(text);
  return Value(std::move(array));
}

Value target_json(const TargetPlan& plan, const TargetResult& target) {
  Object out;
  out.set("namespace", Value(plan.ns));
  out.set("name", Value(plan.name));
  out.set("status", Value(to_string(target.status)));
  out.set("reason", Value(target.reason));
  if (!target.message.empty()) out.set("message", Value(target.message));
  out.set("deniedNamespaces", texts(target.denied_namespaces));
  out.set("objectsSeen", Value(target.data.objects_seen));
  out.set("rows", Value(target.row_count));
  out.set("extractionFailures", Value(target.data.failures.count()));
  const auto& first = target.data.failures.first();
  out.set("firstFailure", first.empty() ? Value()
                                        : Value(fmt::format("{}{}{}: {}", first[0].ns,
                                                            first[0].ns.empty() ? "" : "/",
                                                            first[0].name, first[0].reason)));
  out.set("policyErrors", Value(target.data.policy_errors.count));
  return Value(std::move(out));
}

Value sink_json(const SinkOutcome& sink) {
  Object out;
  out.set("sink", Value(sink.sink));
  out.set("status", Value(sink.error ? "failed" : "ok"));
  out.set("written", Value(sink.report.written));
  out.set("unchanged", Value(sink.report.unchanged));
  out.set("removed", Value(sink.report.removed));
  out.set("bytes", Value(sink.report.bytes));
  out.set("error", sink.error ? Value(sink.error->message) : Value());
  return Value(std::move(out));
}

Value context_json(const Plan& plan, const ContextOutcome& outcome) {
  const ContextResult& result = outcome.result;
  Object out;
  out.set("context", Value(result.context));
  out.set("cluster", Value(result.cluster));
  out.set("status", Value(status_of(outcome)));
  out.set("reason", Value(result.error ? result.error->reason : std::string()));
  out.set("error", result.error ? Value(result.error->message) : Value());
  Array targets;
  for (std::size_t i = 0; i < result.targets.size(); ++i) {
    targets.push_back(target_json(plan.targets[i], result.targets[i]));
  }
  out.set("targets", Value(std::move(targets)));
  Array sinks;
  for (const SinkOutcome& sink : outcome.sinks) sinks.push_back(sink_json(sink));
  out.set("sinks", Value(std::move(sinks)));
  return Value(std::move(out));
}

double seconds(base::Duration duration) {
  constexpr double kMillis = 1000.0;
  return static_cast<double>(
             std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) /
         kMillis;
}

std::string target_text(const TargetPlan& plan, const TargetResult& target) {
  std::string out = fmt::format("  {:<9} {}: {} rows of {} objects", to_string(target.status),
                                plan.title(), target.row_count, target.data.objects_seen);
  if (target.data.failures.count() > 0) {
    out += fmt::format(", {} not extracted", target.data.failures.count());
  }
  if (!target.denied_namespaces.empty()) {
    out += ", denied: " + base::join(target.denied_namespaces, ", ");
  }
  if (!target.reason.empty()) out += " (" + target.reason + ")";
  return out + "\n";
}

}  // namespace

Value summary_json(const RunSummary& summary, const Plan& plan,
                   const std::vector<ContextOutcome>& outcomes) {
  Object out;
  out.set("schema", Value("kollect.dev/summary/v1"));
  out.set("exitCode", Value(summary.exit_code));
  out.set("dryRun", Value(summary.dry_run));
  out.set("startedAt", Value(base::format_rfc3339_seconds(summary.started_at)));
  out.set("seconds", Value(seconds(summary.took)));
  Array contexts;
  for (const ContextOutcome& outcome : outcomes) contexts.push_back(context_json(plan, outcome));
  out.set("contexts", Value(std::move(contexts)));
  out.set("warnings", texts(summary.warnings));
  return Value(std::move(out));
}

std::string summary_text(const RunSummary& summary, const Plan& plan,
                         const std::vector<ContextOutcome>& outcomes) {
  std::string out;
  for (const ContextOutcome& outcome : outcomes) {
    const ContextResult& result = outcome.result;
    out += fmt::format("{}: {}{}\n", result.context, status_of(outcome),
                       result.error ? ": " + result.error->message : "");
    for (std::size_t i = 0; i < result.targets.size(); ++i) {
      out += target_text(plan.targets[i], result.targets[i]);
    }
    for (const SinkOutcome& sink : outcome.sinks) {
      out += sink.error ? fmt::format("  -> {}: failed: {}\n", sink.sink, sink.error->message)
                        : fmt::format("  -> {}: {} written, {} unchanged, {} removed, {} bytes\n",
                                      sink.sink, sink.report.written, sink.report.unchanged,
                                      sink.report.removed, sink.report.bytes);
    }
  }
  return out + fmt::format("{}{:.1f} s, exit code {}\n", summary.dry_run ? "dry run, " : "",
                           seconds(summary.took), summary.exit_code);
}

}  // namespace kollect::pipeline
