#include "sinks/factory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/strings.h"
#include "sinks/bigquery/bigquery_sink.h"
#include "sinks/events/event_sink.h"
#include "sinks/files/files_sink.h"
#include "sinks/git/git_sink.h"
#include "sinks/gitlab/gitlab_sink.h"
#include "sinks/kafka/transport.h"
#include "sinks/mongo/mongo_sink.h"
#include "sinks/nats/nats_transport.h"
#include "sinks/objects/azure/azure_bucket.h"
#include "sinks/objects/gcs/gcs_bucket.h"
#include "sinks/objects/s3/s3_bucket.h"
#include "sinks/postgres/postgres_sink.h"
#include "sinks/sqlite/sqlite_sink.h"

namespace kollect::sinks {

namespace {

base::Error unknown(std::string_view name, std::string_view type) {
  return base::configuration(fmt::format("sink {}: type \"{}\" is not known", name, type),
                             "unknown-type");
}

bool ensures(const api::SinkCommon& spec) {
  return !spec.provisioning || spec.provisioning->mode != "existing";
}

/// The CA of the spec itself, or what the caller read from the Secret.
base::Result<std::optional<std::string>> trust_of(const std::string& name,
                                                  const std::optional<api::SinkTls>& spec,
                                                  const std::optional<std::string>& ca_pem) {
  if (!spec) return ca_pem;
  const auto& tls = *spec;
  if (!tls.ca_bundle.empty() && tls.ca_secret_ref) {
    return base::configuration(
        fmt::format("sink {}: tls.caBundle and tls.caSecretRef are both set; keep one", name),
        "bad-tls");
  }
  if (tls.ca_bundle.empty() || ca_pem) return ca_pem;
  auto pem = base::base64_decode(tls.ca_bundle);
  if (!pem.has_value()) return pem.error().with_prefix("tls.caBundle");
  return std::optional(std::move(*pem));
}

/// What the process says about sinks in repositories, whatever their spec.
void add_process_settings(GitSinkOptions& made, const SinkOptions& options) {
  if (made.transport.remote.scheme != git::Scheme::kLocal) {
    made.transport.guard = options.address_guard();
  }
  if (options.resolver) made.transport.resolver = options.resolver;
  made.mirror_dir = options.mirror_dir;
  if (made.layout.document_template.empty()) {
    made.layout.document_template = options.default_document_template;
  }
}

base::Result<std::unique_ptr<Sink>> make_git(const api::SnapshotSink& sink, const SecretData& auth,
                                             const std::optional<std::string>& ca_pem,
                                             const SinkOptions& options) {
  KL_ASSIGN(const auto trust, trust_of(sink.metadata.name, sink.spec.tls, ca_pem));
  KL_ASSIGN(auto made, git_sink_options(sink, auth, trust));
  const auto scheme = made.transport.remote.scheme;
  if (scheme == git::Scheme::kLocal && !options.allow_local) {
    return base::configuration(
        fmt::format("sink {}: local repositories and file:// need the operator's "
                    "--allow-local-sinks",
                    sink.metadata.name),
        "address-refused");
  }
  add_process_settings(made, options);
  return make_git_sink(std::move(made));
}

base::Result<std::unique_ptr<Sink>> make_merge_requests(const api::SnapshotSink& sink,
                                                        const SecretData& auth,
                                                        const std::optional<std::string>& ca_pem,
                                                        const SinkOptions& options) {
  KL_ASSIGN(const auto trust, trust_of(sink.metadata.name, sink.spec.tls, ca_pem));
  KL_ASSIGN(auto made, gitlab::gitlab_options(sink, auth, trust));
  made.several_clusters = !options.default_document_template.empty();
  add_process_settings(made.git, options);
  return gitlab::make_gitlab_sink(std::move(made));
}

/// GitLab over https without a merge request is Git with the default commit text (sinks 8).
base::Result<std::unique_ptr<Sink>> make_gitlab(const api::SnapshotSink& sink,
                                                const SecretData& auth,
                                                const std::optional<std::string>& ca_pem,
                                                const SinkOptions& options) {
  const auto& settings = sink.spec.gitlab;
  if (settings && settings->merge_request && !settings->merge_request->mode.empty() &&
      settings->merge_request->mode != "direct" && !gitlab::wants_merge_requests(sink.spec)) {
    return base::configuration(
        fmt::format("sink {}: gitlab.mergeRequest.mode is direct or merge_request",
                    sink.metadata.name),
        "bad-mode");
  }
  if (gitlab::wants_merge_requests(sink.spec)) {
    return make_merge_requests(sink, auth, ca_pem, options);
  }
  KL_ASSIGN(const auto remote, git::parse_remote(sink.spec.endpoint));
  if (remote.scheme != git::Scheme::kHttps && remote.scheme != git::Scheme::kHttp) {
    return base::configuration(
        fmt::format("sink {}: type gitlab needs an http(s) endpoint", sink.metadata.name),
        "bad-endpoint");
  }
  auto direct = sink;
  direct.spec.git.reset();
  return make_git(direct, auth, ca_pem, options);
}

base::Result<std::unique_ptr<Sink>> make_local(const api::SnapshotSink& sink,
                                               const SinkOptions& options) {
  if (!options.allow_local || base::trim(sink.spec.endpoint).empty()) {
    return base::configuration(
        fmt::format("sink {}: {}", sink.metadata.name,
                    options.allow_local ? "type local needs a folder as endpoint"
                                        : "type local needs the operator's --allow-local-sinks"),
        "bad-endpoint");
  }
  FilesSinkOptions made;
  made.folder = std::string(base::trim(sink.spec.endpoint));
  KL_ASSIGN(made.layout, layout_spec(sink.spec));
  if (made.layout.document_template.empty()) {
    made.layout.document_template = options.default_document_template;
  }
  made.prune = options.prune;
  made.ensure = ensures(sink.spec);
  made.configured = options.configured;
  return make_files_sink(std::move(made));
}

/// What the settings of all object stores get from the process.
void settle_objects(objects::ObjectSinkOptions& made, const SinkOptions& options) {
  if (made.path_template.empty() && made.encoder->default_template().empty()) {
    made.path_template = options.default_document_template;
  }
}

base::Result<std::unique_ptr<Sink>> make_s3(const api::SnapshotSink& sink, const SecretData& auth,
                                            const std::optional<std::string>& ca_pem,
                                            const SinkOptions& options) {
  KL_ASSIGN(const auto trust, trust_of(sink.metadata.name, sink.spec.tls, ca_pem));
  KL_ASSIGN(auto made, objects::s3::s3_options(sink, auth, trust));
  settle_objects(made.objects, options);
  made.client.guard = options.address_guard();
  made.client.resolver = options.resolver;
  return objects::s3::make_s3_sink(std::move(made));
}

base::Result<std::unique_ptr<Sink>> make_azure(const api::SnapshotSink& sink,
                                               const SecretData& auth,
                                               const std::optional<std::string>& ca_pem,
                                               const SinkOptions& options) {
  KL_ASSIGN(const auto trust, trust_of(sink.metadata.name, sink.spec.tls, ca_pem));
  KL_ASSIGN(auto made, objects::azure::azure_options(sink, auth, trust));
  settle_objects(made.objects, options);
  made.client.guard = options.address_guard();
  made.client.resolver = options.resolver;
  return objects::azure::make_azure_sink(std::move(made));
}

google::Network google_network(const SinkOptions& options) {
  google::Network out;
  out.guard = options.address_guard();
  out.resolver = options.resolver;
  return out;
}

base::Result<std::unique_ptr<Sink>> make_gcs(const api::SnapshotSink& sink, const SecretData& auth,
                                             const std::optional<std::string>& ca_pem,
                                             const SinkOptions& options) {
  KL_ASSIGN(const auto trust, trust_of(sink.metadata.name, sink.spec.tls, ca_pem));
  KL_ASSIGN(auto made, objects::gcs::gcs_options(sink, auth, trust, google::process_environment(),
                                                 google_network(options)));
  settle_objects(made.objects, options);
  return objects::gcs::make_gcs_sink(std::move(made));
}

base::Result<std::unique_ptr<Sink>> make_postgres(const api::DatabaseSink& sink,
                                                  const SecretData& auth,
                                                  const std::optional<std::string>& ca_pem,
                                                  const SinkOptions& options) {
  KL_ASSIGN(const auto trust, trust_of(sink.metadata.name, sink.spec.tls, ca_pem));
  KL_ASSIGN(auto made, postgres_options(sink, auth, trust));
  made.dsn.guard = options.address_guard();
  made.dsn.allow_local = options.allow_local;
  if (options.resolver) made.dsn.resolver = options.resolver;
  KL_TRY(pgsql::check_dsn(made.dsn));
  return make_postgres_sink(std::move(made));
}

base::Result<std::unique_ptr<events::Transport>> make_nats(const api::EventSink& sink,
                                                           const SecretData& auth,
                                                           const std::optional<std::string>& ca_pem,
                                                           const SinkOptions& options) {
  KL_ASSIGN(const auto trust, trust_of(sink.metadata.name, sink.spec.tls, ca_pem));
  KL_ASSIGN(auto made, nats::nats_options(sink, auth, trust));
  made.guard = options.address_guard();
  if (options.resolver) made.resolver = options.resolver;
  return nats::make_transport(std::move(made));
}

base::Result<std::unique_ptr<Sink>> make_bigquery(const api::DatabaseSink& sink,
                                                  const SecretData& auth,
                                                  const std::optional<std::string>& ca_pem,
                                                  const SinkOptions& options) {
  KL_ASSIGN(const auto trust, trust_of(sink.metadata.name, sink.spec.tls, ca_pem));
  KL_ASSIGN(auto made, bigquery_options(sink, auth, trust, google::process_environment(),
                                        google_network(options)));
  return make_bigquery_sink(std::move(made));
}

base::Result<std::unique_ptr<Sink>> make_mongo(const api::DatabaseSink& sink,
                                               const SecretData& auth,
                                               const std::optional<std::string>& ca_pem,
                                               const SinkOptions& options) {
  KL_ASSIGN(const auto trust, trust_of(sink.metadata.name, sink.spec.tls, ca_pem));
  KL_ASSIGN(auto made, mongo_options(sink, auth, trust));
  made.access.guard = options.address_guard();
  made.access.allow_local = options.allow_local;
  made.access.resolver = options.resolver;
  KL_TRY(mongo::check_access(made.access));
  return make_mongo_sink(std::move(made));
}

base::Result<std::unique_ptr<Sink>> make_sqlite(const api::DatabaseSink& sink,
                                                const SinkOptions& options) {
  const auto refuse = [&](const char* why, const char* reason) {
    return base::configuration(fmt::format("sink {}: {}", sink.metadata.name, why), reason);
  };
  if (!sink.spec.sqlite || base::trim(sink.spec.sqlite->path).empty()) {
    return refuse("type sqlite needs spec.sqlite.path", "bad-endpoint");
  }
  const std::filesystem::path path(std::string(base::trim(sink.spec.sqlite->path)));
  if (options.sqlite_dir.empty() && !options.allow_local) {
    return refuse("type sqlite needs the operator's --sqlite-dir", "address-refused");
  }
  // Where the user is the author any file may be named.
  if (!options.allow_local && (path.is_absolute() || std::ranges::find(path, "..") != path.end())) {
    return refuse("spec.sqlite.path must stay in the folder", "path-escapes");
  }
  SqliteOptions made;
  if (!sink.spec.sqlite->table.empty()) made.table = sink.spec.sqlite->table;
  made.ensure = ensures(sink.spec);
  return std::unique_ptr<Sink>(
      std::make_unique<SqliteSink>(options.sqlite_dir / path, std::move(made)));
}

base::Result<std::unique_ptr<events::Transport>> make_kafka(
    const api::EventSink& sink, const SecretData& auth, const std::optional<std::string>& ca_pem,
    const SinkOptions& options) {
  KL_ASSIGN(const auto trust, trust_of(sink.metadata.name, sink.spec.tls, ca_pem));
  KL_ASSIGN(auto made, kafka::kafka_options(sink, auth, trust));
  made.guard = options.address_guard();
  made.resolver = options.resolver;
  return kafka::make_transport(std::move(made));
}

}  // namespace

std::shared_ptr<const base::AddressGuard> SinkOptions::address_guard() const {
  if (!guard_addresses) return nullptr;
  return std::make_shared<const base::AddressGuard>(allow_private, allow_loopback);
}

base::Result<std::unique_ptr<Sink>> make_snapshot_sink(const api::SnapshotSink& sink,
                                                       const SecretData& auth,
                                                       const std::optional<std::string>& ca_pem,
                                                       const SinkOptions& options) {
  const auto& type = sink.spec.type;
  if (type == "git") return make_git(sink, auth, ca_pem, options);
  if (type == "gitlab") return make_gitlab(sink, auth, ca_pem, options);
  if (type == "local") return make_local(sink, options);
  const bool by_signature = objects::s3::has_hmac_keys(auth) && !auth.contains("credentials.json");
  if (type == "s3" || (type == "gcs" && by_signature)) {
    return make_s3(sink, auth, ca_pem, options);
  }
  if (type == "azureblob") return make_azure(sink, auth, ca_pem, options);
  if (type == "gcs") return make_gcs(sink, auth, ca_pem, options);
  return unknown(sink.metadata.name, type);
}

base::Result<std::unique_ptr<Sink>> make_database_sink(const api::DatabaseSink& sink,
                                                       const SecretData& auth,
                                                       const std::optional<std::string>& ca_pem,
                                                       const SinkOptions& options) {
  const auto& type = sink.spec.type;
  if (type == "postgres") return make_postgres(sink, auth, ca_pem, options);
  if (type == "sqlite") return make_sqlite(sink, options);
  if (type == "bigquery") return make_bigquery(sink, auth, ca_pem, options);
  if (type == "mongodb") return make_mongo(sink, auth, ca_pem, options);
  return unknown(sink.metadata.name, type);
}

base::Result<std::unique_ptr<Sink>> make_event_sink(const api::EventSink& sink,
                                                    const SecretData& auth,
                                                    const std::optional<std::string>& ca_pem,
                                                    const SinkOptions& options) {
  const auto& type = sink.spec.type;
  if (type != "kafka" && type != "nats") return unknown(sink.metadata.name, type);
  KL_ASSIGN(const events::Mode mode, events::read_mode(sink));
  KL_ASSIGN(auto transport, type == "kafka" ? make_kafka(sink, auth, ca_pem, options)
                                            : make_nats(sink, auth, ca_pem, options));
  return events::make_sink(mode, std::move(transport));
}

}  // namespace kollect::sinks
