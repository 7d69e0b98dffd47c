#include "manager/sink_registry.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/json/write.h"
#include "sinks/credentials.h"

namespace kollect::manager {
namespace {

constexpr base::Duration kKeepUnused = std::chrono::hours(48);
constexpr const char* kSecretReason = "SecretResolveFailed";

base::Result<std::unique_ptr<sinks::Sink>> make(const api::SnapshotSink& sink,
                                                const sinks::SecretData& auth,
                                                const std::optional<std::string>& ca,
                                                const sinks::SinkOptions& options) {
  return sinks::make_snapshot_sink(sink, auth, ca, options);
}
base::Result<std::unique_ptr<sinks::Sink>> make(const api::DatabaseSink& sink,
                                                const sinks::SecretData& auth,
                                                const std::optional<std::string>& ca,
                                                const sinks::SinkOptions& options) {
  return sinks::make_database_sink(sink, auth, ca, options);
}
base::Result<std::unique_ptr<sinks::Sink>> make(const api::EventSink& sink,
                                                const sinks::SecretData& auth,
                                                const std::optional<std::string>& ca,
                                                const sinks::SinkOptions& options) {
  return sinks::make_event_sink(sink, auth, ca, options);
}

/// Message of a failed probe, when the last one failed.
std::optional<std::string> known_broken(const base::json::Value& manifest) {
  const base::json::Value* list = manifest.at_path({"status", "conditions"});
  if (list == nullptr || !list->is_array()) return std::nullopt;
  for (const base::json::Value& one : list->as_array()) {
    if (one.text("type") == "ConnectionVerified" && one.text("status") == "False") {
      return std::string(one.text("message"));
    }
  }
  return std::nullopt;
}

/// Why a sink that is not known may be there all the same.
base::Error not_read(const SinkName& name, const std::optional<base::Error>& why) {
  if (!why) return base::retryable("sinks are not read yet", "SinkLookupFailed");
  const bool forbidden = why->kind == base::ErrorKind::kDenied;
  return {.kind = why->kind,
          .reason = forbidden ? "SinkForbidden" : "SinkLookupFailed",
          .message = fmt::format("sink {} cannot be read: {}", name.text(), why->message)};
}

base::Result<std::string> ca_in(const SecretState& secret, const std::string& name) {
  for (const char* key : {"tls.crt", "ca.crt", "ca.pem"}) {
    if (const auto it = secret.data.find(key); it != secret.data.end()) return it->second.reveal();
  }
  return base::configuration(
      fmt::format("Secret {} has none of the keys tls.crt, ca.crt, ca.pem", name), kSecretReason);
}

}  // namespace

template <class T>
base::Result<ResolvedSink> SinkRegistry::resolve_in(const base::Context& context,
                                                    const SinkName& name,
                                                    const ObjectCache<T>& cache, Purpose purpose) {
  const auto sink = cache.get({name.ns, name.name});
  if (!sink && !cache.synced(name.ns)) return not_read(name, cache.lookup_error(name.ns));
  if (!sink || sink->deleting()) {
    return base::not_found(fmt::format("there is no sink {}", name.text()), "SinkNotFound");
  }
  if (sink->problem) {
    base::Error error = *sink->problem;
    error.reason = "SinkLookupFailed";
    return error.with_prefix("sink " + name.text());
  }
  const bool anyway = purpose == Purpose::kAnyway;
  if (const auto broken = known_broken(sink->manifest); broken && !anyway) {
    return base::retryable(fmt::format("sink {}: {}", name.text(), *broken), "SinkUnreachable");
  }
  const auto& spec = sink->object.spec;
  const auto place = [&](const api::SecretReference& reference) {
    return sinks::secret_home(reference, name.ns);
  };
  ResolvedSink resolved{
      .name = name,
      .identity = {},
      .cluster = spec.cluster,
      .interval = spec.export_min_interval,
      .open = {},
      .type = spec.type,
      .insecure = spec.tls && spec.tls->insecure_skip_verify.value_or(false),
      .make = {},
      .probed = [this, type = spec.type](bool good) { telemetry_.sink_probed(type, good); }};
  const SecretAge age = anyway ? SecretAge::kNow : SecretAge::kRecent;
  SecretState auth;
  if (const auto reference = sinks::secret_of(spec); reference && !reference->name.empty()) {
    KL_ASSIGN(auth, secrets_.read(context, name.ns, place(*reference), reference->name, age));
  }
  std::optional<std::string> ca;
  std::string ca_version;
  if (spec.tls && !spec.tls->ca_bundle.empty()) {
    auto bundle = base::base64_decode(spec.tls->ca_bundle);
    if (!bundle) return base::configuration("tls.caBundle is not base64", kSecretReason);
    ca = std::move(*bundle);
  } else if (spec.tls && spec.tls->ca_secret_ref) {
    const auto& reference = *spec.tls->ca_secret_ref;
    KL_ASSIGN(const SecretState secret,
              secrets_.read(context, name.ns, place(reference), reference.name, age));
    KL_ASSIGN(ca, ca_in(secret, reference.name));
    ca_version = secret.version;
  }
  const base::json::Value* text = sink->manifest.find("spec");
  resolved.identity =
      fmt::format("{} {} {} {}", sink->meta().uid,
                  base::sha256_hex(text != nullptr ? base::json::canonical(*text) : ""),
                  auth.version, ca_version);
  resolved.make = [this, sink, auth = std::move(auth.data),
                   ca = std::move(ca)]() -> base::Result<std::unique_ptr<sinks::Sink>> {
    KL_ASSIGN(auto made, make(sink->object, auth, ca, options_));
    return sinks::naming_credentials(std::move(made), sinks::credentials_title(sink->object, auth));
  };
  resolved.open = [this, name, type = resolved.type, made = resolved.make,
                   identity = resolved.identity](const base::Context&) {
    return open(name, identity, type, made);
  };
  return resolved;
}

base::Result<ResolvedSink> SinkRegistry::resolve_for(const base::Context& context,
                                                     const SinkName& name, Purpose purpose) {
  if (!watch_namespaces_.empty() &&
      std::ranges::find(watch_namespaces_, name.ns) == watch_namespaces_.end()) {
    return base::denied(
        fmt::format("sink {}: the operator does not read that namespace", name.text()),
        "SinkForbidden");
  }
  auto resolved = name.family == "snapshot"   ? resolve_in(context, name, caches_.snapshot, purpose)
                  : name.family == "database" ? resolve_in(context, name, caches_.database, purpose)
                                              : resolve_in(context, name, caches_.event, purpose);
  if (resolved || !resolved.error().reason.empty()) return resolved;
  base::Error error = resolved.error();
  error.reason = "SinkLookupFailed";
  return error;
}

std::vector<SinkName> SinkRegistry::users_of(const std::string& ns, const std::string& name) const {
  std::vector<SinkName> users;
  const auto look = [&](const char* family, const auto& cache) {
    for (const auto& sink : cache.all()) {
      const auto& spec = sink->object.spec;
      const std::string& home = sink->meta().ns;
      const auto is_it = [&](const std::optional<api::SecretReference>& reference) {
        return reference && reference->name == name && sinks::secret_home(*reference, home) == ns;
      };
      if (is_it(sinks::secret_of(spec)) || (spec.tls && is_it(spec.tls->ca_secret_ref))) {
        users.push_back({.family = family, .ns = home, .name = sink->meta().name});
      }
    }
  };
  look("snapshot", caches_.snapshot);
  look("database", caches_.database);
  look("event", caches_.event);
  return users;
}

bool SinkRegistry::waiting(std::string_view family, const std::string& ns) const {
  const auto asked = [&](std::string_view one) { return family.empty() || family == one; };
  return (asked("snapshot") && caches_.snapshot.waiting(ns)) ||
         (asked("database") && caches_.database.waiting(ns)) ||
         (asked("event") && caches_.event.waiting(ns));
}

std::optional<base::Error> SinkRegistry::unavailable() const {
  if (caches_.snapshot.any_synced() || caches_.database.any_synced() ||
      caches_.event.any_synced()) {
    return std::nullopt;
  }
  return caches_.database.lookup_error();
}

base::Result<std::shared_ptr<exporter::SharedSink>> SinkRegistry::open(
    const SinkName& name, const std::string& identity, const std::string& type,
    const std::function<base::Result<std::unique_ptr<sinks::Sink>>()>& make) {
  const base::SteadyTime now = clock_.steady_now();
  {
    const std::scoped_lock lock(mutex_);
    const auto it = backends_.find(name.text());
    if (it != backends_.end() && it->second.identity == identity) {
      it->second.used_at = now;
      return it->second.sink;
    }
  }
  auto made = make();
  if (!made) {
    telemetry_.backend_failed(made.error());
    return made.error();
  }
  auto shared = std::make_shared<exporter::SharedSink>(
      behind(fences_, metered(telemetry_, clock_, type, std::move(*made))));
  const std::scoped_lock lock(mutex_);
  backends_.insert_or_assign(name.text(),
                             Backend{.identity = identity, .sink = shared, .used_at = now});
  return shared;
}

void SinkRegistry::tidy() {
  const std::scoped_lock lock(mutex_);
  const base::SteadyTime old = clock_.steady_now() - kKeepUnused;
  std::erase_if(backends_, [&](const auto& item) { return item.second.used_at < old; });
}

}  // namespace kollect::manager
