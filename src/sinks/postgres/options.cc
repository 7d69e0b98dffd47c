#include <charconv>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/strings.h"
#include "sinks/postgres/postgres_sink.h"

namespace kollect::sinks {

namespace {

constexpr std::size_t kNameLimit = 63;

/// Milliseconds, or a duration with its unit.
base::Result<base::Duration> read_time(const std::string& key, std::string_view text) {
  text = base::trim(text);
  std::int64_t milliseconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
  if (error == std::errc() && end == text.data() + text.size() && milliseconds >= 0) {
    return base::Duration(std::chrono::milliseconds(milliseconds));
  }
  auto duration = base::parse_duration(text);
  if (!duration.has_value() || *duration < base::Duration::zero()) {
    return base::configuration(
        fmt::format("spec.options[{}]: must be milliseconds or a duration such as 30s", key));
  }
  return duration;
}

base::Result<bool> read_switch(const std::string& key, std::string_view text) {
  const std::string word = base::to_lower(base::trim(text));
  if (word == "true") return true;
  if (word == "false" || word.empty()) return false;
  return base::configuration(fmt::format("spec.options[{}]: must be \"true\" or \"false\"", key));
}

base::Result<base::Secret> find_dsn(const api::DatabaseSink& sink, const SecretData& auth) {
  // Values of Secrets are trimmed.
  if (const auto key = dsn_key(auth)) {
    return base::Secret(std::string(base::trim(auth.at(*key).reveal())));
  }
  return base::configuration(
      fmt::format(
          "sink {}: Secret {} has none of the keys dsn, url, connectionString, DATABASE_URL",
          sink.metadata.name, sink.spec.postgres->database_ref.name),
      "bad-secret");
}

base::Result<> read_options(const std::map<std::string, std::string>& options,
                            PostgresOptions& out) {
  for (const auto& [key, value] : options) {
    if (key == "statement_timeout") {
      KL_ASSIGN(out.statement_timeout, read_time(key, value));
    } else if (key == "lock_timeout") {
      KL_ASSIGN(out.lock_timeout, read_time(key, value));
    } else if (key == "application_name") {
      out.dsn.application_name = std::string(base::trim(value));
    } else if (key == "sslmode") {
      out.dsn.sslmode = std::string(base::trim(value));
    } else if (key == "createSchema") {
      KL_ASSIGN(out.table.create_schema, read_switch(key, value));
    } else if (key == "history") {
      KL_ASSIGN(out.table.history, read_switch(key, value));
    }
  }
  return {};
}

base::Result<> read_name(const api::DatabaseSink& sink, PostgresOptions& out) {
  const api::PostgresSettings& postgres = *sink.spec.postgres;
  const auto schema = base::trim(postgres.schema);
  if (!schema.empty()) out.table.schema = std::string(schema);
  out.table.table = std::string(base::trim(postgres.table));
  if (sink.spec.provisioning && sink.spec.provisioning->naming) {
    out.naming_template = std::string(base::trim(sink.spec.provisioning->naming->name_template));
  }
  const auto refuse = [&](std::string_view field, std::string_view why) {
    return base::configuration(fmt::format("sink {}: {} {}", sink.metadata.name, field, why),
                               "bad-name");
  };
  if (out.naming_template.find("{generation}") != std::string::npos) {
    return refuse("spec.provisioning.naming.template",
                  "must not hold {generation}: every generation would get a table of its own");
  }
  if (out.naming_template.empty() && out.table.table.empty()) {
    return refuse("spec.postgres.table", "must be the name of a table");
  }
  for (const std::string* name : {&out.table.schema, &out.table.table}) {
    if (name->size() > kNameLimit || name->find('\0') != std::string::npos) {
      return refuse("spec.postgres", "has a name that PostgreSQL cannot hold (63 bytes at most)");
    }
  }
  return {};
}

}  // namespace

std::optional<std::string> dsn_key(const SecretData& auth) {
  for (const char* key : {"dsn", "url", "connectionString", "DATABASE_URL"}) {
    const auto found = auth.find(key);
    if (found != auth.end() && !base::trim(found->second.reveal()).empty()) return key;
  }
  return std::nullopt;
}

base::Result<PostgresOptions> postgres_options(const api::DatabaseSink& sink,
                                               const SecretData& auth,
                                               const std::optional<std::string>& ca_pem) {
  if (!sink.spec.postgres) {
    return base::configuration(
        fmt::format("sink {}: spec.postgres must be given", sink.metadata.name));
  }
  PostgresOptions out;
  KL_ASSIGN(out.dsn.dsn, find_dsn(sink, auth));
  KL_TRY(read_name(sink, out));
  KL_TRY(read_options(sink.spec.options, out));
  out.table.ensure = !sink.spec.provisioning || sink.spec.provisioning->mode != "existing";
  out.dsn.ca_pem = ca_pem;
  out.dsn.insecure_skip_verify =
      sink.spec.tls && sink.spec.tls->insecure_skip_verify.value_or(false);
  return out;
}

}  // namespace kollect::sinks
