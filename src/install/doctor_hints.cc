#include "install/doctor_hints.h"

#include <algorithm>
#include <array>

namespace kollect::install {
namespace {

struct Hint {
  std::string_view reason;
  std::string_view text;
};

constexpr std::array kHints = {
    // Held.
    Hint{"Suspended", "set spec.suspend to false"},
    Hint{"ScopeLookupFailed",
         "scopes must be readable: kollect crds installs the definitions, kollect rbac prints the "
         "rights, kollect validate finds a scope that makes no sense"},
    Hint{"ScopeGVKDenied", "collect another kind, or have this one listed in allowedGVKs"},
    Hint{"ScopeNamespaceDenied",
         "narrow includedNamespaces or the selector to what the scope allows, or have the "
         "namespace allowed"},
    Hint{"ScopeResourceExportDenied",
         "use a profile that exports attributes, or have allowResourceExport set in the scope"},
    Hint{"ScopeSinkDenied", "take the sink out of the inventory, or have the scope list it"},
    Hint{"SinkNamespaceDenied",
         "use a sink and a profile of a namespace in allowedStaticRefNamespaces of the cluster "
         "scope"},
    // Targets.
    Hint{"MissingProfileRef", "name a KollectProfile of the same namespace in spec.profileRef"},
    Hint{"ProfileNotFound",
         "a target uses a KollectProfile of its own namespace; a cluster target names namespace "
         "and name"},
    Hint{"ProfileForbidden",
         "kollect rbac prints the right to read profiles; the profile's namespace must be among "
         "--watch-namespaces"},
    Hint{"InformerRegistrationFailed",
         "kollect rbac --discover FILES prints the rights; kubectl api-resources shows what is "
         "served"},
    Hint{"AccessCheckFailed",
         "the API server does not say what may be listed: see its health, and the right to create "
         "selfsubjectaccessreviews"},
    Hint{"ScopeForbidden",
         "kollect rbac FILES prints the right that is missing; or exclude these namespaces"},
    Hint{"ExtractionFailed",
         "kollect extract --live tries the profile and explains; \"optional: true\" lets an "
         "attribute be absent"},
    Hint{"InventoryListFailed", "kollect rbac prints the right to list inventories"},
    // Sinks.
    Hint{"SinkNotFound", "sinks are of the inventory's own namespace"},
    Hint{"SinkForbidden",
         "kollect rbac prints the right to read sinks; the sink's namespace must be among "
         "--watch-namespaces"},
    Hint{"SinkLookupFailed",
         "kollect crds installs the definitions; kollect validate names the field of the sink that "
         "makes no sense"},
    Hint{"SinkUnreachable",
         "the sink's last probe failed: kubectl kollect sinks tells why. When that is mended, "
         "kubectl kollect trigger probes it at once"},
    Hint{"SecretResolveFailed",
         "the Secret is in the sink's namespace, or allows it by the annotation "
         "kollect.dev/allow-references-from; its keys are in docs/databases.md and docs/git.md"},
    Hint{"ConnectionTestFailed",
         "check the sink's address, Secret and certificate, and that the operator's network "
         "reaches the server; it is probed again by itself"},
    Hint{"InsecureSkipVerify", "name the authority in tls.caSecretRef or tls.caBundle instead"},
    Hint{"InvalidSinkRef", "give exactly one of snapshotSinkRef, databaseSinkRef and eventSinkRef"},
    // Exports.
    Hint{"PartiallySynced", "kubectl kollect sinks tells which sink fails, and why"},
    Hint{"ExportFailed", "kubectl kollect sinks tells why; it is tried again by itself"},
    Hint{"Progressing",
         "every export fails, and is tried again: see the message. A deleted inventory that need "
         "not clean up is let go by the annotation kollect.dev/deletion-policy: retain"},
    Hint{"ExportTerminal",
         "waiting does not mend it: correct what the message names (credentials, rights, table, "
         "branch, path) in the sink or in its Secret; it is tried again on a change and every ten "
         "minutes"},
    Hint{"PayloadTooLarge",
         "one row alone is larger than maxExportBytes: read fewer attributes, prune more, or raise "
         "the limit"},
    Hint{"SpillRequired", "use an object store or a database for so many rows"},
    Hint{"CleanupTerminal",
         "mend the sink, or delete it: then the inventory goes. Or remove its finalizer"},
    Hint{"ApproachingExportCap",
         "use a layout by resource or a database, or divide the namespace's targets"},
    Hint{"NoTargets",
         "compare targetRefs, targetSelector, namespaces and namespaceSelector with the cluster "
         "targets"},
    Hint{"TargetDegraded", "see the cluster target that is named; what was exported stays"},
    Hint{"NameConflict", "rename one of the two inventories"},
    Hint{"ExportUnavailable",
         "kollect crds installs the definitions of sinks, kollect rbac prints the rights to read "
         "them"},
};

}  // namespace

std::string hint_for(std::string_view reason) {
  const auto* found = std::ranges::find(kHints, reason, &Hint::reason);
  return found == kHints.end() ? std::string() : std::string(found->text);
}

}  // namespace kollect::install
