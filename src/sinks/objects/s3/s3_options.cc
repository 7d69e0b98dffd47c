#include <fmt/format.h>

#include "base/strings.h"
#include "sinks/objects/s3/s3_bucket.h"

namespace kollect::sinks::objects::s3 {

namespace {

constexpr std::uint32_t kLeastPart = 5;
constexpr std::uint32_t kLargestPart = 1024;

std::string text_option(const std::map<std::string, std::string>& options, const char* key) {
  const auto found = options.find(key);
  return found == options.end() ? std::string() : std::string(base::trim(found->second));
}

base::Error bad_option(const char* key, const std::string& why) {
  return base::configuration(fmt::format("spec.options[{}]: {}", key, why), "bad-option");
}

bool is_region(std::string_view text) {
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

/// Words that go into headers.
base::Result<std::string> header_option(const std::map<std::string, std::string>& options,
                                        const char* key) {
  auto text = text_option(options, key);
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x21 || static_cast<unsigned char>(c) > 0x7e) {
      return bad_option(key, "must be printable ASCII without blanks");
    }
  }
  return text;
}

base::Result<> read_s3(const std::map<std::string, std::string>& options, S3SinkOptions& out) {
  out.client.region = text_option(options, "region");
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (out.client.region.empty()) out.client.region = out.environment(name).value_or("");
  }
  if (!is_region(out.client.region)) {
    return bad_option("region", "must be a region such as eu-central-1");
  }
  KL_ASSIGN(out.bucket.storage_class, header_option(options, "storageClass"));
  KL_ASSIGN(out.bucket.sse, header_option(options, "sse"));
  if (!out.bucket.sse.empty() && out.bucket.sse != "AES256" && out.bucket.sse != "aws:kms") {
    return bad_option("sse", "must be AES256 or aws:kms");
  }
  KL_ASSIGN(out.bucket.sse_kms_key, header_option(options, "sseKmsKeyId"));
  if (!out.bucket.sse_kms_key.empty() && out.bucket.sse != "aws:kms") {
    return bad_option("sseKmsKeyId", "goes with sse aws:kms");
  }
  auto& endpoint = out.client.endpoint;
  KL_ASSIGN(endpoint.path_style, switch_option(options, "pathStyle", endpoint.path_style));
  if (!endpoint.path_style && !base::is_dns1123_subdomain(endpoint.bucket)) {
    return bad_option("pathStyle", "must be \"true\": the bucket's name is no part of a host name");
  }
  KL_ASSIGN(const auto part,
            number_option(options, "partSizeMiB", kLeastPart, kLargestPart,
                          static_cast<std::uint32_t>(out.bucket.part_bytes >> 20U)));
  out.bucket.part_bytes = std::size_t{part} << 20U;
  return {};
}

base::Result<> read_gcs(const std::map<std::string, std::string>& options, S3SinkOptions& out) {
  out.client.region = "auto";
  KL_ASSIGN(out.bucket.storage_class, header_option(options, "storageClass"));
  KL_ASSIGN(out.bucket.location, header_option(options, "location"));
  KL_ASSIGN(out.bucket.project, header_option(options, "project"));
  if (!text_option(options, "kmsKeyName").empty()) {
    return bad_option("kmsKeyName",
                      "needs credentials.json; with HMAC keys give the bucket a default key");
  }
  return {};
}

base::Result<S3SinkOptions> read(const api::SnapshotSink& sink, const SecretData& secret,
                                 const std::optional<std::string>& ca_pem) {
  S3SinkOptions out;
  const bool google = sink.spec.type == "gcs";
  KL_ASSIGN(out.client.endpoint, parse_endpoint(sink.spec.endpoint, google));
  KL_ASSIGN(out.keys, secret_credentials(secret));
  if (google && !out.keys) {
    return base::configuration(
        "spec.secretRef must name a Secret with HMAC keys (accessKeyID and secretAccessKey)",
        "bad-secret");
  }
  KL_TRY(google ? read_gcs(sink.spec.options, out) : read_s3(sink.spec.options, out));
  auto tls = std::make_shared<http::TlsOptions>();
  tls->ca_pem = ca_pem.value_or("");
  tls->insecure_skip_verify = sink.spec.tls && sink.spec.tls->insecure_skip_verify.value_or(false);
  out.client.tls = std::move(tls);
  return out;
}

}  // namespace

bool has_hmac_keys(const SecretData& secret) {
  for (const char* key :
       {"accessKeyID", "AWS_ACCESS_KEY_ID", "secretAccessKey", "AWS_SECRET_ACCESS_KEY"}) {
    if (secret.contains(key)) return true;
  }
  return false;
}

base::Result<S3SinkOptions> s3_options(const api::SnapshotSink& sink, const SecretData& secret,
                                       const std::optional<std::string>& ca_pem) {
  KL_ASSIGN(auto objects, object_sink_options(sink));
  auto out = read(sink, secret, ca_pem);
  if (!out.has_value()) {
    return out.error().with_prefix(fmt::format("sink {}", sink.metadata.name));
  }
  out->objects = std::move(objects);
  out->objects.shown = out->client.endpoint.shown();
  out->objects.prefix = out->client.endpoint.prefix;
  return out;
}

std::unique_ptr<Sink> make_s3_sink(S3SinkOptions options) {
  auto credentials = options.keys ? fixed_credentials(std::move(*options.keys))
                                  : ambient_credentials(options.environment, options.client.region);
  auto client = std::make_shared<Client>(std::move(options.client), std::move(credentials));
  return make_object_sink(std::move(options.objects),
                          make_bucket(std::move(client), std::move(options.bucket)));
}

}  // namespace kollect::sinks::objects::s3
