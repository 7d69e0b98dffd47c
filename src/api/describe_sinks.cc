// The three sink kinds: what they share, and the blocks of each family (spec: crds 3.9, 5.4
// to 5.6).
#include "api/describe.h"

namespace kollect::api {

namespace {

/// Members that stand directly under spec on all three kinds.
template <class T>
void add_common(Shape<T>& s) {
  s.field("cluster", &T::cluster, "Cluster id that rows, paths and events carry.");
  s.field("connectionTest", &T::connection_test,
          "Probe the destination whenever the sink is reconciled. On unless false; then only on "
          "request by "
          "annotation.");
  s.field("endpoint", &T::endpoint,
          "Destination: URL of a Git repository, a bucket, or a NATS server. Not used by databases "
          "and Kafka.");
  s.field("exportMinInterval", &T::export_min_interval,
          "Least time between two exports of an unchanged inventory for references that set none.")
      .duration();
  s.field("layout", &T::layout, "How files are laid out in a Git tree. Only for git and gitlab.");
  s.field("options", &T::options,
          "Settings of the backend. Keys that look like credentials are refused.");
  s.field("pathTemplate", &T::path_template,
          "Path of the inventory document, with placeholders such as {cluster}, {namespace}, "
          "{name}, {generation} "
          "and {extension}. {namespace} and {name} must be in it.");
  s.field("provisioning", &T::provisioning, "Who creates the destination.");
  s.field("secretRef", &T::secret_ref, "Secret with the credentials.");
  s.field("serialization", &T::serialization, "Format of what is written.");
  s.field("tls", &T::tls, "Whom to trust when connecting.");
}

}  // namespace

template <>
const Shape<LayoutFilename>& shape<LayoutFilename>() {
  static const Shape<LayoutFilename> kShape([](Shape<LayoutFilename>& s) {
    s.field("groupInPath", &LayoutFilename::group_in_path,
            "When {group} is written: auto (when two groups share a kind), always or never.")
        .one_of({"auto", "always", "never"});
    s.field("lowercaseKind", &LayoutFilename::lowercase_kind,
            "Write {kind} in lower case. On unless false.");
    s.field("maxSegmentLength", &LayoutFilename::max_segment_length,
            "Bytes after which a path segment is cut; 63 when left out.")
        .range(1)
        .format("int32");
  });
  return kShape;
}

template <>
const Shape<LayoutIndex>& shape<LayoutIndex>() {
  static const Shape<LayoutIndex> kShape([](Shape<LayoutIndex>& s) {
    s.field("enabled", &LayoutIndex::enabled, "Write the index file. On in split unless false.");
    s.field("pathTemplate", &LayoutIndex::path_template,
            "Path of the index file; inventory/{namespace}/{name}{extension} when left out.");
  });
  return kShape;
}

template <>
const Shape<Layout>& shape<Layout>() {
  static const Shape<Layout> kShape([](Shape<Layout>& s) {
    s.field("content", &Layout::content,
            "What a file holds: the whole row (item), its attributes alone, or the embedded object "
            "(manifest).")
        .crd_default("item")
        .one_of({"item", "attributes", "manifest"});
    s.field("filename", &Layout::filename, "Rules for path segments.");
    s.field("index", &Layout::index, "Settings of the index file.");
    s.field("mode", &Layout::mode,
            "One file for the inventory (document), one per row (perResource), or those and an "
            "index (split).")
        .crd_default("document")
        .one_of({"document", "perResource", "split"});
    s.field("pathTemplate", &Layout::path_template,
            "Path of a row's file. It must hold {sourceName}, {name} or {uid}. When left out, "
            "{cluster}/{sourceNamespace}/{kind}/{sourceName}{extension}.");
  });
  return kShape;
}

template <>
const Shape<ProvisioningNaming>& shape<ProvisioningNaming>() {
  static const Shape<ProvisioningNaming> kShape([](Shape<ProvisioningNaming>& s) {
    s.field("template", &ProvisioningNaming::name_template,
            "Template for names, by the rules of pathTemplate.");
  });
  return kShape;
}

template <>
const Shape<Provisioning>& shape<Provisioning>() {
  static const Shape<Provisioning> kShape([](Shape<Provisioning>& s) {
    s.field("mode", &Provisioning::mode,
            "ensure creates what is missing, existing only checks that it is there. ensure when "
            "left out.")
        .one_of({"ensure", "existing"});
    s.field("naming", &Provisioning::naming, "Names of what is created.");
  });
  return kShape;
}

template <>
const Shape<Serialization>& shape<Serialization>() {
  static const Shape<Serialization> kShape([](Shape<Serialization>& s) {
    s.field("compression", &Serialization::compression,
            "Compression of what is written to an object store.")
        .one_of({"none", "gzip", "snappy", "zstd"});
    s.field("format", &Serialization::format,
            "File format. When left out, yaml for git and gitlab and json for everything else.")
        .one_of({"json", "yaml", "parquet", "csv", "ndjson"});
  });
  return kShape;
}

template <>
const Shape<SinkTls>& shape<SinkTls>() {
  static const Shape<SinkTls> kShape([](Shape<SinkTls>& s) {
    s.field("caBundle", &SinkTls::ca_bundle,
            "Certificates to trust, PEM in base64. Wins over caSecretRef.")
        .format("byte");
    s.field("caSecretRef", &SinkTls::ca_secret_ref,
            "Secret with certificates to trust, under tls.crt, ca.crt or ca.pem.");
    s.field("insecureSkipVerify", &SinkTls::insecure_skip_verify,
            "Do not check the certificate of the server.");
  });
  return kShape;
}

template <>
const Shape<GitAuth>& shape<GitAuth>() {
  static const Shape<GitAuth> kShape([](Shape<GitAuth>& s) {
    s.field("secretRef", &GitAuth::secret_ref, "Secret to use for Git in place of spec.secretRef.");
    s.field("type", &GitAuth::type, "How to log in: by token or by SSH key.")
        .one_of({"token", "ssh"});
  });
  return kShape;
}

template <>
const Shape<GitAuthor>& shape<GitAuthor>() {
  static const Shape<GitAuthor> kShape([](Shape<GitAuthor>& s) {
    s.field("email", &GitAuthor::email, "Mail address in commits.");
    s.field("name", &GitAuthor::name, "Name in commits.");
  });
  return kShape;
}

template <>
const Shape<GitSettings>& shape<GitSettings>() {
  using G = GitSettings;
  static const Shape<G> kShape([](Shape<G>& s) {
    s.field("auth", &G::auth, "How to log in.");
    s.field("author", &G::author, "Who commits.");
    s.field("branch", &G::branch,
            "Branch to write to. Wins over #branch=NAME in the endpoint; main without both.");
    s.field("cloneDepth", &G::clone_depth, "Commits to fetch; 1 when left out.")
        .range(1)
        .format("int32");
    s.field("commitBody", &G::commit_body,
            "Template of the commit body, with the placeholders of commitMessage.");
    s.field("commitMessage", &G::commit_message,
            "Template of the first commit line, with {namespace}, {name}, {cluster}, {generation}, "
            "{exportGeneration}, {itemCount}, {checksum}, {checksumShort}, {exportedAt}, {sink} "
            "and {path}.");
    s.field("commitTrailers", &G::commit_trailers,
            "Trailer lines, with the placeholders of commitMessage.");
    s.field("engine", &G::engine,
            "Which Git to use: the one built in (go-git, when left out) or the git program (cli).")
        .one_of({"go-git", "cli"});
    s.field("forceBasicAuth", &G::force_basic_auth,
            "Send credentials with the first request over HTTP.");
    s.field("prune", &G::prune,
            "Delete files that an export did not write. Off in the document layout unless true, "
            "always on in the "
            "others.");
    s.field("pushPolicy", &G::push_policy,
            "Commit adds to the history, ForcePush overwrites it. Commit when left out.")
        .one_of({"Commit", "ForcePush"});
  });
  return kShape;
}

template <>
const Shape<MergeRequest>& shape<MergeRequest>() {
  using M = MergeRequest;
  static const Shape<M> kShape([](Shape<M>& s) {
    s.field("autoMerge", &M::auto_merge, "Merge when checks pass.");
    s.field("branchPrefix", &M::branch_prefix,
            "First part of the branch name; kollect when left out.");
    s.field("mode", &M::mode,
            "Push to the branch (direct, when left out) or open a merge request (merge_request).")
        .one_of({"direct", "merge_request"});
    s.field("targetBranch", &M::target_branch, "Branch that merge requests go to.");
    s.field("titleTemplate", &M::title_template,
            "Title of merge requests, with {namespace} and {name}.");
  });
  return kShape;
}

template <>
const Shape<GitlabSettings>& shape<GitlabSettings>() {
  static const Shape<GitlabSettings> kShape([](Shape<GitlabSettings>& s) {
    s.field("mergeRequest", &GitlabSettings::merge_request, "Delivery by merge request.");
  });
  return kShape;
}

template <>
const Shape<HttpSettings>& shape<HttpSettings>() {
  static const Shape<HttpSettings> kShape(
      [](Shape<HttpSettings>& s) { s.field("method", &HttpSettings::method, "Not used."); });
  return kShape;
}

template <>
const Shape<ObjectStoreSettings>& shape<ObjectStoreSettings>() {
  static const Shape<ObjectStoreSettings> kShape([](Shape<ObjectStoreSettings>& s) {
    s.field("format", &ObjectStoreSettings::format,
            "Older place of the format; serialization.format wins.")
        .one_of({"json", "parquet"});
    s.field("hotAttributes", &ObjectStoreSettings::hot_attributes,
            "Attributes that become typed columns of their own in Parquet files.")
        .atomic_list();
  });
  return kShape;
}

template <>
const Shape<SnapshotSinkSpec>& shape<SnapshotSinkSpec>() {
  using S = SnapshotSinkSpec;
  static const Shape<S> kShape([](Shape<S>& s) {
    add_common(s);
    s.field("git", &S::git, "Settings of type git.");
    s.field("gitlab", &S::gitlab, "Settings of type gitlab.");
    s.field("http", &S::http, "Left over; refused for every type.");
    s.field("objectStore", &S::object_store, "Settings of types s3, gcs and azureblob.");
    s.field("type", &S::type, "Backend. It decides which settings block may be there.")
        .required()
        .one_of({"git", "gitlab", "s3", "gcs", "azureblob"});
  });
  return kShape;
}

template <>
const Shape<BigquerySettings>& shape<BigquerySettings>() {
  using B = BigquerySettings;
  static const Shape<B> kShape([](Shape<B>& s) {
    s.field("dataset", &B::dataset, "Dataset; it must exist.").required();
    s.field("location", &B::location, "Location of jobs; that of the dataset when left out.");
    s.field("project", &B::project, "Id of the project.").required();
    s.field("secretRef", &B::secret_ref,
            "Secret with a service account key under credentials.json. When left out, the "
            "credentials of the "
            "environment.");
    s.field("table", &B::table, "Table to write to.").required();
  });
  return kShape;
}

template <>
const Shape<MongodbSettings>& shape<MongodbSettings>() {
  using M = MongodbSettings;
  static const Shape<M> kShape([](Shape<M>& s) {
    s.field("collection", &M::collection, "Collection to write to.").required();
    s.field("database", &M::database, "Database to write to.").required();
    s.field("databaseRef", &M::database_ref,
            "Secret with the connection URI under uri, url, connectionString or MONGODB_URI.")
        .required();
  });
  return kShape;
}

template <>
const Shape<PostgresSettings>& shape<PostgresSettings>() {
  using P = PostgresSettings;
  static const Shape<P> kShape([](Shape<P>& s) {
    s.field("databaseRef", &P::database_ref,
            "Secret with the connection string under dsn, url, connectionString or DATABASE_URL.")
        .required();
    s.field("schema", &P::schema, "Schema of the table; public when left out.");
    s.field("table", &P::table, "Table to write to.").required();
  });
  return kShape;
}

template <>
const Shape<SqliteSettings>& shape<SqliteSettings>() {
  using L = SqliteSettings;
  static const Shape<L> kShape([](Shape<L>& s) {
    s.field("path", &L::path,
            "Database file, relative to the folder that the operator's administrator chose.")
        .required();
    s.field("table", &L::table, "Table to write to; inventory when left out.");
  });
  return kShape;
}

template <>
const Shape<DatabaseSinkSpec>& shape<DatabaseSinkSpec>() {
  using S = DatabaseSinkSpec;
  static const Shape<S> kShape([](Shape<S>& s) {
    add_common(s);
    s.field("bigquery", &S::bigquery, "Settings of type bigquery.");
    s.field("mongodb", &S::mongodb, "Settings of type mongodb.");
    s.field("postgres", &S::postgres, "Settings of type postgres.");
    s.field("sqlite", &S::sqlite, "Settings of type sqlite.");
    s.field("type", &S::type, "Backend. The block of its name must be there, the others must not.")
        .required()
        .one_of({"postgres", "bigquery", "mongodb", "sqlite"});
  });
  return kShape;
}

template <>
const Shape<KafkaSettings>& shape<KafkaSettings>() {
  static const Shape<KafkaSettings> kShape([](Shape<KafkaSettings>& s) {
    s.field("brokers", &KafkaSettings::brokers, "Addresses host:port to begin with.")
        .required()
        .atomic_list();
    s.field("secretRef", &KafkaSettings::secret_ref,
            "Secret to use in place of spec.secretRef, with username and password or token.");
    s.field("topic", &KafkaSettings::topic, "Topic to write to.").required();
  });
  return kShape;
}

template <>
const Shape<NatsSettings>& shape<NatsSettings>() {
  static const Shape<NatsSettings> kShape([](Shape<NatsSettings>& s) {
    s.field(
        "secretRef", &NatsSettings::secret_ref,
        "Secret to use in place of spec.secretRef, with token; username and password; creds; or "
        "nkey. tls.crt and tls.key for a client certificate.");
    s.field("stream", &NatsSettings::stream, "Stream; kollect_events when left out.");
    s.field("subject", &NatsSettings::subject,
            "JetStream subject to write to, with {cluster}, {namespace} and {name}; change events "
            "add their type.")
        .required();
    s.field("url", &NatsSettings::url,
            "URL of the server, several with commas; spec.endpoint when left out.");
  });
  return kShape;
}

template <>
const Shape<EventSinkSpec>& shape<EventSinkSpec>() {
  using S = EventSinkSpec;
  static const Shape<S> kShape([](Shape<S>& s) {
    add_common(s);
    s.field("kafka", &S::kafka, "Settings of type kafka.");
    s.field("nats", &S::nats, "Settings of type nats.");
    s.field("type", &S::type, "Backend. The block of its name must be there, the other must not.")
        .required()
        .one_of({"nats", "kafka"});
  });
  return kShape;
}

}  // namespace kollect::api
