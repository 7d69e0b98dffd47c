// The three sink kinds: probes of their backends, and previews of what would be written (spec:
// runtime 7.5). Exports are not made here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "base/result.h"
#include "manager/connection/conditions.h"
#include "manager/connection/probe.h"
#include "manager/object_cache.h"
#include "manager/sink_registry.h"
#include "manager/writer.h"

namespace kollect::manager {

/// When a sink is probed again.
struct ProbeTimes {
  base::Duration first_retry = std::chrono::seconds(30);
  base::Duration last_retry = std::chrono::minutes(10);
  base::Duration refresh = std::chrono::minutes(10);
  /// Secrets of a sink that failed are looked at so often: another content is probed at once.
  base::Duration look = std::chrono::seconds(30);
};

/// What the controller knows of a sink's last probe.
struct ProbeRecord {
  std::string stamp;  ///< of what was probed: another text is probed anew
  std::optional<base::Error> error;
  std::string message;
  bool exported = false;  ///< a failure that an export has proved wrong
  base::WallTime ended{};
  base::SteadyTime next{};
  std::uint32_t failures = 0;  ///< in a row
};

/// Looks at one sink of a family at a time: api::SnapshotSink, api::DatabaseSink or api::EventSink.
/// Thread-safe for different keys.
template <class T>
class SinkController {
 public:
  /// `family` as in SinkName. References must outlive it.
  SinkController(std::string kind, std::string family, ObjectCache<T>& cache,
                 SinkRegistry& registry, Writer& writer, const base::Clock& clock,
                 const base::Redactor& redactor, ProbeTimes times = {})
      : kind_(std::move(kind)),
        family_(std::move(family)),
        cache_(cache),
        registry_(registry),
        writer_(writer),
        clock_(clock),
        redactor_(redactor),
        times_(times) {}

  /// One pass; the time until the next look, when there is one.
  base::Result<std::optional<base::Duration>> reconcile(const base::Context& context,
                                                        const Key& key);
  /// An export to the sink has worked at that time. True: this is news, the sink should be looked
  /// at.
  bool exported(const Key& key, base::WallTime when);
  /// What is known of those is not true any more: others look at them from now on.
  void forget(const std::function<bool(const Key&)>& goes);

 private:
  using Ptr = typename ObjectCache<T>::Ptr;

  base::Result<> test(const base::Context& context, const Ptr& sink, ProbeRecord& record);
  base::Result<ProbeOutcome> outcome_of(const base::Context& context,
                                        const base::Result<ResolvedSink>& sink) const;
  base::Result<> drop_annotation(const base::Context& context, const Key& key);
  [[nodiscard]] base::Duration wait_of(const ProbeRecord& record) const;

  const std::string kind_;
  const std::string family_;
  ObjectCache<T>& cache_;
  SinkRegistry& registry_;
  Writer& writer_;
  const base::Clock& clock_;
  const base::Redactor& redactor_;
  const ProbeTimes times_;
  std::mutex mutex_;
  std::map<Key, ProbeRecord> records_;
};

extern template class SinkController<api::SnapshotSink>;
extern template class SinkController<api::DatabaseSink>;
extern template class SinkController<api::EventSink>;

}  // namespace kollect::manager
