#include <fmt/format.h>

#include "base/strings.h"
#include "sinks/mongo/mongo_sink.h"

namespace kollect::sinks {

namespace {

/// Values of Secrets are trimmed; the first key that is not blank counts.
base::Result<base::Secret> find_uri(const api::DatabaseSink& sink, const SecretData& auth) {
  for (const char* key : {"uri", "url", "connectionString", "MONGODB_URI"}) {
    const auto found = auth.find(key);
    if (found == auth.end()) continue;
    const std::string_view text = base::trim(found->second.reveal());
    if (!text.empty()) return base::Secret(std::string(text));
  }
  return base::configuration(
      fmt::format("sink {}: Secret {} has none of the keys uri, url, connectionString, MONGODB_URI",
                  sink.metadata.name, sink.spec.mongodb->database_ref.name),
      "bad-secret");
}

/// What the server forbids in names, and a length that fits beside the database's.
bool is_database_name(std::string_view name) {
  return !name.empty() && name.size() < 64 &&
         name.find_first_of(std::string_view("/\\. \"$*<>:|?\0", 13)) == std::string_view::npos;
}

bool is_collection_name(std::string_view name) {
  return !name.empty() && name.size() <= 180 && !name.starts_with("system.") &&
         name.find_first_of(std::string_view("$\0", 2)) == std::string_view::npos;
}

base::Result<> read_names(const api::DatabaseSink& sink, MongoOptions& out) {
  out.database = std::string(base::trim(sink.spec.mongodb->database));
  out.collection = std::string(base::trim(sink.spec.mongodb->collection));
  if (sink.spec.provisioning && sink.spec.provisioning->naming) {
    out.naming_template = std::string(base::trim(sink.spec.provisioning->naming->name_template));
  }
  const auto refuse = [&](std::string_view field, std::string_view why) {
    return base::configuration(fmt::format("sink {}: {} {}", sink.metadata.name, field, why),
                               "bad-name");
  };
  if (!is_database_name(out.database)) {
    return refuse("spec.mongodb.database",
                  "must be a name of at most 63 bytes without / \\ . \" $ * < > : | ? and blanks");
  }
  if (out.naming_template.find("{generation}") != std::string::npos) {
    return refuse("spec.provisioning.naming.template",
                  "must not hold {generation}: every generation would get a collection of its own");
  }
  if (out.naming_template.empty() ? !is_collection_name(out.collection)
                                  : out.naming_template.find('$') != std::string::npos) {
    return refuse(
        out.naming_template.empty() ? "spec.mongodb.collection"
                                    : "spec.provisioning.naming.template",
        "must be a name of at most 180 bytes without $ that does not begin with \"system.\"");
  }
  return {};
}

}  // namespace

base::Result<MongoOptions> mongo_options(const api::DatabaseSink& sink, const SecretData& auth,
                                         const std::optional<std::string>& ca_pem) {
  if (!sink.spec.mongodb) {
    return base::configuration(
        fmt::format("sink {}: spec.mongodb must be given", sink.metadata.name));
  }
  MongoOptions out;
  KL_ASSIGN(out.access.uri, find_uri(sink, auth));
  KL_TRY(read_names(sink, out));
  for (const auto& [key, value] : sink.spec.options) {
    const std::string text(base::trim(value));
    if (key == "writeConcern") out.access.write_concern = text;
    if (key == "appName") out.access.app_name = text;
  }
  out.ensure = !sink.spec.provisioning || sink.spec.provisioning->mode != "existing";
  out.access.ca_pem = ca_pem;
  out.access.insecure_skip_verify =
      sink.spec.tls && sink.spec.tls->insecure_skip_verify.value_or(false);
  return out;
}

}  // namespace kollect::sinks
