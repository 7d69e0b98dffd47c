// From references to sinks to backends that can be written to (spec: runtime 9.9).
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/context.h"
#include "base/result.h"
#include "exporter/exporter.h"
#include "manager/leader/fence.h"
#include "manager/object_cache.h"
#include "manager/secret_reader.h"
#include "manager/telemetry/telemetry.h"
#include "sinks/factory.h"

namespace kollect::manager {

/// The caches of the three sink kinds.
struct SinkCaches {
  const ObjectCache<api::SnapshotSink>& snapshot;
  const ObjectCache<api::DatabaseSink>& database;
  const ObjectCache<api::EventSink>& event;
};

/// A sink that an inventory refers to.
struct SinkName {
  std::string family;  ///< "snapshot", "database", "event"
  std::string ns;
  std::string name;
  [[nodiscard]] std::string binding() const { return family + "/" + name; }
  [[nodiscard]] std::string text() const { return family + "/" + ns + "/" + name; }
  bool operator==(const SinkName&) const = default;
};

struct ResolvedSink {
  SinkName name;
  std::string identity;  ///< uid, spec and secrets: another text is another backend
  std::string cluster;
  std::string interval;  ///< spec.exportMinInterval, may be empty
  std::function<base::Result<std::shared_ptr<exporter::SharedSink>>(const base::Context&)> open;
  std::string type;       ///< "postgres"
  bool insecure = false;  ///< spec.tls.insecureSkipVerify
  /// A backend of its own, which waits for no export and shares nothing.
  std::function<base::Result<std::unique_ptr<sinks::Sink>>()> make;
  std::function<void(bool good)> probed;  ///< counts a probe
};

/// Backends are built at the first use and shared by all inventories that name the sink, as long as
/// sink and secrets are the same. All of them are behind the fences, and their passes are
/// counted. Thread-safe.
class SinkRegistry {
 public:
  /// `watch_namespaces`: those that are read; empty: all.
  SinkRegistry(SinkCaches caches, SecretReader& secrets, const base::Clock& clock,
               sinks::SinkOptions options, std::vector<std::string> watch_namespaces,
               const Fences& fences, Telemetry& telemetry)
      : caches_(caches),
        secrets_(secrets),
        clock_(clock),
        options_(std::move(options)),
        watch_namespaces_(std::move(watch_namespaces)),
        fences_(fences),
        telemetry_(telemetry) {}

  /// Errors carry the condition's reason (spec: runtime 7.3): SinkNotFound, SinkForbidden (the
  /// operator may not read it), SinkLookupFailed, SinkUnreachable (a probe found it broken),
  /// SecretResolveFailed.
  base::Result<ResolvedSink> resolve(const base::Context& context, const SinkName& name) {
    return resolve_for(context, name, Purpose::kExport);
  }
  /// For probes and clean-ups: an earlier probe that failed does not count, and Secrets are
  /// as the server has them now. Errors: as above, and those of reading a Secret.
  base::Result<ResolvedSink> resolve_anyway(const base::Context& context, const SinkName& name) {
    return resolve_for(context, name, Purpose::kAnyway);
  }
  /// The sinks that refer to a Secret, whether that resolves or not.
  [[nodiscard]] std::vector<SinkName> users_of(const std::string& ns,
                                               const std::string& name) const;
  /// The first list of these sinks is on its way still: what is not known may well be there.
  /// `family`: "": of any.
  [[nodiscard]] bool waiting(std::string_view family, const std::string& ns) const;
  /// No kind of sink can be read: nothing can be exported.
  [[nodiscard]] std::optional<base::Error> unavailable() const;
  /// Closes backends of sinks that are gone or unused for two days.
  void tidy();

 private:
  struct Parts;
  enum class Purpose { kExport, kAnyway };
  struct Backend {
    std::string identity;
    std::shared_ptr<exporter::SharedSink> sink;
    base::SteadyTime used_at;
  };
  template <class T>
  base::Result<ResolvedSink> resolve_in(const base::Context& context, const SinkName& name,
                                        const ObjectCache<T>& cache, Purpose purpose);
  base::Result<ResolvedSink> resolve_for(const base::Context& context, const SinkName& name,
                                         Purpose purpose);
  base::Result<std::shared_ptr<exporter::SharedSink>> open(
      const SinkName& name, const std::string& identity, const std::string& type,
      const std::function<base::Result<std::unique_ptr<sinks::Sink>>()>& make);

  SinkCaches caches_;
  SecretReader& secrets_;
  const base::Clock& clock_;
  sinks::SinkOptions options_;
  std::vector<std::string> watch_namespaces_;
  const Fences& fences_;
  Telemetry& telemetry_;
  std::mutex mutex_;
  std::map<std::string, Backend> backends_;
};

}  // namespace kollect::manager
