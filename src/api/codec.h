// Manifests to structs and back, the schema, and the CRDs: all from one description per kind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/types.h"
#include "base/json/value.h"
#include "base/result.h"

namespace kollect::api {

/// Names of a kind (spec: crds 1).
struct KindInfo {
  std::string kind;
  std::string plural;
  std::string singular;
  std::string short_name;
  bool namespaced = true;
  bool has_status = true;
};
/// The eleven kinds in the order of spec crds 1.
const std::vector<KindInfo>& kinds();
const KindInfo* find_kind(std::string_view kind);

/// A schema violation: path "spec.attributes[1]" and kind of spec crds 4.3.
struct SchemaError {
  std::string path;
  std::string kind;  ///< Required, Invalid, NotSupported, Duplicate, TooMany, ...
  std::string message;
};

/// Removes unknown fields and returns their paths; fills defaults inside present objects; null for
/// a member with a default becomes the default, any other null goes (spec: crds 2.2 steps 1 to 3).
std::vector<std::string> prune_and_default(std::string_view kind, base::json::Value& object);
/// Names that may stand beside an unknown member: those of its parent's description. `path` as
/// prune_and_default gives it; empty when it leads nowhere.
std::vector<std::string> known_siblings(std::string_view kind, std::string_view path);
/// Types, enums, patterns, bounds, required members, list rules; sorted by path (spec: crds 2.2
/// step 4).
std::vector<SchemaError> validate_schema(std::string_view kind, const base::json::Value& object);

/// Reads a manifest into its struct. The object should have passed prune_and_default and
/// validate_schema; a wrong type or an unparsable duration is a configuration error that names the
/// path. T: Profile, Target, Inventory, ...
template <class T>
base::Result<T> decode(const base::json::Value& object);
/// Reads the spec alone ("kollect extract --profile-spec").
base::Result<ProfileSpec> decode_profile_spec(const base::json::Value& spec);
/// Manifest of a struct: apiVersion, kind, metadata, spec; absent members left out.
template <class T>
base::json::Value encode(const T& object);

/// The CustomResourceDefinitions as one YAML stream (`kollect crds`).
std::string crds_yaml();
/// One CRD as a value.
base::json::Value crd(std::string_view kind);

/// A page of documentation of one kind in Markdown: names and a table of fields, from the same
/// description as the CRD. Empty for a kind that is not ours.
std::string kind_page(std::string_view kind);
/// The page that leads to those of all kinds ("<singular>.md").
std::string kinds_page();

}  // namespace kollect::api
