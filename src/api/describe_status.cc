// Status schemas of all kinds (spec: crds 3.1, 3.7, 3.10 and the status tables of chapter 5).
#include "api/describe.h"

namespace kollect::api {

namespace {

using Type = Schema::Type;

void add_conditions(Schema& s, std::string doc) {
  Schema item;
  item.add("lastTransitionTime", Type::kString, "When status last changed.")
      .required()
      .format("date-time");
  item.add("message", Type::kString, "Text for people; may be empty.").required().length({}, 32768);
  item.add("observedGeneration", Type::kInteger, "Generation that the condition was made for.")
      .range(0)
      .format("int64");
  item.add("reason", Type::kString, "Word for programs that tells why status is as it is.")
      .required()
      .pattern("^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
      .length(1, 1024);
  item.add("status", Type::kString, "True, False or Unknown.")
      .required()
      .one_of({"True", "False", "Unknown"});
  item.add("type", Type::kString, "Name of the condition.")
      .required()
      .pattern(
          "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
          "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$")
      .length({}, 316);
  s.add_list("conditions", std::move(item), std::move(doc)).map_by("type");
}

void add_observed_generation(Schema& s) {
  s.add("observedGeneration", Type::kInteger, "Generation that the status is about.")
      .format("int64");
}

void add_sink_exports(Schema& s) {
  Schema item;
  add_conditions(item, "Synced: whether the last export to this sink worked.");
  item.add("lastChecksum", Type::kString, "Fingerprint of what was last written.");
  item.add("lastExportTime", Type::kString, "When this sink was last written to.")
      .format("date-time");
  item.add("name", Type::kString, "Family and name of the sink, such as snapshot/backup.")
      .required();
  item.add("namespace", Type::kString, "Namespace of the sink; set by cluster inventories.");
  s.add_list("sinkExports", std::move(item), "What became of the export to each sink.")
      .map_by("name")
      .at_most(20);
}

void add_namespace_lists(Schema& s) {
  s.add_strings("effectiveNamespaces",
                "Namespaces that are collected, after all deny lists and scopes.")
      .set();
  s.add_strings("matchedNamespaces", "Namespaces that the target picks, before scopes.").set();
}

Schema preview() {
  Schema s;
  Schema git;
  git.add("sampleCommitBody", Type::kString, "Body of the commit.");
  git.add("sampleCommitSubject", Type::kString, "First line of the commit.");
  s.add("git", std::move(git), "For git and gitlab.");
  s.add("inputSampleSource", Type::kString, "Where the sample rows come from.");
  Schema kafka;
  kafka.add("topic", Type::kString, "Topic that is written to.");
  s.add("kafka", std::move(kafka), "For kafka.");
  Schema layout;
  layout.add("content", Type::kString, "What a file holds.");
  layout.add("mode", Type::kString, "Layout mode in effect.");
  layout.add("prune", Type::kBoolean, "Whether stale files are deleted.");
  layout.add_strings("samplePaths", "Up to three example paths.").atomic_list();
  s.add("layout", std::move(layout), "For git and gitlab.");
  Schema mongodb;
  mongodb.add_strings("expectedIndexKeys", "Keys of the unique index.").atomic_list();
  s.add("mongodb", std::move(mongodb), "For mongodb.");
  s.add("objectPath", Type::kString, "Path or object key of the document for a sample inventory.");
  Schema postgres;
  postgres.add("expectedDDL", Type::kString, "Statement that creates the table.");
  s.add("postgres", std::move(postgres), "For postgres.");
  s.add("provisioningMode", Type::kString, "Provisioning mode in effect.");
  s.add("renderedAt", Type::kString, "When the preview was made.").format("date-time");
  s.add("serializationFormat", Type::kString, "Format in effect.");
  s.add_strings("warnings", "What to keep in mind.").atomic_list();
  return s;
}

}  // namespace

Schema profile_status() {
  Schema s;
  add_conditions(s, "Conditions of the profile.");
  return s;
}

Schema target_status() {
  Schema s;
  s.add("activeResourceRules", Type::kInteger, "Number of resource rules.");
  s.add("collectedCount", Type::kInteger, "Rows that the target held when it was last ready.")
      .format("int64");
  s.add("collectedCountUpdatedAt", Type::kString, "When collectedCount last changed.")
      .format("date-time");
  add_conditions(s, "Ready, Synced, SinkReachable and Degraded.");
  add_namespace_lists(s);
  s.add("extractionFailures", Type::kInteger, "Objects whose extraction fails at present.");
  s.add("lastExtractionError", Type::kString, "Latest extraction error.");
  add_observed_generation(s);
  return s;
}

Schema inventory_status() {
  Schema s;
  add_conditions(s, "Ready, Synced, SinkReachable, Degraded and ExportShardWarning.");
  s.add("itemCount", Type::kInteger, "Rows of the namespace.");
  s.add("lastExportTime", Type::kString, "When any sink was last written to.").format("date-time");
  add_observed_generation(s);
  add_sink_exports(s);
  return s;
}

Schema sink_status() {
  Schema s;
  add_conditions(s, "ConnectionVerified, TLSInsecure and Degraded.");
  s.add("preview", preview(), "What an export would do; there while the preview annotation is.");
  return s;
}

Schema connection_test_status() {
  Schema s;
  s.add("completed", Type::kBoolean, "The probe is over.");
  s.add("completedAt", Type::kString, "When the probe was over.").format("date-time");
  add_conditions(s, "ConnectionVerified and Ready.");
  s.add("latencyMs", Type::kInteger, "Duration of the probe in milliseconds.").format("int64");
  add_observed_generation(s);
  return s;
}

Schema cluster_target_status() {
  Schema s;
  s.add("activeResourceRules", Type::kInteger, "Number of resource rules.");
  add_conditions(s, "Ready, Synced and Degraded.");
  add_namespace_lists(s);
  add_observed_generation(s);
  return s;
}

Schema cluster_inventory_status() {
  Schema s;
  add_conditions(s, "Ready, Synced, ExportSucceeded, SinkReachable and Degraded.");
  s.add("itemCount", Type::kInteger, "Rows of the rollup.");
  s.add("lastExportTime", Type::kString, "When any sink was last written to.").format("date-time");
  s.add("namespaceShardCount", Type::kInteger, "Number of namespaces that have rows.");
  Schema shard;
  shard.add("checksum", Type::kString, "Fingerprint of the rows.");
  shard.add("itemCount", Type::kInteger, "Rows of the namespace.");
  shard.add("namespace", Type::kString, "The namespace.").required();
  shard.add("targetCount", Type::kInteger, "Targets that gave rows.");
  s.add_list("namespaceShards", std::move(shard), "What each namespace contributes.")
      .map_by("namespace");
  add_observed_generation(s);
  add_sink_exports(s);
  s.add("targetCount", Type::kInteger, "Cluster targets that are rolled up.");
  return s;
}

}  // namespace kollect::api
