#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "install/rights.h"
#include "select/selection.h"

namespace kollect::install {

namespace {

using Names = std::vector<std::string>;

const Names kVerbs = {"list", "watch"};
constexpr const char* kDefaultSecretNamespace = "kollect-system";

bool contains(const Names& list, const std::string& one) {
  return std::ranges::find(list, one) != list.end();
}

/// The scope that counts: the first by name.
template <class T>
const T* first_scope(const std::vector<T>& scopes, const std::string& ns) {
  const T* found = nullptr;
  for (const T& scope : scopes) {
    if (scope.metadata.ns == ns &&
        (found == nullptr || scope.metadata.name < found->metadata.name)) {
      found = &scope;
    }
  }
  return found;
}

select::NamespaceLimits limits_of(const Mode& mode, const api::ScopeSpec* scope) {
  select::NamespaceLimits limits{.default_included = mode.default_included,
                                 .default_excluded = mode.default_excluded,
                                 .watch_namespaces = mode.watch_namespaces,
                                 .allowed = {},
                                 .denied = {}};
  if (scope != nullptr) {
    limits.allowed = scope->allowed_namespaces;
    limits.denied = scope->denied_namespaces;
  }
  return limits;
}

/// The namespaces that may be read from, where they can be told beforehand. Nothing: any.
base::Result<std::optional<Names>> places_of(const select::Selection& selection,
                                             const select::NamespaceLimits& limits,
                                             const api::CollectionFilter& filter, const Mode& mode,
                                             const std::string& own) {
  Names known = selection.included_namespaces();
  if (known.empty()) known = limits.default_included;
  if (selection.uses_namespace_selectors()) {
    if (mode.tenant) {
      return base::configuration(
          "namespaces are chosen by labels, which nobody knows in tenant mode; name them in "
          "includedNamespaces");
    }
  } else if (known.empty() && mode.tenant) {
    known = {own};
  }
  for (const Names* list : {&limits.watch_namespaces, &limits.allowed}) {
    if (list->empty()) continue;
    if (known.empty()) {
      known = *list;
    } else {
      std::erase_if(known, [&](const std::string& ns) { return !contains(*list, ns); });
      if (known.empty()) return std::optional<Names>(Names());
    }
  }
  if (known.empty()) return std::optional<Names>();
  std::erase_if(known, [&](const std::string& ns) {
    return contains(filter.excluded_namespaces, ns) || contains(limits.default_excluded, ns) ||
           contains(limits.denied, ns);
  });
  return std::optional<Names>(std::move(known));
}

struct Reader {
  const Objects& objects;
  const Mode& mode;
  const Namer& namer;

  base::Result<Rights> read(const select::Filter& filter, const api::GroupVersionKind& kind,
                            const api::ScopeSpec* scope, const std::string& own) const {
    KL_ASSIGN(const auto selection, select::Selection::compile(filter, kind));
    KL_ASSIGN(const auto places,
              places_of(selection, limits_of(mode, scope), *filter.common, mode, own));
    Rights rights;
    for (const api::GroupVersionKind& one : selection.kinds()) {
      KL_ASSIGN(const kube::Resource resource, namer(one));
      if (!resource.namespaced && mode.tenant) {
        return base::configuration(
            fmt::format("{} has no namespaces; it cannot be read in tenant mode", one.kind));
      }
      if (!resource.namespaced || !places) {
        rights.allow("", resource.group, resource.plural, kVerbs);
        continue;
      }
      for (const std::string& ns : *places) {
        rights.allow(ns, resource.group, resource.plural, kVerbs);
      }
    }
    return rights;
  }

  [[nodiscard]] const api::Profile* profile(const std::string& ns, const std::string& name) const {
    for (const api::Profile& one : objects.profiles) {
      if (one.metadata.ns == ns && one.metadata.name == name) return &one;
    }
    return nullptr;
  }

  [[nodiscard]] base::Result<Rights> of(const api::Target& target) const {
    const api::TargetSpec& spec = target.spec;
    const std::string& ns = target.metadata.ns;
    const api::Profile* used = profile(ns, spec.profile_ref);
    if (used == nullptr) {
      return base::not_found(fmt::format("there is no profile {}/{}", ns, spec.profile_ref));
    }
    const api::Scope* scope = first_scope(objects.scopes, ns);
    return read(
        {.common = &spec,
         .namespace_selector = spec.namespace_selector ? &*spec.namespace_selector : nullptr,
         .label_selector = spec.label_selector ? &*spec.label_selector : nullptr,
         .names = &spec.names,
         .opt_in = false},
        used->spec.target_gvk, scope == nullptr ? nullptr : &scope->spec, ns);
  }

