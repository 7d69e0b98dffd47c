#include "manager/connection/test_controller.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/format.h>

#include "manager/connection/conditions.h"
#include "manager/upkeep.h"

namespace kollect::manager {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

constexpr const char* kKind = "KollectConnectionTest";
constexpr base::Duration kPatience = std::chrono::seconds(2);
constexpr base::Duration kLookAgainSoon = std::chrono::seconds(1);
constexpr std::int64_t kDefaultTtl = 300;

/// The one sink that a test names. Error: none or several, reason InvalidSinkRef.
base::Result<SinkName> sink_of(const Cached<api::ConnectionTest>& test) {
  const auto invalid = [](const std::string& why) {
    return base::configuration(why, "InvalidSinkRef");
  };
  if (test.problem) return invalid(test.problem->message);
  const api::ConnectionTestSinkRef& ref = test.object.spec.sink_ref;
  std::vector<SinkName> named;
  const auto add = [&](const char* family, const std::string& name) {
    if (!name.empty()) named.push_back({.family = family, .ns = test.meta().ns, .name = name});
  };
  add("snapshot", ref.snapshot_sink_ref);
  add("database", ref.database_sink_ref);
  add("event", ref.event_sink_ref);
  if (named.size() == 1) return named.front();
  return invalid(fmt::format(
      "spec.sinkRef names {}; it must name one of snapshotSinkRef, databaseSinkRef, eventSinkRef",
      named.empty() ? "no sink" : "several sinks"));
}

/// When the run of this generation ended; none: it is still to be made.
std::optional<base::WallTime> completed_at(const Cached<api::ConnectionTest>& test) {
  const Value* status = test.manifest.find("status");
  if (status == nullptr) return std::nullopt;
  const Value* completed = status->find("completed");
  const Value* generation = status->find("observedGeneration");
  if (completed == nullptr || !completed->is_bool() || !completed->as_bool()) return std::nullopt;
  if (generation == nullptr || !generation->is_int() ||
      generation->as_int() != test.meta().generation) {
    return std::nullopt;
  }
  const auto time = base::parse_rfc3339(status->text("completedAt"));
  return time ? std::optional(*time) : std::nullopt;
}

bool is_controller(const Value& reference) {
  const Value* controls = reference.find("controller");
  return controls != nullptr && controls->is_bool() && controls->as_bool();
}

bool is_sink(const Value& reference) {
  const auto kind = reference.text("kind");
  return reference.text("apiVersion") == api::kApiVersion &&
         (kind == "KollectSnapshotSink" || kind == "KollectDatabaseSink" ||
          kind == "KollectEventSink");
}

}  // namespace

/// What an owner reference says of a sink.
struct ConnectionTestController::Owner {
  std::string kind;
  std::string name;
  std::string uid;
};

std::optional<ConnectionTestController::Owner> ConnectionTestController::owner_of(
    const SinkName& name) const {
  const auto look = [&](const char* kind, const auto& cache) -> std::optional<Owner> {
    const auto sink = cache.get({name.ns, name.name});
    if (!sink || sink->deleting()) return std::nullopt;
    return Owner{.kind = kind, .name = name.name, .uid = sink->meta().uid};
  };
  if (name.family == "snapshot") return look("KollectSnapshotSink", sinks_.snapshot);
  if (name.family == "database") return look("KollectDatabaseSink", sinks_.database);
  return look("KollectEventSink", sinks_.event);
}

bool ConnectionTestController::synced(const std::string& ns) const {
  return sinks_.snapshot.synced(ns) && sinks_.database.synced(ns) && sinks_.event.synced(ns);
}

std::optional<base::Duration> ConnectionTestController::patience(const Ptr& test) {
  const base::SteadyTime now = clock_.steady_now();
  const std::scoped_lock lock(mutex_);
  const auto [it, fresh] = missing_.try_emplace(test->key(), test->meta().generation, now);
  if (!fresh && it->second.first != test->meta().generation) {
    it->second = {test->meta().generation, now};
  }
  const base::Duration left = it->second.second + kPatience - now;
  return left > base::Duration::zero() ? std::optional(left) : std::nullopt;
}

