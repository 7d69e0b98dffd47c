#include "api/codec.h"

#include "api/describe.h"

namespace kollect::api {

namespace {

using base::json::Value;

template <class T>
constexpr const char* kKindOf = nullptr;
template <>
constexpr const char* kKindOf<Profile> = "KollectProfile";
template <>
constexpr const char* kKindOf<Target> = "KollectTarget";
template <>
constexpr const char* kKindOf<Inventory> = "KollectInventory";
template <>
constexpr const char* kKindOf<SnapshotSink> = "KollectSnapshotSink";
template <>
constexpr const char* kKindOf<DatabaseSink> = "KollectDatabaseSink";
template <>
constexpr const char* kKindOf<EventSink> = "KollectEventSink";
template <>
constexpr const char* kKindOf<Scope> = "KollectScope";
template <>
constexpr const char* kKindOf<ConnectionTest> = "KollectConnectionTest";
template <>
constexpr const char* kKindOf<ClusterTarget> = "KollectClusterTarget";
template <>
constexpr const char* kKindOf<ClusterInventory> = "KollectClusterInventory";
template <>
constexpr const char* kKindOf<ClusterScope> = "KollectClusterScope";

}  // namespace

template <class T>
base::Result<T> decode(const Value& object) {
  if (!object.is_object()) {
    return base::configuration(
        fmt::format("a manifest must be an object, got {}", object.type_name()));
  }
  if (object.text("kind") != kKindOf<T> || object.text("apiVersion") != kApiVersion) {
    return base::configuration(fmt::format("expected {} of {}, got kind \"{}\", apiVersion \"{}\"",
                                           kKindOf<T>, kApiVersion, object.text("kind"),
                                           object.text("apiVersion")));
  }
  T out;
  if (const Value* metadata = object.find("metadata");
      metadata != nullptr && !metadata->is_null()) {
    KL_TRY(shape<Metadata>().read(*metadata, out.metadata, "metadata"));
  }
  if (const Value* spec = object.find("spec"); spec != nullptr && !spec->is_null()) {
    using Spec = decltype(out.spec);
    KL_TRY(shape<Spec>().read(*spec, out.spec, "spec"));
  }
  return out;
}

base::Result<ProfileSpec> decode_profile_spec(const Value& spec) {
  ProfileSpec out;
  KL_TRY(shape<ProfileSpec>().read(spec, out, "spec"));
  return out;
}

template <class T>
Value encode(const T& object) {
  base::json::Object out;
  out.set("apiVersion", kApiVersion);
  out.set("kind", kKindOf<T>);
  out.set("metadata", shape<Metadata>().write(object.metadata));
  using Spec = std::remove_cvref_t<decltype(object.spec)>;
  out.set("spec", shape<Spec>().write(object.spec));
  return out;
}

#define KOLLECT_CODEC(T)                            \
  template base::Result<T> decode<T>(const Value&); \
  template Value encode<T>(const T&)
KOLLECT_CODEC(Profile);
KOLLECT_CODEC(Target);
KOLLECT_CODEC(Inventory);
KOLLECT_CODEC(SnapshotSink);
KOLLECT_CODEC(DatabaseSink);
KOLLECT_CODEC(EventSink);
KOLLECT_CODEC(Scope);
KOLLECT_CODEC(ConnectionTest);
KOLLECT_CODEC(ClusterTarget);
KOLLECT_CODEC(ClusterInventory);
KOLLECT_CODEC(ClusterScope);
#undef KOLLECT_CODEC

}  // namespace kollect::api