  [[nodiscard]] base::Result<Rights> of(const api::ClusterTarget& target) const {
    const api::ClusterTargetSpec& spec = target.spec;
    if (mode.tenant) return base::configuration("this kind is not used in tenant mode");
    const api::Profile* used = profile(spec.profile_ref.ns, spec.profile_ref.name);
    if (used == nullptr) {
      return base::not_found(
          fmt::format("there is no profile {}/{}", spec.profile_ref.ns, spec.profile_ref.name));
    }
    const api::ClusterScope* scope = first_scope(objects.cluster_scopes, "");
    const bool chosen = spec.namespace_selector && !spec.namespace_selector->empty();
    return read(
        {.common = &spec, .namespace_selector = chosen ? &*spec.namespace_selector : nullptr},
        used->spec.target_gvk, scope == nullptr ? nullptr : &scope->spec, "");
  }
};

/// Collects what sinks name.
struct SecretNames {
  Rights& rights;
  const Names& verbs;

  void add(const api::SecretReference& reference, const std::string& ns) const {
    if (reference.name.empty()) return;
    const std::string home = ns.empty() ? kDefaultSecretNamespace : ns;
    rights.allow(reference.ns.empty() ? home : reference.ns, "", "secrets", verbs, reference.name);
  }
  void add_all(const api::SinkCommon& spec,
               const std::vector<std::optional<api::SecretReference>>& more,
               const std::string& ns) const {
    if (spec.secret_ref) add(*spec.secret_ref, ns);
    if (spec.tls && spec.tls->ca_secret_ref) add(*spec.tls->ca_secret_ref, ns);
    for (const auto& reference : more) {
      if (reference) add(*reference, ns);
    }
  }
};

}  // namespace

std::vector<TargetRights> collection_rights(const Objects& objects, const Mode& mode,
                                            const Namer& namer) {
  const Reader reader{.objects = objects, .mode = mode, .namer = namer};
  std::vector<TargetRights> found;
  for (const api::Target& target : objects.targets) {
    found.push_back(
        {.title = fmt::format("KollectTarget {}/{}", target.metadata.ns, target.metadata.name),
         .rights = reader.of(target)});
  }
  for (const api::ClusterTarget& target : objects.cluster_targets) {
    found.push_back(
        {.title = "KollectClusterTarget " + target.metadata.name, .rights = reader.of(target)});
  }
  if (!found.empty()) return found;
  for (const api::Profile& profile : objects.profiles) {
    const std::string& ns = profile.metadata.ns;
    const api::CollectionFilter everything;
    const api::Scope* scope = first_scope(objects.scopes, ns);
    found.push_back({.title = fmt::format("KollectProfile {}/{}", ns, profile.metadata.name),
                     .rights = reader.read({.common = &everything}, profile.spec.target_gvk,
                                           scope == nullptr ? nullptr : &scope->spec, ns)});
  }
  return found;
}

Rights secret_rights(const Objects& objects, SecretUse use) {
  Rights rights;
  const Names verbs = use == SecretUse::kRead ? Names{"get"} : Names{"get", "list", "watch"};
  const SecretNames names{.rights = rights, .verbs = verbs};
  for (const api::SnapshotSink& sink : objects.snapshot_sinks) {
    const auto& git = sink.spec.git;
    names.add_all(sink.spec, {git && git->auth ? git->auth->secret_ref : std::nullopt},
                  sink.metadata.ns);
  }
  for (const api::DatabaseSink& sink : objects.database_sinks) {
    const api::DatabaseSinkSpec& spec = sink.spec;
    using Reference = std::optional<api::SecretReference>;
    names.add_all(spec,
                  {spec.postgres ? Reference(spec.postgres->database_ref) : std::nullopt,
                   spec.mongodb ? Reference(spec.mongodb->database_ref) : std::nullopt,
                   spec.bigquery ? spec.bigquery->secret_ref : std::nullopt},
                  sink.metadata.ns);
  }
  for (const api::EventSink& sink : objects.event_sinks) {
    const api::EventSinkSpec& spec = sink.spec;
    names.add_all(spec,
                  {spec.kafka ? spec.kafka->secret_ref : std::nullopt,
                   spec.nats ? spec.nats->secret_ref : std::nullopt},
                  sink.metadata.ns);
  }
  return rights;
}

}  // namespace kollect::install
