// What a write brings with it: a namespace's content, a definition's kind and its objects.
#include <limits>

#include "sandbox/definitions.h"
#include "sandbox/writer.h"

namespace kollect::sandbox {

using base::json::Value;

void Writer::empty_namespace(const std::string& name) {
  const auto catalog = registry_.catalog();
  const auto ns = store_.get("/namespaces", name);
  if (name.empty() || !ns) return;
  const ServedPtr served = catalog->find("", "v1", "namespaces");
  Value manifest = to_manifest(*served, *ns);
  if (metadata_text(manifest, "deletionTimestamp").empty()) return;
  std::size_t left = 0;
  for (const ServedPtr& kind : catalog->all()) {
    if (!kind->namespaced || kind->create_only) continue;
    const auto page = store_.page(kind->resource(), store_.rv(), "", name + "/",
                                  std::numeric_limits<std::size_t>::max());
    for (const Entry& entry : page ? page->entries : std::vector<Entry>{}) {
      Call call;
      call.served = kind;
      call.ns = name;
      call.name = entry.key.substr(name.size() + 1);
      const auto removed = remove(call, Value());
      if (removed && !removed->gone) ++left;
    }
  }
  if (left > 0 || !metadata_strings(manifest, "finalizers").empty()) return;
  if (!store_.get("/namespaces", name)) return;  // an object of it came here before us
  commit(*served, name, to_body(std::move(manifest)), true);
}

// ---- definitions

void Writer::follow_definition(const Entry& entry, bool deleted) {
  const ServedPtr served =
      registry_.catalog()->find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  if (deleted) {
    registry_.set_custom(entry.key, {});
    return;
  }
  Value definition = to_manifest(*served, entry);
  registry_.set_custom(entry.key, served_by(definition));
  if (establish(definition, base::format_rfc3339_seconds(clock_.now()))) {
    store_.put(served->resource(), entry.key, to_body(std::move(definition)));
  }
}

std::size_t Writer::empty_definition(const Value& definition) {
  std::size_t left = 0;
  const auto kinds = served_by(definition);
  if (kinds.empty()) return left;
  const auto page = store_.page(kinds.front()->resource(), store_.rv(), "", "",
                                std::numeric_limits<std::size_t>::max());
  for (const Entry& entry : page ? page->entries : std::vector<Entry>{}) {
    const std::size_t slash = entry.key.find('/');
    Call call;
    call.served = kinds.front();
    if (slash != std::string::npos) call.ns = entry.key.substr(0, slash);
    call.name = entry.key.substr(slash == std::string::npos ? 0 : slash + 1);
    const auto removed = remove(call, Value());
    if (removed && !removed->gone) ++left;
  }
  return left;
}

void Writer::finish_definition(const Served& served) {
  if (!served.custom || store_.count(served.resource(), "") > 0) return;
  const ServedPtr definitions =
      registry_.catalog()->find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  const std::string name = qualified(served.plural, served.group);
  const auto entry = store_.get(definitions->resource(), name);
  if (!entry) return;
  Value definition = to_manifest(*definitions, *entry);
  if (metadata_text(definition, "deletionTimestamp").empty()) return;
  metadata_of(definition).erase("finalizers");
  commit(*definitions, name, to_body(std::move(definition)), true);
}

}  // namespace kollect::sandbox