base::Result<ConnectionTestController::Ptr> ConnectionTestController::with_owner(
    const base::Context& context, const Ptr& test, const Owner& owner) {
  Array list;
  if (const Value* before = test->manifest.at_path({"metadata", "ownerReferences"});
      before != nullptr && before->is_array()) {
    for (const Value& one : before->as_array()) {
      if (one.text("uid") == owner.uid) return test;
      // The sink of an earlier spec lets go; somebody else's test stays theirs.
      if (is_sink(one) && is_controller(one)) continue;
      if (is_controller(one)) return test;
      list.push_back(one);
    }
  }
  Object reference;
  reference.set("apiVersion", api::kApiVersion);
  reference.set("controller", true);
  reference.set("kind", owner.kind);
  reference.set("name", owner.name);
  reference.set("uid", owner.uid);
  list.emplace_back(std::move(reference));
  Object metadata;
  metadata.set("ownerReferences", std::move(list));
  KL_ASSIGN(Value changed, writer_.patch_metadata(context, subject_of(kKind, test->manifest),
                                                  std::move(metadata)));
  tests_.put(std::move(changed));
  return tests_.get(test->key());
}

base::Result<std::optional<base::Duration>> ConnectionTestController::expire(
    const base::Context& context, const Ptr& test, base::WallTime completed) {
  const std::int64_t seconds = test->object.spec.ttl_seconds_after_finished.value_or(kDefaultTtl);
  const base::Duration left = completed + std::chrono::seconds(seconds) - clock_.now();
  if (left > base::Duration::zero()) return std::optional(left);
  KL_TRY(writer_.remove(context, subject_of(kKind, test->manifest)));
  return std::optional<base::Duration>();
}

base::Result<std::optional<base::Duration>> ConnectionTestController::finish(
    const base::Context& context, const Ptr& test, const ProbeOutcome& outcome) {
  const base::WallTime now = clock_.now();
  StatusDraft draft(test->manifest, now);
  draft.set_field("completed", true);
  draft.set_field("completedAt", base::format_rfc3339_seconds(now));
  draft.set_field(
      "latencyMs",
      outcome.took
          ? Value(static_cast<std::int64_t>(
                std::chrono::duration_cast<std::chrono::milliseconds>(*outcome.took).count()))
          : Value());
  set_test_conditions(draft, outcome.error ? &*outcome.error : nullptr, outcome.message);
  KL_TRY(write_status(context, writer_, tests_, subject_of(kKind, test->manifest), draft));
  return expire(context, test, std::chrono::floor<std::chrono::seconds>(now));
}

base::Result<std::optional<base::Duration>> ConnectionTestController::run(
    const base::Context& context, const Ptr& test) {
  const auto name = sink_of(*test);
  if (!name) return finish(context, test, {.error = name.error()});
  const auto owner = owner_of(*name);
  if (!owner) {
    if (const auto wait = patience(test)) return std::optional(*wait);
    return finish(context, test,
                  {.error = base::not_found(fmt::format("there is no sink {}", name->text()),
                                            kSinkNotFound)});
  }
  Ptr kept = test;
  if (test->object.spec.owner_sink.value_or(true)) {
    KL_ASSIGN(kept, with_owner(context, test, *owner));
    if (!kept) return std::optional<base::Duration>();
  }
  const auto sink = registry_.resolve_anyway(context, *name);
  ProbeOutcome outcome;
  if (sink) {
    KL_ASSIGN(outcome, probe(context, *sink, redactor_));
  } else {
    KL_ASSIGN(outcome, unresolved(sink.error(), redactor_));
  }
  return finish(context, kept, outcome);
}

base::Result<std::optional<base::Duration>> ConnectionTestController::reconcile(
    const base::Context& context, const Key& key) {
  const Ptr test = tests_.get(key);
  if (!test || test->deleting()) {
    const std::scoped_lock lock(mutex_);
    missing_.erase(key);
    return std::optional<base::Duration>();
  }
  if (const auto completed = completed_at(*test)) return expire(context, test, *completed);
  if (!synced(key.ns)) return std::optional(kLookAgainSoon);
  return run(context, test);
}

}  // namespace kollect::manager
