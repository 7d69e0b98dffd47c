#include "manager/connection/sink_controller.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "manager/upkeep.h"
#include "sinks/preview.h"

namespace kollect::manager {

using base::json::Object;
using base::json::Value;

namespace {

constexpr const char* kTestAnnotation = "kollect.dev/test-connection";
constexpr const char* kPreviewAnnotation = "kollect.dev/preview";
constexpr const char* kRequestedAt = "kollect.dev/requestedAt";

std::string annotation(const api::Metadata& meta, const char* key) {
  const auto it = meta.annotations.find(key);
  return it != meta.annotations.end() ? it->second : std::string();
}

bool asked_by_annotation(const api::Metadata& meta) {
  return base::to_lower(annotation(meta, kTestAnnotation)) == "true";
}

/// status.preview while the annotation asks for it. One that says the same stays as it is, with the
/// time at which it was made.
template <class T>
void set_preview(StatusDraft& draft, const Cached<T>& sink, base::WallTime now) {
  const auto wanted = base::to_lower(base::trim(annotation(sink.meta(), kPreviewAnnotation)));
  if (wanted != "true" || sink.problem) {
    draft.set_field("preview", Value());
    return;
  }
  Object fresh = sinks::preview(sink.object);
  if (const Value* shown = draft.field("preview"); shown != nullptr && shown->is_object()) {
    Object before = shown->as_object();
    before.erase("renderedAt");
    if (Value(std::move(before)) == Value(fresh)) return;
  }
  fresh.set("renderedAt", base::format_rfc3339_seconds(now));
  draft.set_field("preview", std::move(fresh));
}

SinkFacts::Test test_of(const ProbeRecord& record) {
  return record.exported ? SinkFacts::Test::kExported
         : record.error  ? SinkFacts::Test::kFailed
                         : SinkFacts::Test::kPassed;
}

}  // namespace

template <class T>
base::Result<ProbeOutcome> SinkController<T>::outcome_of(
    const base::Context& context, const base::Result<ResolvedSink>& sink) const {
  if (sink) return probe(context, *sink, redactor_);
  KL_ASSIGN(ProbeOutcome outcome, unresolved(sink.error(), redactor_));
  return outcome;
}

template <class T>
base::Result<> SinkController<T>::test(const base::Context& context, const Ptr& sink,
                                       ProbeRecord& record) {
  const Key key = sink->key();
  const auto resolved =
      registry_.resolve_anyway(context, {.family = family_, .ns = key.ns, .name = key.name});
  // What a pass is asked for with, the spec, and the Secrets: each is a reason to probe at once.
  const std::string stamp =
      fmt::format("{} {} {}", sink->meta().generation, annotation(sink->meta(), kRequestedAt),
                  resolved ? resolved->identity : "unresolved: " + resolved.error().message);
  if (record.stamp == stamp && clock_.steady_now() < record.next) return {};
  KL_ASSIGN(ProbeOutcome outcome, outcome_of(context, resolved));
  if (record.stamp != stamp) record.failures = 0;
  record.stamp = stamp;
  record.message = std::move(outcome.message);
  record.exported = false;
  record.ended = clock_.now();
  base::Duration wait = times_.refresh;
  if (outcome.error) {
    wait = times_.first_retry;
    for (std::uint32_t i = 0; i < record.failures && wait < times_.last_retry; ++i) wait *= 2;
    wait = std::min(wait, times_.last_retry);
    ++record.failures;
  } else {
    record.failures = 0;
  }
  record.error = std::move(outcome.error);
  record.next = clock_.steady_now() + wait;
  return {};
}

template <class T>
base::Duration SinkController<T>::wait_of(const ProbeRecord& record) const {
  const base::Duration wait =
      std::max<base::Duration>(record.next - clock_.steady_now(), base::Duration::zero());
  return record.error ? std::min(wait, times_.look) : wait;
}

template <class T>
bool SinkController<T>::exported(const Key& key, base::WallTime when) {
  const std::scoped_lock lock(mutex_);
  const auto it = records_.find(key);
  if (it == records_.end()) return false;
  ProbeRecord& record = it->second;
  if (!record.error || when <= record.ended) return false;
  record.error.reset();
  record.exported = true;
  record.failures = 0;
  record.next = clock_.steady_now() + times_.refresh;
  return true;
}

template <class T>
void SinkController<T>::forget(const std::function<bool(const Key&)>& goes) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(records_, [&](const auto& record) { return goes(record.first); });
}

template <class T>
base::Result<> SinkController<T>::drop_annotation(const base::Context& context, const Key& key) {
  const Ptr sink = cache_.get(key);
  if (!sink || !asked_by_annotation(sink->meta())) return {};
  const Subject subject = subject_of(kind_, sink->manifest);
  if (!writer_.may_write(subject)) return {};
  Object annotations;
  annotations.set(kTestAnnotation, Value());
  Object metadata;
  metadata.set("annotations", std::move(annotations));
  KL_ASSIGN(Value changed, writer_.patch_metadata(context, subject, std::move(metadata)));
  cache_.put(std::move(changed));
  return {};
}

template <class T>
base::Result<std::optional<base::Duration>> SinkController<T>::reconcile(
    const base::Context& context, const Key& key) {
  const auto forget = [&] {
    const std::scoped_lock lock(mutex_);
    records_.erase(key);
  };
  const Ptr sink = cache_.get(key);
  if (!sink || sink->deleting()) {
    forget();
    return std::optional<base::Duration>();
  }
  const bool always = sink->object.spec.connection_test.value_or(true);
  const bool wanted = always || asked_by_annotation(sink->meta());
  const auto& tls = sink->object.spec.tls;
  SinkFacts facts{.insecure = tls && tls->insecure_skip_verify.value_or(false)};
  std::optional<base::Duration> next;
  if (wanted) {
    ProbeRecord record;
    {
      const std::scoped_lock lock(mutex_);
      record = records_[key];
    }
    KL_TRY(test(context, sink, record));
    facts.test = test_of(record);
    facts.error = record.error;
    facts.message = record.message;
    next = wait_of(record);
    const std::scoped_lock lock(mutex_);
    records_[key] = std::move(record);
  } else {
    forget();
  }
  StatusDraft draft(sink->manifest, clock_.now());
  draft.without_generation();
  set_preview(draft, *sink, clock_.now());
  const Subject subject = subject_of(kind_, sink->manifest);
  tell(context, writer_, subject, set_sink_conditions(draft, sink->manifest, facts));
  KL_TRY(write_status(context, writer_, cache_, subject, draft));
  if (wanted && !always && facts.test != SinkFacts::Test::kFailed) {
    KL_TRY(drop_annotation(context, key));
    next.reset();
  }
  return next;
}

template class SinkController<api::SnapshotSink>;
template class SinkController<api::DatabaseSink>;
template class SinkController<api::EventSink>;

}  // namespace kollect::manager
