#include "manager/admission_lookup.h"

#include <algorithm>

#include "base/json/document.h"

namespace kollect::manager {

namespace {

/// The API server waits ten seconds for our answer.
constexpr base::Duration kReadLimit = std::chrono::seconds(5);

/// The objects of a list.
template <class T>
class Listed final : public kube::ListReceiver {
 public:
  explicit Listed(std::string kind) : kind_(std::move(kind)) {}
  base::Result<> begin() override {
    objects.clear();
    return {};
  }
  base::Result<> page(std::string_view json_text) override {
    KL_ASSIGN(const base::json::Document document, base::json::Document::parse(json_text));
    const auto items = document.root().find("items");
    if (!items || items->type() != base::json::Type::kArray) return {};
    for (const base::json::View item : items->items()) {
      objects.push_back(
          std::make_shared<const Cached<T>>(read_cached<T>(kind_, base::json::to_value(item))));
    }
    return {};
  }
  std::vector<typename ObjectCache<T>::Ptr> objects;

 private:
  const std::string kind_;
};

}  // namespace

bool AdmissionLookup::is_watched(std::string_view ns) const {
  return watched_.empty() || std::ranges::find(watched_, ns) != watched_.end();
}

template <class T>
base::Result<std::optional<T>> AdmissionLookup::first(const ObjectCache<T>& cache,
                                                      const std::string& kind,
                                                      std::string_view ns) const {
  std::vector<typename ObjectCache<T>::Ptr> objects;
  if (cache.synced(std::string(ns)) && (ns.empty() || is_watched(ns))) {
    objects = cache.in_namespace(std::string(ns));
  } else {
    Listed<T> listed(kind);
    kube::ListQuery query;
    query.resource = resource_of(kind);
    query.ns = ns;
    KL_TRY(client_.list(base::Context(clock_, {}).with_timeout(kReadLimit), query, listed));
    objects = std::move(listed.objects);
  }
  const auto least = std::ranges::min_element(
      objects, {}, [](const auto& object) -> const std::string& { return object->meta().name; });
  if (least == objects.end()) return std::nullopt;
  if ((*least)->problem) {
    return (*least)->problem->with_prefix(kind + " " + (*least)->meta().name);
  }
  return (*least)->object;
}

base::Result<std::optional<api::Profile>> AdmissionLookup::profile(std::string_view ns,
                                                                   std::string_view name) const {
  const Key key{.ns = std::string(ns), .name = std::string(name)};
  if (caches_.profiles.synced(key.ns) && is_watched(ns)) {
    const auto known = caches_.profiles.get(key);
    return known && !known->problem ? std::optional(known->object) : std::nullopt;
  }
  const auto text = client_.get(base::Context(clock_, {}).with_timeout(kReadLimit),
                                resource_of("KollectProfile"), key.ns, key.name);
  if (!text && text.error().kind == base::ErrorKind::kNotFound) return std::nullopt;
  if (!text) return text.error();
  KL_ASSIGN(const base::json::Document document, base::json::Document::parse(*text));
  auto read = read_cached<api::Profile>("KollectProfile", base::json::to_value(document.root()));
  return read.problem ? std::nullopt : std::optional(std::move(read.object));
}

base::Result<std::optional<api::Scope>> AdmissionLookup::scope(std::string_view ns) const {
  return first(caches_.scopes, "KollectScope", ns);
}

base::Result<std::optional<api::ClusterScope>> AdmissionLookup::cluster_scope() const {
  return first(caches_.cluster_scopes, "KollectClusterScope", "");
}

}  // namespace kollect::manager
