// A Lease of coordination.k8s.io/v1 as a value, and the requests about one (API reference of
// Kubernetes: LeaseSpec).
#pragma once

#include <string>

#include "base/context.h"
#include "base/json/value.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/objects.h"
#include "manager/leader/election.h"

namespace kollect::manager {

/// leases of coordination.k8s.io/v1.
kube::Resource lease_resource();
/// What a Lease says; members that are missing or odd count as not said.
LeaseRecord lease_record(const base::json::Value& lease);
/// Its `spec`. Times have six digits of a fraction, which the server insists on; no holder is null.
base::json::Value lease_spec(const LeaseRecord& record);

/// One lease on the server. Errors: as kube::Objects. Thread-safe.
class Lease {
 public:
  Lease(kube::Client& client, const std::string& ns, const std::string& name);
  base::Result<LeaseRecord> read(const base::Context& context);
  base::Result<LeaseRecord> create(const base::Context& context, const LeaseRecord& record);
  /// Only from the state record.version; labels and annotations of others stay.
  base::Result<LeaseRecord> update(const base::Context& context, const LeaseRecord& record);

 private:
  kube::Objects objects_;
  kube::ObjectRef ref_;
};

}  // namespace kollect::manager
