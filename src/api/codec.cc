#include "api/codec.h"

#include "api/describe.h"

namespace kollect::api {

namespace {

using base::json::Value;

/// The kinds once, for their names and for the templates at the end of the file.
#define KOLLECT_EACH_KIND(DO) \
  DO(Profile)                 \
  DO(Target)                  \
  DO(Inventory)               \
  DO(SnapshotSink)            \
  DO(DatabaseSink)            \
  DO(EventSink)               \
  DO(Scope)                   \
  DO(ConnectionTest)          \
  DO(ClusterTarget)           \
  DO(ClusterInventory)        \
  DO(ClusterScope)

template <class T>
constexpr const char* kKindOf = nullptr;
#define KOLLECT_NAME(T) \
  template <>           \
  constexpr const char* kKindOf<T> = "Kollect" #T;
KOLLECT_EACH_KIND(KOLLECT_NAME)
#undef KOLLECT_NAME

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
  template Value encode<T>(const T&);
KOLLECT_EACH_KIND(KOLLECT_CODEC)
#undef KOLLECT_CODEC
#undef KOLLECT_EACH_KIND

}  // namespace kollect::api
