// KollectConnectionTest (spec: runtime 7.6).
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "base/result.h"
#include "manager/connection/probe.h"
#include "manager/object_cache.h"
#include "manager/sink_registry.h"
#include "manager/writer.h"

namespace kollect::manager {

/// Looks at one test at a time: probes its sink once per generation, keeps the result in the
/// status, and deletes the test when its time is over. Tests have no finalizer: nothing holds up a
/// deletion. Thread-safe for different keys.
class ConnectionTestController {
 public:
  /// References must outlive it.
  ConnectionTestController(ObjectCache<api::ConnectionTest>& tests, SinkCaches sinks,
                           SinkRegistry& registry, Writer& writer, const base::Clock& clock,
                           const base::Redactor& redactor)
      : tests_(tests),
        sinks_(sinks),
        registry_(registry),
        writer_(writer),
        clock_(clock),
        redactor_(redactor) {}

  /// One pass; the time until the next look, when there is one.
  base::Result<std::optional<base::Duration>> reconcile(const base::Context& context,
                                                        const Key& key);

 private:
  using Ptr = ObjectCache<api::ConnectionTest>::Ptr;
  struct Owner;

  base::Result<std::optional<base::Duration>> run(const base::Context& context, const Ptr& test);
  base::Result<std::optional<base::Duration>> finish(const base::Context& context, const Ptr& test,
                                                     const ProbeOutcome& outcome);
  base::Result<std::optional<base::Duration>> expire(const base::Context& context, const Ptr& test,
                                                     base::WallTime completed);
  [[nodiscard]] std::optional<Owner> owner_of(const SinkName& name) const;
  [[nodiscard]] bool synced(const std::string& ns) const;
  /// A sink that is applied together with the test may come a moment later: time left to wait.
  std::optional<base::Duration> patience(const Ptr& test);
  base::Result<Ptr> with_owner(const base::Context& context, const Ptr& test, const Owner& owner);

  ObjectCache<api::ConnectionTest>& tests_;
  SinkCaches sinks_;
  SinkRegistry& registry_;
  Writer& writer_;
  const base::Clock& clock_;
  const base::Redactor& redactor_;
  std::mutex mutex_;
  /// Generation that was looked at, and since when its sink is missing.
  std::map<Key, std::pair<std::int64_t, base::SteadyTime>> missing_;
};

}  // namespace kollect::manager
