// Where the descriptions of the structs and kinds are found. Internal to the room; other rooms use
// codec.h.
#pragma once

#include <string>
#include <vector>

#include "api/codec.h"
#include "api/shape.h"
#include "api/types.h"

namespace kollect::api {

#define KOLLECT_DESCRIBED(T) \
  template <>                \
  const Shape<T>& shape<T>()
KOLLECT_DESCRIBED(Metadata);
KOLLECT_DESCRIBED(GroupVersionKind);
KOLLECT_DESCRIBED(LabelSelectorRequirement);
KOLLECT_DESCRIBED(LabelSelector);
KOLLECT_DESCRIBED(SecretReference);
KOLLECT_DESCRIBED(ObjectReference);
KOLLECT_DESCRIBED(Attribute);
KOLLECT_DESCRIBED(Prune);
KOLLECT_DESCRIBED(ExportSpec);
KOLLECT_DESCRIBED(Metric);
KOLLECT_DESCRIBED(ProfileSpec);
KOLLECT_DESCRIBED(ResourceRule);
KOLLECT_DESCRIBED(TargetSpec);
KOLLECT_DESCRIBED(ClusterTargetSpec);
KOLLECT_DESCRIBED(SinkReference);
KOLLECT_DESCRIBED(HttpEndpoint);
KOLLECT_DESCRIBED(InventorySpec);
KOLLECT_DESCRIBED(ClusterInventorySpec);
KOLLECT_DESCRIBED(LayoutFilename);
KOLLECT_DESCRIBED(LayoutIndex);
KOLLECT_DESCRIBED(Layout);
KOLLECT_DESCRIBED(ProvisioningNaming);
KOLLECT_DESCRIBED(Provisioning);
KOLLECT_DESCRIBED(Serialization);
KOLLECT_DESCRIBED(SinkTls);
KOLLECT_DESCRIBED(GitAuth);
KOLLECT_DESCRIBED(GitAuthor);
KOLLECT_DESCRIBED(GitSettings);
KOLLECT_DESCRIBED(MergeRequest);
KOLLECT_DESCRIBED(GitlabSettings);
KOLLECT_DESCRIBED(HttpSettings);
KOLLECT_DESCRIBED(ObjectStoreSettings);
KOLLECT_DESCRIBED(SnapshotSinkSpec);
KOLLECT_DESCRIBED(BigquerySettings);
KOLLECT_DESCRIBED(MongodbSettings);
KOLLECT_DESCRIBED(PostgresSettings);
KOLLECT_DESCRIBED(SqliteSettings);
KOLLECT_DESCRIBED(DatabaseSinkSpec);
KOLLECT_DESCRIBED(KafkaSettings);
KOLLECT_DESCRIBED(NatsSettings);
KOLLECT_DESCRIBED(EventSinkSpec);
KOLLECT_DESCRIBED(ScopeSpec);
KOLLECT_DESCRIBED(ClusterScopeSpec);
KOLLECT_DESCRIBED(ConnectionTestSinkRef);
KOLLECT_DESCRIBED(ConnectionTestSpec);
#undef KOLLECT_DESCRIBED

/// A column that `kubectl get` shows.
struct PrinterColumn {
  std::string name;
  std::string type;
  std::string json_path;
};

/// Everything about one kind.
struct KindDescription {
  KindInfo info;
  std::vector<PrinterColumn> columns;
  Schema root;  ///< schema of the whole object
};

/// The eleven kinds in the order of spec crds 1.
const std::vector<KindDescription>& kind_descriptions();
const KindDescription* find_description(std::string_view kind);

// Status schemas (describe_status.cc). They have no structs yet: nothing reads them.
Schema profile_status();
Schema target_status();
Schema inventory_status();
Schema sink_status();
Schema connection_test_status();
Schema cluster_target_status();
Schema cluster_inventory_status();

}  // namespace kollect::api
