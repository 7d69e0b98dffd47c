// The eleven kinds of kollect.dev/v1alpha1 as plain structs. Field tables, defaults, constraints
// and documentation stand once, in describe_*.cc; parsing, defaulting, schema validation,
// serialisation and the CRD YAML come from there. Names mirror the JSON names in snake_case. An
// absent optional member is std::nullopt; an absent string "". Source of the shapes: spec crds 3
// and 5.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json/value.h"

namespace kollect::api {

inline constexpr const char* kGroup = "kollect.dev";
inline constexpr const char* kVersion = "v1alpha1";
inline constexpr const char* kApiVersion = "kollect.dev/v1alpha1";
inline constexpr const char* kAllowSecretExtraction = "kollect.dev/allow-secret-extraction";
inline constexpr const char* kAllowFullResourceExport = "kollect.dev/allow-full-resource-export";

struct GroupVersionKind {
  std::string group;
  std::string version;
  std::string kind;
  auto operator<=>(const GroupVersionKind&) const = default;
};

struct LabelSelectorRequirement {
  std::string key;
  std::string op;  ///< JSON name "operator"
  std::vector<std::string> values;
  bool operator==(const LabelSelectorRequirement&) const = default;
};

struct LabelSelector {
  std::vector<LabelSelectorRequirement> match_expressions;
  std::map<std::string, std::string> match_labels;
  [[nodiscard]] bool empty() const { return match_expressions.empty() && match_labels.empty(); }
  bool operator==(const LabelSelector&) const = default;
};

struct SecretReference {
  std::string name;
  std::string ns;  ///< JSON name "namespace"
};

struct ObjectReference {
  std::string name;
  std::string ns;  ///< JSON name "namespace"
};

/// The parts of metadata that we read.
struct Metadata {
  std::string name;
  std::string ns;
  std::string uid;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::int64_t generation = 0;
  std::string deletion_timestamp;
};

// --- KollectProfile
// ---------------------------------------------------------------------------------------------

struct Attribute {
  std::string name;
  std::optional<bool> optional;
  std::string path;
  std::string type;
};

struct Prune {
  std::vector<std::string> cel;
  std::optional<bool> defaults;
  std::vector<std::string> jq_path_expressions;
  std::vector<std::string> json_paths;
  std::vector<std::string> json_pointers;
  std::string preset;  ///< "": decided by `defaults`
  std::vector<std::string> scrub_keys;
};

struct ExportSpec {
  std::string as;  ///< "" counts as "resource"
  std::optional<bool> dedupe_identity;
  std::string include;  ///< SpecAndStatus by default
  std::string mode;     ///< Attributes by default
  std::optional<Prune> prune;
};

struct Metric {
  std::vector<std::string> labels;
  std::string name;
  std::string path;
};

struct ProfileSpec {
  std::vector<Attribute> attributes;
  std::optional<ExportSpec> export_spec;  ///< JSON name "export"
  std::vector<Metric> metrics;
  GroupVersionKind target_gvk;  ///< JSON name "targetGVK"
};

struct Profile {
  Metadata metadata;
  ProfileSpec spec;
};

// --- KollectTarget, KollectClusterTarget
// ------------------------------------------------------------------------

struct ResourceRule {
  GroupVersionKind gvk;
  std::vector<LabelSelectorRequirement> match_expressions;
  std::map<std::string, std::string> match_labels;
  std::string match_policy;
  std::optional<LabelSelector> namespace_selector;
};

struct CollectionFilter {
  std::vector<std::string> excluded_namespaces;
  std::vector<std::string> included_namespaces;
  std::optional<LabelSelector> namespace_exclude_selector;
  std::vector<ResourceRule> resource_rules;
};

struct TargetSpec : CollectionFilter {
  std::optional<LabelSelector> label_selector;
  std::vector<std::string> names;
  std::optional<LabelSelector> namespace_selector;
  std::string profile_ref;
  std::optional<bool> suspend;
  std::string watch_mode;  ///< All by default
};

struct Target {
  Metadata metadata;
  TargetSpec spec;
};

struct ClusterTargetSpec : CollectionFilter {
  std::optional<LabelSelector> namespace_selector;
  ObjectReference profile_ref;
  std::optional<bool> suspend;
};

struct ClusterTarget {
  Metadata metadata;
  ClusterTargetSpec spec;
};

// --- Inventories
// ------------------------------------------------------------------------------------------------

/// A reference to a sink; the string form ("name") is read as {name} (spec: crds 9 D2).
struct SinkReference {
  std::string export_min_interval;
  std::optional<std::int64_t> max_export_bytes;
  std::string name;
  std::string ns;
};

struct HttpEndpoint {
  std::optional<bool> enabled;
  std::optional<std::int64_t> port;
};

struct InventorySpec {
  std::vector<SinkReference> database_sink_refs;
  std::vector<SinkReference> event_sink_refs;
  std::string export_min_interval;
  std::optional<HttpEndpoint> http_endpoint;
  std::optional<std::int64_t> max_export_bytes;
  std::vector<SinkReference> snapshot_sink_refs;
  std::optional<bool> suspend;
};

struct Inventory {
  Metadata metadata;
  InventorySpec spec;
};

struct ClusterInventorySpec {
  std::vector<SinkReference> database_sink_refs;
  std::string dedupe;
  std::vector<SinkReference> event_sink_refs;
  std::string export_min_interval;
  std::optional<LabelSelector> namespace_selector;
  std::vector<std::string> namespaces;
  std::optional<ObjectReference> profile_ref;
  std::string sink_namespace;
  std::vector<SinkReference> snapshot_sink_refs;
  std::optional<bool> suspend;
  std::vector<std::string> target_refs;
  std::optional<LabelSelector> target_selector;
};

struct ClusterInventory {
  Metadata metadata;
  ClusterInventorySpec spec;
};

// --- Sinks
// ------------------------------------------------------------------------------------------------------

struct LayoutFilename {
  std::string group_in_path;
  std::optional<bool> lowercase_kind;
  std::optional<std::int64_t> max_segment_length;
};

struct LayoutIndex {
  std::optional<bool> enabled;
  std::string path_template;
};

struct Layout {
  std::string content;
  std::optional<LayoutFilename> filename;
  std::optional<LayoutIndex> index;
  std::string mode;
  std::string path_template;
};

struct ProvisioningNaming {
  std::string name_template;  ///< JSON name "template"
};

struct Provisioning {
  std::string mode;
  std::optional<ProvisioningNaming> naming;
};

struct Serialization {
  std::string compression;
  std::string format;
};

struct SinkTls {
  std::string ca_bundle;  ///< base64
  std::optional<SecretReference> ca_secret_ref;
  std::optional<bool> insecure_skip_verify;
};

/// Members that the three sink kinds share (spec: crds 3.9).
struct SinkCommon {
  std::string cluster;
  std::optional<bool> connection_test;
  std::string endpoint;
  std::string export_min_interval;
  std::optional<Layout> layout;
  std::map<std::string, std::string> options;
  std::string path_template;
  std::optional<Provisioning> provisioning;
  std::optional<SecretReference> secret_ref;
  std::optional<Serialization> serialization;
  std::optional<SinkTls> tls;
};

struct GitAuth {
  std::optional<SecretReference> secret_ref;
  std::string type;
};

struct GitAuthor {
  std::string email;
  std::string name;
};

struct GitSettings {
  std::optional<GitAuth> auth;
  std::optional<GitAuthor> author;
  std::string branch;
  std::optional<std::int64_t> clone_depth;
  std::string commit_body;
  std::string commit_message;
  std::vector<std::string> commit_trailers;
  std::string engine;
  std::optional<bool> force_basic_auth;
  std::optional<bool> prune;
  std::string push_policy;
};

struct MergeRequest {
  std::optional<bool> auto_merge;
  std::string branch_prefix;
  std::string mode;
  std::string target_branch;
  std::string title_template;
};

struct GitlabSettings {
  std::optional<MergeRequest> merge_request;
};

struct HttpSettings {
  std::string method;
};

struct ObjectStoreSettings {
  std::string format;
  std::vector<std::string> hot_attributes;
};

struct SnapshotSinkSpec : SinkCommon {
  std::optional<GitSettings> git;
  std::optional<GitlabSettings> gitlab;
  std::optional<HttpSettings> http;
  std::optional<ObjectStoreSettings> object_store;
  std::string type;
};

struct SnapshotSink {
  Metadata metadata;
  SnapshotSinkSpec spec;
};

struct BigquerySettings {
  std::string dataset;
  std::string location;
  std::string project;
  std::optional<SecretReference> secret_ref;
  std::string table;
};

struct MongodbSettings {
  std::string collection;
  std::string database;
  SecretReference database_ref;
};

struct PostgresSettings {
  SecretReference database_ref;
  std::string schema;
  std::string table;
};

/// Our addition: the embedded database.
struct SqliteSettings {
  std::string path;  ///< relative to the operator's --sqlite-dir, or to the working folder
  std::string table;
};

struct DatabaseSinkSpec : SinkCommon {
  std::optional<BigquerySettings> bigquery;
  std::optional<MongodbSettings> mongodb;
  std::optional<PostgresSettings> postgres;
  std::optional<SqliteSettings> sqlite;
  std::string type;
};

struct DatabaseSink {
  Metadata metadata;
  DatabaseSinkSpec spec;
};

struct KafkaSettings {
  std::vector<std::string> brokers;
  std::optional<SecretReference> secret_ref;
  std::string topic;
};

struct NatsSettings {
  std::optional<SecretReference> secret_ref;
  std::string stream;
  std::string subject;
  std::string url;
};

struct EventSinkSpec : SinkCommon {
  std::optional<KafkaSettings> kafka;
  std::optional<NatsSettings> nats;
  std::string type;
};

struct EventSink {
  Metadata metadata;
  EventSinkSpec spec;
};

// --- Scopes, connection test
// ------------------------------------------------------------------------------------

struct ScopeSpec {
  std::optional<bool> allow_resource_export;  ///< true by default
  std::vector<GroupVersionKind> allowed_gvks;
  std::vector<std::string> allowed_namespaces;
  std::vector<std::string> database_sink_refs;
  std::vector<std::string> denied_namespaces;
  std::vector<std::string> event_sink_refs;
  std::string min_export_interval;
  std::vector<std::string> snapshot_sink_refs;
};

struct Scope {
  Metadata metadata;
  ScopeSpec spec;
};

struct ClusterScopeSpec : ScopeSpec {
  std::vector<std::string> allowed_static_ref_namespaces;
};

struct ClusterScope {
  Metadata metadata;
  ClusterScopeSpec spec;
};

struct ConnectionTestSinkRef {
  std::string database_sink_ref;
  std::string event_sink_ref;
  std::string snapshot_sink_ref;
};

struct ConnectionTestSpec {
  std::optional<bool> owner_sink;
  std::string profile_ref;
  ConnectionTestSinkRef sink_ref;
  std::optional<std::int64_t> ttl_seconds_after_finished;
};

struct ConnectionTest {
  Metadata metadata;
  ConnectionTestSpec spec;
};

}  // namespace kollect::api
