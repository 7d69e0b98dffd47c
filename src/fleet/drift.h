// Drift: what a cluster should have against what it was seen to have.
//
// Names, versions and paths are those that the sets of deploy/fleet/cluster make of an input.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json/value.h"
#include "fleet/model.h"
#include "fleet/observed.h"

namespace kollect::fleet {

enum class Drift : std::uint8_t {
  kMissing,         ///< wanted, not there
  kExtra,           ///< there, made by our sets, wanted by nobody
  kDisabled,        ///< there, disabled for this cluster
  kDiffers,         ///< there with another version, tag, path, address, role, ...
  kNotReady,        ///< there as wanted, and does not work
  kSuspended,       ///< Flux is told to leave it alone
  kUnreadable,      ///< a row that is no row
  kUnobserved,      ///< a cluster of the fleet that the inventory does not know
  kStale,           ///< a cluster that was last seen too long ago
  kUnknownCluster,  ///< a cluster of the inventory that the fleet does not know
};
inline constexpr std::size_t kDrifts = 10;
/// "missing", "extra", "disabled", "differs", "not_ready", "suspended", "unreadable", "unobserved",
/// "stale", "unknown_cluster"
std::string_view name_of(Drift drift);
std::optional<Drift> drift_named(std::string_view name);

struct Finding {
  Drift drift = Drift::kMissing;
  std::optional<Family> family = {};  ///< of definitions; none: about the cluster as a whole
  std::string id = {};                ///< of the component, ...; of kExtra the object's name
  std::string kind = {};              ///< of the object; "": not known
  std::string ns = {};
  std::string name = {};
  std::string field = {};  ///< of kDiffers
  std::string expected = {};
  std::string observed = {};
  std::string message = {};
  /// When what is observed became as it is; none: nothing is observed.
  std::optional<base::WallTime> since = {};
};

/// The name of a rendered object. Ids that Kubernetes would not take as a name are made fit; how
/// they begin then is not told, but they end in a hash of the id.
class RenderedName {
 public:
  static RenderedName of_component(std::string_view prefix, std::string_view id);
  static RenderedName of_namespace(std::string_view id);
  static RenderedName of_role_binding(std::string_view id);

  [[nodiscard]] bool fits(std::string_view name) const;
  /// For people: "*" stands for what is not told.
  [[nodiscard]] const std::string& shown() const { return shown_; }

 private:
  RenderedName(std::string_view prefix, std::string_view id, bool exact);
  std::string prefix_;
  std::string exact_;
  std::string hash_;  ///< "": only the exact one
  std::string shown_;
};

/// A definition; null when there is none (its reference is skipped, as polls skip it).
using AnyDefinition = std::function<const base::json::Value*(Family family, std::string_view id)>;

/// What a cluster's record and the definitions say against the objects: in the order of the
/// record's references, then what is extra by kind, namespace and name. Of several rows of one
/// object the youngest counts.
std::vector<Finding> drift_of(const base::json::Value& cluster, const AnyDefinition& definition,
                              const std::vector<ObservedObject>& objects);

}  // namespace kollect::fleet
