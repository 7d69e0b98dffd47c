#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "sinks/bigquery/bigquery_sink.h"
#include "sinks/rows/unit.h"

namespace kollect::sinks {

namespace {

constexpr const char* kEndpoint = "https://bigquery.googleapis.com";
constexpr const char* kScope = "https://www.googleapis.com/auth/bigquery";
constexpr const char* kKey = "credentials.json";
constexpr std::size_t kLongestName = 1024;

base::Error refuse(const api::DatabaseSink& sink, std::string_view field, std::string_view why) {
  return base::configuration(fmt::format("sink {}: {} {}", sink.metadata.name, field, why),
                             "bad-name");
}

base::Result<std::int64_t> read_count(const std::string& key, std::string_view text) {
  text = base::trim(text);
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || out <= 0) {
    return base::configuration(
        fmt::format("spec.options[{}]: must be a whole number above 0", key));
  }
  return out;
}

base::Result<> read_options(const std::map<std::string, std::string>& options,
                            BigqueryOptions& out) {
  for (const auto& [key, value] : options) {
    if (key == "partitionExpirationDays") {
      KL_ASSIGN(out.partition_expiration_days, read_count(key, value));
      if (out.partition_expiration_days > 36'500) {
        return base::configuration(
            "spec.options[partitionExpirationDays]: must be a hundred years at most");
      }
    } else if (key == "maximumBytesBilled") {
      KL_ASSIGN(out.jobs.maximum_bytes_billed, read_count(key, value));
    }
  }
  return {};
}

bool has_only(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           others.find(c) != std::string_view::npos;
  });
}

/// What would end the quoted name or is refused by the service anyway.
bool is_table_name(std::string_view text) {
  return text.size() <= kLongestName && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 ||
                  std::string_view("`\\/.:@!*[]{}\"'$").find(c) != std::string_view::npos;
         });
}

base::Result<> read_names(const api::DatabaseSink& sink, BigqueryOptions& out) {
  const api::BigquerySettings& bigquery = *sink.spec.bigquery;
  out.table.project = base::trim(bigquery.project);
  out.table.dataset = base::trim(bigquery.dataset);
  out.table.table = base::trim(bigquery.table);
  out.location = base::trim(bigquery.location);
  if (sink.spec.provisioning && sink.spec.provisioning->naming) {
    out.naming_template = base::trim(sink.spec.provisioning->naming->name_template);
  }
  if (out.table.project.empty() || !has_only(out.table.project, "-.:")) {
    return refuse(sink, "spec.bigquery.project", "must be the id of a project");
  }
  if (out.table.dataset.empty() || !has_only(out.table.dataset, "_") ||
      out.table.dataset.size() > kLongestName) {
    return refuse(sink, "spec.bigquery.dataset",
                  "must be the name of a dataset: letters, digits and \"_\"");
  }
  if (!has_only(out.location, "-")) {
    return refuse(sink, "spec.bigquery.location", "must be a location such as EU");
  }
  if (out.naming_template.find("{generation}") != std::string::npos) {
    return refuse(sink, "spec.provisioning.naming.template",
                  "must not hold {generation}: every generation would get a table of its own");
  }
  if (out.naming_template.empty() && (out.table.table.empty() || !is_table_name(out.table.table))) {
    return refuse(sink, "spec.bigquery.table", "must be the name of a table");
  }
  return {};
}

/// An address that the administrator gave, with or without a scheme.
std::string emulator_url(std::string text) {
  if (text.find("://") == std::string::npos) text = "http://" + text;
  while (text.ends_with('/')) text.pop_back();
  return text;
}

base::Result<> read_credentials(const api::DatabaseSink& sink, const SecretData& auth,
                                const google::Environment& environment, BigqueryOptions& out) {
  if (!sink.spec.bigquery->secret_ref && !sink.spec.secret_ref) {
    out.api.credentials = google::ambient_credentials(environment, out.api.network);
    return {};
  }
  const auto found = auth.find(kKey);
  if (found == auth.end() || base::trim(found->second.reveal()).empty()) {
    return base::configuration(
        fmt::format("sink {}: the Secret has no key {}", sink.metadata.name, kKey), "bad-secret");
  }
  auto credentials = google::key_credentials(found->second, out.api.network);
  if (!credentials.has_value()) {
    return base::configuration(
        fmt::format("sink {}: Secret: {}", sink.metadata.name, credentials.error().message),
        "bad-secret");
  }
  out.api.credentials = std::move(*credentials);
  return {};
}

}  // namespace

namespace bigquery {

std::string named_table(std::string_view naming_template, std::string_view cluster,
                        std::string_view ns, std::string_view inventory) {
  std::string name = rows::expand_name(naming_template, cluster, ns, inventory);
  for (char& c : name) {
    if (!has_only({&c, 1}, "_-")) c = '_';
  }
  return name.substr(0, kLongestName);
}

}  // namespace bigquery

base::Result<BigqueryOptions> bigquery_options(const api::DatabaseSink& sink,
                                               const SecretData& auth,
                                               const std::optional<std::string>& ca_pem,
                                               const google::Environment& environment,
                                               google::Network network) {
  if (!sink.spec.bigquery) {
    return base::configuration(
        fmt::format("sink {}: spec.bigquery must be given", sink.metadata.name));
  }
  BigqueryOptions out;
  KL_TRY(read_names(sink, out));
  KL_TRY(read_options(sink.spec.options, out));
  out.ensure = !sink.spec.provisioning || sink.spec.provisioning->mode != "existing";
  const bool insecure = sink.spec.tls && sink.spec.tls->insecure_skip_verify.value_or(false);
  if (ca_pem || insecure) {
    http::TlsOptions tls;
    tls.ca_pem = ca_pem.value_or("");
    tls.insecure_skip_verify = insecure;
    network.tls = std::make_shared<const http::TlsOptions>(std::move(tls));
  }
  out.api.name = "bigquery";
  out.api.base_url = kEndpoint;
  out.api.scope = kScope;
  out.api.network = std::move(network);
  out.api.unknown_is_terminal = false;
  if (auto emulator = environment("BIGQUERY_EMULATOR_HOST")) {
    // The administrator's choice, and no credentials go there.
    out.api.base_url = emulator_url(std::move(*emulator));
    out.api.network.guard = nullptr;
    return out;
  }
  KL_TRY(read_credentials(sink, auth, environment, out));
  return out;
}

}  // namespace kollect::sinks
