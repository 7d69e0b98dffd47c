#include "pipeline/run/sink_wiring.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "sinks/credentials.h"
#include "sinks/factory.h"
#include "sinks/sqlite/sqlite_sink.h"

namespace kollect::pipeline {
namespace {

constexpr const char* kSeveralContextsTemplate =
    "inventory/{cluster}/{namespace}/{name}{extension}";

class Wirer {
 public:
  Wirer(SecretStore& secrets, const WiringOptions& options) : secrets_(secrets) {
    options_.allow_private = options.allow_private;
    options_.allow_loopback = options.allow_loopback;
    // The guard holds for the folder's sinks as it does in the operator; local places are the
    // user's own (L-62).
    options_.allow_local = true;
    if (options.several_contexts) options_.default_document_template = kSeveralContextsTemplate;
    several_contexts_ = options.several_contexts;
  }

  base::Result<WiredSink> make(const Loaded<api::SnapshotSink>& sink) {
    const api::SnapshotSinkSpec& spec = sink.object.spec;
    KL_TRY(refuse_shared_place(*sink.manifest, spec));
    const bool own_auth = spec.git && spec.git->auth && spec.git->auth->secret_ref;
    KL_ASSIGN(const SecretValues auth,
              own_auth
                  ? resolve(*sink.manifest, "spec.git.auth.secretRef", spec.git->auth->secret_ref)
                  : resolve(*sink.manifest, "spec.secretRef", spec.secret_ref));
    return finish("snapshot", sink, auth, sinks::make_snapshot_sink);
  }

  base::Result<WiredSink> make(const Loaded<api::DatabaseSink>& sink) {
    const api::DatabaseSinkSpec& spec = sink.object.spec;
    std::optional<api::SecretReference> reference = spec.secret_ref;
    std::string field = "spec.secretRef";
    if (spec.postgres) {
      reference = spec.postgres->database_ref;
      field = "spec.postgres.databaseRef";
    } else if (spec.mongodb) {
      reference = spec.mongodb->database_ref;
      field = "spec.mongodb.databaseRef";
    } else if (spec.bigquery && spec.bigquery->secret_ref) {
      reference = spec.bigquery->secret_ref;
      field = "spec.bigquery.secretRef";
    }
    KL_ASSIGN(const SecretValues auth, resolve(*sink.manifest, field, reference));
    return finish("database", sink, auth, sinks::make_database_sink);
  }

  base::Result<WiredSink> make(const Loaded<api::EventSink>& sink) {
    const api::EventSinkSpec& spec = sink.object.spec;
    std::optional<api::SecretReference> reference = spec.secret_ref;
    std::string field = "spec.secretRef";
    if (spec.kafka && spec.kafka->secret_ref) {
      reference = spec.kafka->secret_ref;
      field = "spec.kafka.secretRef";
    } else if (spec.nats && spec.nats->secret_ref) {
      reference = spec.nats->secret_ref;
      field = "spec.nats.secretRef";
    }
    KL_ASSIGN(const SecretValues auth, resolve(*sink.manifest, field, reference));
    return finish("event", sink, auth, sinks::make_event_sink);
  }

 private:
  base::Result<SecretValues> resolve(const Manifest& sink, const std::string& field,
                                     const std::optional<api::SecretReference>& reference) {
    if (!reference || reference->name.empty()) return SecretValues();
    return secrets_.resolve(sink, field, *reference);
  }

  /// The inline bundle wins over the reference.
  base::Result<std::optional<std::string>> ca_of(const Manifest& sink,
                                                 const std::optional<api::SinkTls>& tls) {
    if (!tls) return std::optional<std::string>();
    if (!tls->ca_bundle.empty()) {
      auto pem = base::base64_decode(tls->ca_bundle);
      if (!pem) {
        return base::configuration(problem_at(sink, "spec.tls.caBundle", "is not base64").text());
      }
      return std::optional<std::string>(std::move(*pem));
    }
    if (!tls->ca_secret_ref) return std::optional<std::string>();
    KL_ASSIGN(const SecretValues values,
              secrets_.resolve_ca(sink, "spec.tls.caSecretRef", *tls->ca_secret_ref));
    for (const char* key : {"tls.crt", "ca.crt", "ca.pem"}) {
      if (const auto it = values.find(key); it != values.end()) {
        return std::optional<std::string>(it->second.reveal());
      }
    }
    return base::configuration(
        problem_at(sink, "spec.tls.caSecretRef",
                   fmt::format("{} has none of the keys tls.crt, ca.crt, ca.pem",
                               tls->ca_secret_ref->name))
            .text());
  }

  /// Documents of several contexts must not meet in one place (L-59).
  base::Result<> refuse_shared_place(const Manifest& manifest,
                                     const api::SnapshotSinkSpec& spec) const {
    if (!several_contexts_) return {};
    const auto refuse = [&](const char* field, const std::string& text) -> base::Result<> {
      if (text.empty() || text.find("{cluster}") != std::string::npos) return {};
      return base::configuration(
          problem_at(manifest, field,
                     "has no {cluster}, so several contexts would overwrite each other")
              .text());
    };
    KL_TRY(refuse("spec.pathTemplate", spec.path_template));
    if (!spec.layout) return {};
    KL_TRY(refuse("spec.layout.pathTemplate", spec.layout->path_template));
    return spec.layout->index
               ? refuse("spec.layout.index.pathTemplate", spec.layout->index->path_template)
               : base::Result<>();
  }

  template <class T, class Make>
  base::Result<WiredSink> finish(std::string_view family, const Loaded<T>& sink,
                                 const SecretValues& auth, const Make& make) {
    KL_ASSIGN(const std::optional<std::string> ca, ca_of(*sink.manifest, sink.object.spec.tls));
    auto made = make(sink.object, auth, ca, options_);
    if (!made) {
      return base::configuration(problem_at(*sink.manifest, "", made.error().message).text());
    }
    return WiredSink{.title = fmt::format("{}/{}", family, sink.manifest->name),
                     .cluster = sink.object.spec.cluster,
                     .manifest = sink.manifest,
                     .sink = sinks::naming_credentials(
                         std::move(*made), sinks::credentials_title(sink.object, auth))};
  }

  SecretStore& secrets_;
  sinks::SinkOptions options_;
  bool several_contexts_ = false;
};

}  // namespace

std::vector<SinkMade> make_each_sink(const Config& config, SecretStore& secrets,
                                     const WiringOptions& options) {
  Wirer wirer(secrets, options);
  std::vector<SinkMade> made;
  const auto add = [&](const auto& sinks) {
    for (const auto& sink : sinks) made.push_back({sink.manifest, wirer.make(sink)});
  };
  add(config.snapshot_sinks);
  add(config.database_sinks);
  add(config.event_sinks);
  return made;
}

base::Result<std::vector<WiredSink>> make_sinks(const Config& config, SecretStore& secrets,
                                                const WiringOptions& options) {
  std::vector<WiredSink> wired;
  for (SinkMade& made : make_each_sink(config, secrets, options)) {
    if (!made.sink) return made.sink.error();
    wired.push_back(std::move(*made.sink));
  }
  return wired;
}

base::Result<std::unique_ptr<sinks::Sink>> make_sqlite(const std::string& path) {
  return std::unique_ptr<sinks::Sink>(std::make_unique<sinks::SqliteSink>(path));
}

}  // namespace kollect::pipeline
