#include <fmt/format.h>

#include <utility>

#include "base/strings.h"
#include "sinks/objects/azure/azure_bucket.h"

namespace kollect::sinks::objects::azure {

namespace {

constexpr std::uint32_t kLargestPart = 1024;

std::string text_option(const std::map<std::string, std::string>& options, const char* key) {
  const auto found = options.find(key);
  return found == options.end() ? std::string() : std::string(base::trim(found->second));
}

base::Result<AzureSinkOptions> read(const api::SnapshotSink& sink, const SecretData& secret,
                                    const std::optional<std::string>& ca_pem) {
  AzureSinkOptions out;
  const auto& options = sink.spec.options;
  KL_ASSIGN(out.secret, secret_parts(secret));
  auto account = text_option(options, "account");
  if (account.empty()) account = out.secret.account;
  KL_ASSIGN(out.client.endpoint, parse_endpoint(sink.spec.endpoint, account));
  out.bucket.access_tier = text_option(options, "accessTier");
  const auto& tier = out.bucket.access_tier;
  if (!tier.empty() && tier != "Hot" && tier != "Cool" && tier != "Cold") {
    return base::configuration("spec.options[accessTier]: must be Hot, Cool or Cold", "bad-option");
  }
  KL_ASSIGN(const auto part,
            number_option(options, "partSizeMiB", 1, kLargestPart,
                          static_cast<std::uint32_t>(out.bucket.part_bytes >> 20U)));
  out.bucket.part_bytes = std::size_t{part} << 20U;
  auto tls = std::make_shared<http::TlsOptions>();
  tls->ca_pem = ca_pem.value_or("");
  tls->insecure_skip_verify = sink.spec.tls && sink.spec.tls->insecure_skip_verify.value_or(false);
  out.client.tls = std::move(tls);
  return out;
}

}  // namespace

base::Result<AzureSinkOptions> azure_options(const api::SnapshotSink& sink,
                                             const SecretData& secret,
                                             const std::optional<std::string>& ca_pem) {
  KL_ASSIGN(auto objects, object_sink_options(sink));
  auto out = read(sink, secret, ca_pem);
  if (!out.has_value()) {
    return out.error().with_prefix(fmt::format("sink {}", sink.metadata.name));
  }
  out->objects = std::move(objects);
  // Blocks cost little more than one request, and less memory.
  out->objects.whole_up_to = std::size_t{16} << 20U;
  out->objects.shown = out->client.endpoint.shown();
  out->objects.prefix = out->client.endpoint.prefix;
  return out;
}

base::Result<std::unique_ptr<Sink>> make_azure_sink(AzureSinkOptions options) {
  const auto& endpoint = options.client.endpoint;
  std::unique_ptr<Authority> authority;
  if (options.secret.key) {
    authority = by_account_key(endpoint.account, std::move(*options.secret.key));
  } else if (options.secret.sas) {
    authority = by_signature(std::move(*options.secret.sas));
  } else if (endpoint.is_azure() || options.trust_any_host) {
    authority = by_own_identity(options.environment);
  } else {
    return base::configuration(
        fmt::format("{} is none of Azure's own domains over https: the operator's identity is not "
                    "sent there; give the Secret accountKey or sasToken",
                    endpoint.shown()),
        "no-credentials");
  }
  auto client = std::make_shared<Client>(std::move(options.client), std::move(authority));
  return make_object_sink(std::move(options.objects),
                          make_bucket(std::move(client), std::move(options.bucket)));
}

}  // namespace kollect::sinks::objects::azure
