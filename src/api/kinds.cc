// The eleven kinds: names, columns, and the schema of the whole object (spec: crds 1, 2.1).
#include "api/describe.h"

#include <algorithm>

namespace kollect::api {

namespace {

using Type = Schema::Type;

constexpr const char* kSpecDoc = "What is wanted.";
constexpr const char* kStatusDoc = "What was found. Written by the operator.";

struct Names {
  const char* kind;
  const char* plural;
  const char* short_name;
  bool namespaced = true;
};

KindDescription describe(const Names& names, const char* doc, const Schema& spec,
                         std::optional<Schema> status, bool metadata_required = false) {
  KindDescription kind;
  std::string plural = names.plural;
  std::string singular = names.kind;
  std::transform(singular.begin(), singular.end(), singular.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  kind.info = {names.kind,       plural,           singular,
               names.short_name, names.namespaced, status.has_value()};
  kind.root.doc = doc;
  kind.root.add("apiVersion", Type::kString,
                "Group and version of this object: kollect.dev/v1alpha1.");
  kind.root.add("kind", Type::kString, "Kind of this object.");
  kind.root.add("metadata", Type::kObject, "").is_required = metadata_required;
  kind.root.add("spec", spec, kSpecDoc).required();
  if (status) {
    kind.root.add("status", std::move(*status), kStatusDoc);
  }
  return kind;
}

std::vector<KindDescription> describe_all() {
  std::vector<KindDescription> all;
  all.push_back(describe({"KollectProfile", "kollectprofiles", "kprof"},
                         "KollectProfile says which values to read from the objects of one kind.",
                         shape<ProfileSpec>().schema(), profile_status()));
  all.push_back(describe({"KollectTarget", "kollecttargets", "ktgt"},
                         "KollectTarget picks the objects that a profile of its namespace reads.",
                         shape<TargetSpec>().schema(), target_status()));
  all.back().columns = {{"Collected", "integer", ".status.collectedCount"},
                        {"Updated", "date", ".status.collectedCountUpdatedAt"},
                        {"Age", "date", ".metadata.creationTimestamp"}};
  all.push_back(describe(
      {"KollectInventory", "kollectinventories", "kinv"},
      "KollectInventory gathers the rows of its namespace's targets and exports them to sinks.",
      shape<InventorySpec>().schema(), inventory_status()));
  all.push_back(describe(
      {"KollectSnapshotSink", "kollectsnapshotsinks", "ksnap"},
      "KollectSnapshotSink is a place for whole inventories: a Git repository or a bucket.",
      shape<SnapshotSinkSpec>().schema(), sink_status()));
  all.push_back(
      describe({"KollectDatabaseSink", "kollectdatabasesinks", "kdb"},
               "KollectDatabaseSink is a database that holds one row per collected object.",
               shape<DatabaseSinkSpec>().schema(), sink_status()));
  all.push_back(describe({"KollectEventSink", "kollecteventsinks", "kevt"},
                         "KollectEventSink is a stream that is told of every export.",
                         shape<EventSinkSpec>().schema(), sink_status()));
  all.push_back(
      describe({"KollectScope", "kollectscopes", "kscope"},
               "KollectScope limits what the targets and inventories of its namespace may do.",
               shape<ScopeSpec>().schema(), std::nullopt, true));
  all.push_back(describe({"KollectConnectionTest", "kollectconnectiontests", "kconntest"},
                         "KollectConnectionTest probes one sink and keeps the result.",
                         shape<ConnectionTestSpec>().schema(), connection_test_status(), true));
  all.back().columns = {
      {"Sink", "string", ".spec.sinkRef"},
      {"Verified", "string", ".status.conditions[?(@.type==\"ConnectionVerified\")].status"}};
  all.push_back(describe({"KollectClusterTarget", "kollectclustertargets", "kctgt", false},
                         "KollectClusterTarget picks objects over many namespaces.",
                         shape<ClusterTargetSpec>().schema(), cluster_target_status()));
  all.push_back(describe(
      {"KollectClusterInventory", "kollectclusterinventories", "kcinv", false},
      "KollectClusterInventory rolls up the rows of cluster targets and exports them to sinks.",
      shape<ClusterInventorySpec>().schema(), cluster_inventory_status()));
  all.push_back(
      describe({"KollectClusterScope", "kollectclusterscopes", "kcscope", false},
               "KollectClusterScope limits what cluster targets and cluster inventories may do.",
               shape<ClusterScopeSpec>().schema(), std::nullopt, true));
  return all;
}

}  // namespace

const std::vector<KindDescription>& kind_descriptions() {
  static const std::vector<KindDescription> kAll = describe_all();
  return kAll;
}

const KindDescription* find_description(std::string_view kind) {
  for (const KindDescription& description : kind_descriptions()) {
    if (description.info.kind == kind) {
      return &description;
    }
  }
  return nullptr;
}

const std::vector<KindInfo>& kinds() {
  static const std::vector<KindInfo> kAll = [] {
    std::vector<KindInfo> all;
    for (const KindDescription& description : kind_descriptions()) {
      all.push_back(description.info);
    }
    return all;
  }();
  return kAll;
}

const KindInfo* find_kind(std::string_view kind) {
  for (const KindInfo& info : kinds()) {
    if (info.kind == kind) {
      return &info;
    }
  }
  return nullptr;
}

}  // namespace kollect::api
