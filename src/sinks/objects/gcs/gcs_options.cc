#include <fmt/format.h>

#include "base/strings.h"
#include "sinks/objects/gcs/gcs_bucket.h"
#include "sinks/objects/s3/endpoint.h"

namespace kollect::sinks::objects::gcs {

namespace {

constexpr const char* kEndpoint = "https://storage.googleapis.com";
constexpr const char* kScope = "https://www.googleapis.com/auth/devstorage.read_write";
constexpr const char* kCreatingScope = "https://www.googleapis.com/auth/devstorage.full_control";
constexpr const char* kKey = "credentials.json";

base::Error bad(std::string_view what, const char* reason) {
  return base::configuration(std::string(what), reason);
}

std::string option(const api::SnapshotSink& sink, const char* key) {
  const auto found = sink.spec.options.find(key);
  return found == sink.spec.options.end() ? std::string() : std::string(base::trim(found->second));
}

/// Tokens, unlike signatures, can be used by whoever is sent them: they go to Google alone.
base::Result<std::string> base_url(const s3::Endpoint& endpoint) {
  const std::string& service = endpoint.service;
  if (service.empty()) return std::string(kEndpoint);
  if (service.starts_with("https://") && service.ends_with(".googleapis.com")) return service;
  return bad(
      "spec.endpoint must be gs://bucket, or an https URL of googleapis.com: other services "
      "are sent no Google token; give HMAC keys for them",
      "bad-endpoint");
}

base::Result<> read_credentials(const SecretData& secret, bool has_secret,
                                const google::Environment& environment, google::ApiOptions& out) {
  if (!has_secret) {
    out.credentials = google::ambient_credentials(environment, out.network);
    return {};
  }
  const auto found = secret.find(kKey);
  if (found == secret.end() || base::trim(found->second.reveal()).empty()) {
    return bad(
        "the Secret has neither credentials.json nor HMAC keys (accessKeyID and "
        "secretAccessKey)",
        "bad-secret");
  }
  auto credentials = google::key_credentials(found->second, out.network);
  if (!credentials.has_value()) {
    return bad("Secret: " + credentials.error().message, "bad-secret");
  }
  out.credentials = std::move(*credentials);
  return {};
}

base::Result<> read(const api::SnapshotSink& sink, const SecretData& secret,
                    const google::Environment& environment, GcsSinkOptions& out) {
  KL_ASSIGN(const auto endpoint, s3::parse_endpoint(sink.spec.endpoint, true));
  out.bucket.name = endpoint.bucket;
  out.bucket.storage_class = option(sink, "storageClass");
  out.bucket.kms_key = option(sink, "kmsKeyName");
  out.bucket.location = option(sink, "location");
  out.bucket.project = option(sink, "project");
  // One request for a small object means its bytes twice in memory.
  out.objects.whole_up_to = std::size_t{8} << 20U;
  out.objects.prefix = endpoint.prefix;
  out.objects.shown = "gs://" + endpoint.bucket;
  if (out.objects.create_bucket && out.bucket.project.empty()) {
    return bad("spec.options[project]: must name the project of a bucket that is created",
               "bad-option");
  }
  out.api.scope = out.objects.create_bucket ? kCreatingScope : kScope;
  if (auto emulator = environment("STORAGE_EMULATOR_HOST")) {
    // The administrator's choice, and no credentials go there.
    out.api.base_url =
        emulator->find("://") == std::string::npos ? "http://" + *emulator : *emulator;
    while (out.api.base_url.ends_with('/')) out.api.base_url.pop_back();
    out.api.network.guard = nullptr;
    return {};
  }
  KL_ASSIGN(out.api.base_url, base_url(endpoint));
  return read_credentials(secret, sink.spec.secret_ref.has_value(), environment, out.api);
}

}  // namespace

base::Result<GcsSinkOptions> gcs_options(const api::SnapshotSink& sink, const SecretData& secret,
                                         const std::optional<std::string>& ca_pem,
                                         const google::Environment& environment,
                                         google::Network network) {
  GcsSinkOptions out;
  KL_ASSIGN(out.objects, object_sink_options(sink));
  auto tls = std::make_shared<http::TlsOptions>();
  tls->ca_pem = ca_pem.value_or("");
  tls->insecure_skip_verify = sink.spec.tls && sink.spec.tls->insecure_skip_verify.value_or(false);
  network.tls = std::move(tls);
  out.api.name = "gcs";
  out.api.network = std::move(network);
  if (const auto done = read(sink, secret, environment, out); !done.has_value()) {
    return done.error().with_prefix(fmt::format("sink {}", sink.metadata.name));
  }
  return out;
}

}  // namespace kollect::sinks::objects::gcs
