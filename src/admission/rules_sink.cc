// The three sink kinds: rules S1 to S18, Q1 to Q5, E1 to E4, warnings SW1 to SW8 (spec: crds 5.4
// to 5.6).
#include <algorithm>
#include <map>
#include <set>

#include "admission/checks.h"
#include "admission/rules.h"
#include "base/strings.h"

namespace kollect::admission {

namespace {

using Words = std::vector<std::string>;

bool contains(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool blank(std::string_view text) {
  return base::trim(text).empty();
}

/// NotSupported for a word that is present and not known.
void check_word(Findings& findings, const std::string& path, const std::string& word,
                const Words& known) {
  if (!word.empty() && !contains(known, word)) {
    findings.not_supported(path, fmt::format("\"{}\" is not supported; supported values: \"{}\"",
                                             word, fmt::join(known, "\", \"")));
  }
}

/// S1; false ends the validation.
bool check_type(Findings& findings, const std::string& type, const Words& known) {
  if (blank(type)) {
    findings.required("spec.type", fmt::format("must be one of {}", fmt::join(known, ", ")));
    return false;
  }
  check_word(findings, "spec.type", type, known);
  return findings.clean();
}

bool is_object_store(std::string_view type) {
  return type == "s3" || type == "gcs" || type == "azureblob";
}

/// Formats that a type writes (spec: crds 4.10).
const Words& formats_of(const std::string& type) {
  static const Words kGit = {"json", "yaml", "ndjson"};
  static const Words kObjectStore = {"json", "parquet", "csv"};
  static const Words kOther = {"json"};
  if (type == "git" || type == "gitlab") {
    return kGit;
  }
  return is_object_store(type) ? kObjectStore : kOther;
}

/// Options that a backend reads (spec: sinks K-14).
const std::set<std::string>& options_of(const std::string& type) {
  static const std::map<std::string, std::set<std::string>> kOptions = {
      {"s3",
       {"region", "storageClass", "sse", "sseKmsKeyId", "pathStyle", "createBucket", "partSizeMiB",
        "retainGenerations", "typedColumns"}},
      {"gcs",
       {"storageClass", "kmsKeyName", "createBucket", "location", "project", "retainGenerations",
        "typedColumns"}},
      {"azureblob",
       {"account", "accessTier", "createBucket", "partSizeMiB", "retainGenerations",
        "typedColumns"}},
      {"postgres",
       {"statement_timeout", "lock_timeout", "application_name", "sslmode", "createSchema",
        "pool_max", "history"}},
      {"mongodb", {"writeConcern", "appName"}},
      {"bigquery", {"partitionExpirationDays", "maximumBytesBilled"}},
      {"kafka",
       {"events", "acks", "compression", "sasl.mechanism", "tls", "partitions", "replicationFactor",
        "retention", "cleanupPolicy", "messageMaxBytes"}},
      {"nats",
       {"events", "replicas", "storage", "maxAge", "maxBytes", "duplicateWindow", "retention"}},
  };
  static const std::set<std::string> kNone;
  const auto found = kOptions.find(type);
  return found == kOptions.end() ? kNone : found->second;
}

void check_template(Findings& findings, const std::string& path, const std::string& text) {
  if (const auto problem = document_template_problem(text)) {
    findings.invalid(path, fmt::format("\"{}\" {}", text, *problem));
  }
}

/// S2 to S7.
void check_common(Findings& findings, const api::SinkCommon& spec, const std::string& type) {
  static const Words kFormats = {"json", "yaml", "parquet", "csv", "ndjson"};
  check_template(findings, "spec.pathTemplate", spec.path_template);
  check_interval(findings, "spec.exportMinInterval", spec.export_min_interval);
  if (spec.serialization) {
    check_word(findings, "spec.serialization.format", spec.serialization->format, kFormats);
    check_word(findings, "spec.serialization.compression", spec.serialization->compression,
               {"none", "gzip", "snappy", "zstd"});
  }
  if (spec.provisioning) {
    check_word(findings, "spec.provisioning.mode", spec.provisioning->mode, {"ensure", "existing"});
    if (spec.provisioning->naming) {
      check_template(findings, "spec.provisioning.naming.template",
                     spec.provisioning->naming->name_template);
    }
  }
  for (const auto& [key, value] : spec.options) {
    if (looks_like_credential(key)) {
      findings.forbidden(fmt::format("spec.options[{}]", key),
                         "credentials belong into the Secret of spec.secretRef");
    }
  }
  // S4 names words that no type knows, S7 words that this type does not write.
  if (spec.serialization && contains(kFormats, spec.serialization->format)) {
    check_word(findings, "spec.serialization.format", spec.serialization->format, formats_of(type));
  }
}

/// S18, only when nothing else was found.
void check_scope_floor(Findings& findings, const api::SinkCommon& spec,
                       const api::Metadata& metadata, const RuleContext& context) {
  if (!findings.clean()) {
    return;
  }
  const std::string ns = metadata.ns.empty() ? "default" : metadata.ns;
  if (const auto scope = found(findings, context.lookup.scope(ns))) {
    check_floor(findings, "spec.exportMinInterval", spec.export_min_interval,
                scope->spec.min_export_interval);
  }
}

void forbid(Findings& findings, bool present, const char* path, const std::string& type) {
  if (present) {
    findings.forbidden(path, fmt::format("must not be given for type {}", type));
  }
}

/// Warnings beside SW2 that every family has: settings that are ignored.
void warn_common(Findings& findings, const api::SinkCommon& spec, const std::string& type,
                 bool compresses) {
  const bool compressed = spec.serialization && !spec.serialization->compression.empty() &&
                          spec.serialization->compression != "none";
  if (compressed && !compresses) {
    findings.warn(fmt::format("spec.serialization.compression: ignored for type {}", type));
  }
  for (const auto& [key, value] : spec.options) {
    if (!options_of(type).contains(key)) {
      findings.warn(fmt::format("spec.options[{}]: not known for type {}, ignored", key, type));
    }
  }
}

void warn_existing(Findings& findings, const api::SinkCommon& spec) {
  if (spec.provisioning && spec.provisioning->mode == "existing") {
    findings.warn(
        "spec.provisioning.mode: existing: the destination must be there, nothing is created");
  }
}

bool is_local_path(std::string_view endpoint) {
  endpoint = base::trim(endpoint);
  return endpoint.starts_with('/') || endpoint.starts_with("./") || endpoint.starts_with("../") ||
         base::to_lower(endpoint.substr(0, 5)) == "file:";
}

/// S8.
void check_snapshot_endpoint(Findings& findings, const api::SnapshotSinkSpec& spec,
                             const Settings& settings) {
  const bool git = spec.type == "git" || spec.type == "gitlab";
  const auto problem = git ? git_endpoint_problem(spec.endpoint, settings)
                           : object_store_endpoint_problem(spec.endpoint, settings);
  if (problem) {
    findings.forbidden("spec.endpoint", *problem);
  } else if (git && settings.allow_local_sinks && is_local_path(spec.endpoint)) {
    findings.warn(
        "spec.endpoint: an operator refuses file:// and local paths");  // spec: pipeline L-62
  }
}

/// S9, but a git sink may do without its block (spec: crds 9 D3).
void check_blocks(Findings& findings, const api::SnapshotSinkSpec& spec) {
  forbid(findings, spec.git.has_value() && spec.type != "git", "spec.git", spec.type);
  forbid(findings, spec.gitlab.has_value() && spec.type != "gitlab", "spec.gitlab", spec.type);
  forbid(findings, spec.object_store.has_value() && !is_object_store(spec.type), "spec.objectStore",
         spec.type);
  forbid(findings, spec.http.has_value(), "spec.http", spec.type);
}

/// S10 to S13.
void check_git(Findings& findings, const api::GitSettings& git) {
  if (const auto problem = branch_problem(git.branch)) {
    findings.invalid("spec.git.branch", *problem);
  }
  check_word(findings, "spec.git.pushPolicy", git.push_policy, {"Commit", "ForcePush"});
  if (git.auth) {
    check_word(findings, "spec.git.auth.type", git.auth->type, {"token", "ssh"});
    if (git.auth->secret_ref && blank(git.auth->secret_ref->name)) {
      findings.required("spec.git.auth.secretRef.name", "must be the name of a Secret");
    }
  }
  check_word(findings, "spec.git.engine", git.engine, {"go-git", "cli"});
  if (git.clone_depth && *git.clone_depth < 1) {
    findings.invalid("spec.git.cloneDepth", fmt::format("{} must be at least 1", *git.clone_depth));
  }
}

/// S14 to S16.
void check_layout(Findings& findings, const api::Layout& layout) {
  check_word(findings, "spec.layout.mode", layout.mode, {"document", "perResource", "split"});
  check_word(findings, "spec.layout.content", layout.content, {"item", "attributes", "manifest"});
  if (const auto problem = row_template_problem(layout.path_template)) {
    findings.invalid("spec.layout.pathTemplate",
                     fmt::format("\"{}\" {}", layout.path_template, *problem));
  }
  if (layout.index) {
    check_template(findings, "spec.layout.index.pathTemplate", layout.index->path_template);
  }
  if (layout.filename) {
    check_word(findings, "spec.layout.filename.groupInPath", layout.filename->group_in_path,
               {"auto", "always", "never"});
    if (layout.filename->max_segment_length && *layout.filename->max_segment_length < 1) {
      findings.invalid("spec.layout.filename.maxSegmentLength",
                       fmt::format("{} must be at least 1", *layout.filename->max_segment_length));
    }
  }
}

/// SW1 to SW8, then what is ignored (sinks K-12, K-14).
void warn_snapshot(Findings& findings, const api::SnapshotSinkSpec& spec) {
  const bool git = spec.type == "git" || spec.type == "gitlab";
  const std::string format = effective_format(spec);
  if (spec.type == "git" && spec.git && spec.git->push_policy == "ForcePush") {
    findings.warn("spec.git.pushPolicy: ForcePush overwrites the history of the branch");
  }
  warn_existing(findings, spec);
  if (format == "parquet") {
    findings.warn(
        "parquet: rows become columns; see spec.objectStore.hotAttributes for typed ones");
  }
  if (spec.serialization && spec.object_store && !spec.object_store->format.empty()) {
    findings.warn("spec.objectStore.format: spec.serialization.format is the newer place and wins");
  }
  if (git && (!spec.serialization || spec.serialization->format.empty())) {
    findings.warn("spec.serialization.format: not given, yaml is written");
  }
  if (git && format != "json" && base::trim(spec.path_template).ends_with(".json")) {
    findings.warn(fmt::format("spec.pathTemplate: ends in .json, but {} is written", format));
  }
  if (git && spec.layout && spec.layout->content == "manifest") {
    findings.warn(
        "spec.layout.content: manifest needs profiles that export whole objects (mode Resource)");
  }
  if (git && spec.layout && (spec.layout->mode == "perResource" || spec.layout->mode == "split")) {
    findings.warn(
        fmt::format("spec.layout.mode: {} deletes files of rows that are gone", spec.layout->mode));
  }
  warn_common(findings, spec, spec.type, !git);
}

}  // namespace

std::string effective_format(const api::SnapshotSinkSpec& spec) {
  if (spec.serialization && !spec.serialization->format.empty()) {
    return spec.serialization->format;
  }
  if (spec.type == "git" || spec.type == "gitlab") {
    return "yaml";
  }
  return spec.object_store && !spec.object_store->format.empty() ? spec.object_store->format
                                                                 : "json";
}

void check_snapshot_sink(Findings& findings, const api::SnapshotSink& sink,
                         const RuleContext& context) {
  const api::SnapshotSinkSpec& spec = sink.spec;
  if (!check_type(findings, spec.type, {"git", "gitlab", "s3", "gcs", "azureblob"})) {
    return;
  }
  const bool git = spec.type == "git" || spec.type == "gitlab";
  check_common(findings, spec, spec.type);
  if (!git && spec.serialization && spec.serialization->compression == "snappy" &&
      effective_format(spec) != "parquet") {
    findings.not_supported(
        "spec.serialization.compression",
        R"("snappy" is for parquet alone; supported values: "none", "gzip", "zstd")");
  }
  check_snapshot_endpoint(findings, spec, context.settings);
  check_blocks(findings, spec);
  if (spec.type == "git" && spec.git) {
    check_git(findings, *spec.git);
  }
  if (git && spec.layout) {
    check_layout(findings, *spec.layout);
  }
  forbid(findings, !git && spec.layout.has_value(), "spec.layout", spec.type);
  check_scope_floor(findings, spec, sink.metadata, context);
  warn_snapshot(findings, spec);
}

/// The folder is the administrator's, so the way may not lead out of it.
void check_sqlite_path(Findings& findings, const std::string& path) {
  constexpr const char* kField = "spec.sqlite.path";
  if (blank(path)) {
    findings.required(kField, "must name the database file");
    return;
  }
  bool leaves = path.front() == '/';
  for (const std::string_view part : base::split(path, '/')) leaves = leaves || part == "..";
  if (leaves) findings.invalid(kField, "must be relative and must not hold \"..\"");
}

void check_database_sink(Findings& findings, const api::DatabaseSink& sink,
                         const RuleContext& context) {
  const api::DatabaseSinkSpec& spec = sink.spec;
  const Words types = {"postgres", "bigquery", "mongodb", "sqlite"};
  if (!check_type(findings, spec.type, types)) {
    return;
  }
  check_common(findings, spec, spec.type);
  forbid(findings, spec.layout.has_value(), "spec.layout", spec.type);
  const std::map<std::string, bool> present = {{"postgres", spec.postgres.has_value()},
                                               {"bigquery", spec.bigquery.has_value()},
                                               {"mongodb", spec.mongodb.has_value()},
                                               {"sqlite", spec.sqlite.has_value()}};
  if (!present.at(spec.type)) {
    findings.required("spec." + spec.type, fmt::format("must be given for type {}", spec.type));
  }
  for (const std::string& type : types) {
    forbid(findings, type != spec.type && present.at(type), ("spec." + type).c_str(), spec.type);
  }
  if (spec.type == "bigquery" && spec.bigquery) {
    const std::pair<const char*, const std::string*> names[] = {
        {"spec.bigquery.project", &spec.bigquery->project},
        {"spec.bigquery.dataset", &spec.bigquery->dataset},
        {"spec.bigquery.table", &spec.bigquery->table}};
    for (const auto& [path, name] : names) {
      if (blank(*name)) {
        findings.required(path, "must not be blank");
      }
    }
    if (spec.bigquery->secret_ref && blank(spec.bigquery->secret_ref->name)) {
      findings.required("spec.bigquery.secretRef.name", "must be the name of a Secret");
    }
  }
  if (spec.type == "sqlite" && spec.sqlite) check_sqlite_path(findings, spec.sqlite->path);
  check_scope_floor(findings, spec, sink.metadata, context);
  warn_existing(findings, spec);
  warn_common(findings, spec, spec.type, false);
}

void check_event_sink(Findings& findings, const api::EventSink& sink, const RuleContext& context) {
  const api::EventSinkSpec& spec = sink.spec;
  if (!check_type(findings, spec.type, {"nats", "kafka"})) {
    return;
  }
  const bool nats = spec.type == "nats";
  check_common(findings, spec, spec.type);
  forbid(findings, spec.layout.has_value(), "spec.layout", spec.type);
  if (nats) {
    const bool own = spec.nats && !blank(spec.nats->url);
    // One server or several.
    for (const auto url : base::split(own ? spec.nats->url : spec.endpoint, ',')) {
      const auto problem = url_problem(url, context.settings);
      if (!problem) continue;
      findings.forbidden(own ? "spec.nats.url" : "spec.endpoint", *problem);
      break;
    }
  } else if (spec.kafka) {
    for (std::size_t i = 0; i < spec.kafka->brokers.size(); ++i) {
      if (const auto problem = broker_problem(spec.kafka->brokers[i], context.settings)) {
        findings.forbidden(fmt::format("spec.kafka.brokers[{}]", i), *problem);
      }
    }
  }
  if (!(nats ? spec.nats.has_value() : spec.kafka.has_value())) {
    findings.required("spec." + spec.type, fmt::format("must be given for type {}", spec.type));
  }
  forbid(findings, nats ? spec.kafka.has_value() : spec.nats.has_value(),
         nats ? "spec.kafka" : "spec.nats", spec.type);
  check_scope_floor(findings, spec, sink.metadata, context);
  warn_existing(findings, spec);
  warn_common(findings, spec, spec.type, !nats);
}

}  // namespace kollect::admission
