#include "fleet/drift.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "base/hash.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::fleet {

using base::json::Value;

namespace {

constexpr std::array<std::string_view, kDrifts> kNames = {
    "missing",   "extra",      "disabled",   "differs", "not_ready",
    "suspended", "unreadable", "unobserved", "stale",   "unknown_cluster"};

constexpr std::string_view kRelease = "HelmRelease";
constexpr std::string_view kKustomization = "Kustomization";
constexpr std::string_view kOci = "OCIRepository";
constexpr std::string_view kHelmSource = "HelmRepository";
constexpr std::string_view kNamespaceKind = "Namespace";
constexpr std::string_view kBinding = "ClusterRoleBinding";

constexpr std::string_view kObjects = "platform-";
constexpr std::string_view kCharts = "charts-";

/// The set of deploy/fleet/cluster that renders a kind.
std::string_view set_of(std::string_view kind) {
  if (kind == kNamespaceKind) return "namespaces";
  return kind == kBinding ? "rolebindings" : "platform-components";
}

Family family_of(std::string_view kind) {
  if (kind == kNamespaceKind) return Family::kNamespace;
  return kind == kBinding ? Family::kRoleBinding : Family::kComponent;
}

/// What the templates' slugify leaves as it is.
bool is_slug(std::string_view id, std::size_t most) {
  const auto fine = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !id.empty() && id.size() <= most && fine(id.front()) && fine(id.back()) &&
         id.find("--") == std::string_view::npos &&
         std::ranges::all_of(id, [&](char c) { return fine(c) || c == '-'; });
}

std::string hash_of(std::string_view id) {
  return base::sha256_hex(id).substr(0, 8);
}

std::string_view without_prefix(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}
std::string_view without_suffix(std::string_view text, std::string_view suffix) {
  return text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text;
}

/// What a component's input says, put together as the templates do.
struct Wanted {
  std::string path;
  std::string url;
  std::string tag;
  std::string chart_version;  ///< "": the newest
  bool oci = false;
};

Wanted wanted_of(const Value& cluster, const Value& reference, const Value& definition) {
  const auto own = [&](const char* key) {
    const Value* override = reference.find(key);
    return std::string(override != nullptr && override->is_string() ? override->as_string()
                                                                    : definition.text(key));
  };
  Wanted out;
  const std::string given = own("component_path");
  std::string_view path = without_prefix(given, "./");
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  out.path = path;
  const Value* by_environment = definition.find("cluster_env_enabled");
  if (by_environment != nullptr && by_environment->is_bool() && by_environment->as_bool()) {
    out.path = without_prefix(fmt::format("{}/{}", path, cluster.text("environment")), "/");
  }
  out.url = definition.text("oci_url");
  out.oci = out.url.starts_with("oci://");
  out.tag = own("oci_tag");
  out.chart_version = out.tag;
  if (out.tag.empty() || out.tag == "latest") {
    out.chart_version = definition.text("component_version");
  }
  if (out.chart_version == "latest") out.chart_version.clear();
  if (out.tag.empty()) out.tag = "latest";
  return out;
}

/// Subjects as Kubernetes keeps them, those that the template leaves out left out.
std::set<std::string> subjects_of(const Value* list) {
  std::set<std::string> out;
  if (list == nullptr || !list->is_array()) return out;
  for (const Value& one : list->as_array()) {
    const std::string_view kind = one.text("kind");
    const std::string_view name = one.text("name");
    const std::string_view ns = one.text("namespace");
    if (kind.empty() || name.empty() || (kind == "ServiceAccount" && ns.empty())) continue;
    out.insert(ns.empty() ? fmt::format("{} {}", kind, name)
                          : fmt::format("{} {}/{}", kind, ns, name));
  }
  return out;
}

std::string joined(const std::set<std::string>& texts) {
  return base::join(std::vector<std::string>(texts.begin(), texts.end()), ", ");
}

class Join {
 public:
  Join(const Value& cluster, const AnyDefinition& definition,
       const std::vector<ObservedObject>& objects)
      : cluster_(cluster), definition_(definition) {
    for (const ObservedObject& object : objects) objects_.push_back({.object = &object});
    const auto place = [](const Seen& seen) {
      return std::tie(seen.object->kind, seen.object->ns, seen.object->name);
    };
    std::ranges::stable_sort(objects_, [&](const Seen& a, const Seen& b) {
      return place(a) != place(b) ? place(a) < place(b) : a.object->since > b.object->since;
    });
    const auto repeated = std::ranges::unique(
        objects_, [&](const Seen& a, const Seen& b) { return place(a) == place(b); });
    objects_.erase(repeated.begin(), repeated.end());
  }

  std::vector<Finding> run() {
    each(Family::kComponent, [this](const Value& reference, const Value& definition) {
      component(reference, definition);
    });
    each(Family::kNamespace,
         [this](const Value&, const Value& definition) { name_space(definition); });
    each(Family::kRoleBinding,
         [this](const Value&, const Value& definition) { role_binding(definition); });
    extras();
    return std::move(findings_);
  }

 private:
  struct Seen {
    const ObservedObject* object = nullptr;
    bool claimed = false;
  };

  template <class Visit>
  void each(Family family, const Visit& visit) {
    family_ = family;
    const Value* references = cluster_.find(references_of(family));
    if (references == nullptr || !references->is_array()) return;
    for (const Value& reference : references->as_array()) {
      id_ = reference.text("id");
      const Value* definition = definition_(family, id_);
      if (definition != nullptr) visit(reference, *definition);
    }
  }

  static bool made_by_us(const ObservedObject& object) {
    return object.text("set") == set_of(object.kind);
  }
  /// May be ours: by its set, or by its name where no set claims it.
  static bool may_be_ours(const ObservedObject& object) {
    if (!object.text("set").empty()) return made_by_us(object);
    return family_of(object.kind) == Family::kComponent && object.name.starts_with(kObjects);
  }

  /// An object of that name, one that our set made first.
  const ObservedObject* claim(std::string_view kind, const RenderedName& name) {
    Seen* best = nullptr;
    for (Seen& seen : objects_) {
      const ObservedObject& one = *seen.object;
      if (seen.claimed || one.kind != kind || !may_be_ours(one) || !name.fits(one.name)) continue;
      if (best == nullptr || (made_by_us(one) && !made_by_us(*best->object))) best = &seen;
    }
    if (best == nullptr) return nullptr;
    best->claimed = true;
    return best->object;
  }

  Finding& add(Drift drift, const ObservedObject* object) {
    Finding& out = findings_.emplace_back();
    out.drift = drift;
    out.family = family_;
    out.id = id_;
    if (object == nullptr) return out;
    out.kind = object->kind;
    out.ns = object->ns;
    out.name = object->name;
    out.since = object->since;
    return out;
  }
  void missing(std::string_view kind, const RenderedName& name) {
    Finding& out = add(Drift::kMissing, nullptr);
    out.kind = kind;
    out.name = name.shown();
  }
  void compare(const ObservedObject& object, std::string_view field, std::string_view expected,
               std::string_view observed) {
    if (expected == observed) return;
    Finding& out = add(Drift::kDiffers, &object);
    out.field = field;
    out.expected = expected;
    out.observed = observed;
  }
  void compare_name(const ObservedObject& object, std::string_view field,
                    const RenderedName& expected, std::string_view observed) {
    if (!expected.fits(observed)) compare(object, field, expected.shown(), observed);
  }
  /// Does Flux do what the object says?
  void works(const ObservedObject& object) {
    if (object.is("suspended")) add(Drift::kSuspended, &object);
    if (object.is("ready")) return;
    Finding& out = add(Drift::kNotReady, &object);
    out.observed = object.text("applied");
    const std::string_view reason = object.text("reason");
    const std::string_view message = object.text("message");
    out.message = reason.empty() ? std::string(message) : fmt::format("{}: {}", reason, message);
  }

  void component(const Value& reference, const Value& definition) {
    const auto objects = RenderedName::of_component(kObjects, id_);
    const auto charts = RenderedName::of_component(kCharts, id_);
    const Value* enabled = reference.find("enabled");
    if (enabled != nullptr && enabled->is_bool() && !enabled->as_bool()) {
      for (const auto& [kind, name] :
           {std::pair(kRelease, &objects), std::pair(kKustomization, &objects),
            std::pair(kOci, &objects), std::pair(kOci, &charts), std::pair(kHelmSource, &charts)}) {
        while (const ObservedObject* object = claim(kind, *name)) add(Drift::kDisabled, object);
      }
      return;
    }
    const Wanted wanted = wanted_of(cluster_, reference, definition);
    const ObservedObject* release = claim(kRelease, objects);
    const ObservedObject* kustomization = claim(kKustomization, objects);
    if (release != nullptr) this->release(*release, wanted, charts);
    if (kustomization != nullptr) this->kustomization(*kustomization, wanted, objects);
    if (release == nullptr && kustomization == nullptr) missing(form(), objects);
  }

  void release(const ObservedObject& release, const Wanted& wanted, const RenderedName& charts) {
    if (wanted.oci) {
      compare_name(release, "chart_source", charts, release.text("chartRef"));
    } else {
      compare(release, "chart", wanted.path, release.text("chart"));
      const std::string_view version = release.text("chartVersion");
      compare(release, "version", wanted.chart_version.empty() ? "*" : wanted.chart_version,
              version.empty() ? "*" : version);
      compare_name(release, "chart_source", charts, release.text("repository"));
    }
    works(release);
    const std::string_view kind = wanted.oci ? kOci : kHelmSource;
    const ObservedObject* source = claim(kind, charts);
    if (source == nullptr) return missing(kind, charts);
    if (!wanted.oci) {
      compare(*source, "url", wanted.url, source->text("url"));
    } else {
      const std::string chart = fmt::format("{}/{}", without_suffix(wanted.url, "/"), wanted.path);
      compare(*source, "url", without_suffix(chart, "/"), source->text("url"));
      reference(*source, wanted.chart_version);
    }
    works(*source);
  }

  void kustomization(const ObservedObject& kustomization, const Wanted& wanted,
                     const RenderedName& name) {
    compare(kustomization, "path", "./" + wanted.path, kustomization.text("path"));
    compare_name(kustomization, "source", name, kustomization.text("source"));
    works(kustomization);
    const ObservedObject* source = claim(kOci, name);
    if (source == nullptr) return missing(kOci, name);
    compare(*source, "url", wanted.url, source->text("url"));
    reference(*source, wanted.tag);
    works(*source);
  }

  /// What a source points at; no tag: the newest.
  void reference(const ObservedObject& source, std::string_view tag) {
    compare(source, "tag", tag, source.text("tag"));
    compare(source, "semver", tag.empty() ? "*" : "", source.text("semver"));
    compare(source, "digest", "", source.text("digest"));
  }

  void name_space(const Value&) {
    const auto name = RenderedName::of_namespace(id_);
    const ObservedObject* object = claim(kNamespaceKind, name);
    if (object == nullptr) return missing(kNamespaceKind, name);
    const std::string_view phase = object->text("phase");
    if (!phase.empty() && phase != "Active") {
      add(Drift::kNotReady, object).message = fmt::format("phase {}", phase);
    }
  }

  void role_binding(const Value& definition) {
    const auto name = RenderedName::of_role_binding(id_);
    const ObservedObject* object = claim(kBinding, name);
    if (object == nullptr) return missing(kBinding, name);
    compare(*object, "role", definition.text("role"), object->text("role"));
    compare(*object, "subjects", joined(subjects_of(definition.find("subjects"))),
            joined(subjects_of(object->attributes.find("subjects"))));
  }

  void extras() {
    for (const Seen& seen : objects_) {
      const ObservedObject& one = *seen.object;
      if (seen.claimed || !may_be_ours(one) || one.is("kept")) continue;
      family_ = family_of(one.kind);
      id_ = one.name;
      if (family_ == Family::kComponent) {
        id_ = without_prefix(without_prefix(one.name, kObjects), kCharts);
      }
      add(Drift::kExtra, &one);
    }
  }

  /// The kind that stands for a component here, as far as can be told.
  [[nodiscard]] std::string_view form() const {
    for (const Seen& seen : objects_) {
      const std::string_view kind = seen.object->kind;
      if (kind == kRelease || kind == kKustomization) return kind;
    }
    return "";
  }

  const Value& cluster_;
  const AnyDefinition& definition_;
  std::vector<Seen> objects_;
  Family family_ = Family::kComponent;
  std::string id_;
  std::vector<Finding> findings_;
};

}  // namespace

std::string_view name_of(Drift drift) {
  return kNames.at(static_cast<std::size_t>(drift));
}

std::optional<Drift> drift_named(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Drift>(found - kNames.begin());
}

RenderedName::RenderedName(std::string_view prefix, std::string_view id, bool exact)
    : exact_(fmt::format("{}{}", prefix, id)), shown_(exact_) {
  if (exact) return;
  prefix_ = prefix;
  hash_ = hash_of(id);
  shown_ = fmt::format("{}*-{}", prefix, hash_);
}

RenderedName RenderedName::of_component(std::string_view prefix, std::string_view id) {
  constexpr std::size_t kMost = 53;
  return {prefix, id, is_slug(id, kMost)};
}

RenderedName RenderedName::of_namespace(std::string_view id) {
  constexpr std::size_t kMost = 63;
  return {"", id, is_slug(id, kMost)};
}

RenderedName RenderedName::of_role_binding(std::string_view id) {
  return {
      "", id,
      id.find_first_of("/%") == std::string_view::npos && !id.empty() && id != "." && id != ".."};
}

bool RenderedName::fits(std::string_view name) const {
  if (name == exact_) return true;
  if (hash_.empty() || !name.starts_with(prefix_)) return false;
  const std::string_view rest = name.substr(prefix_.size());
  return rest == hash_ || rest.ends_with("-" + hash_);
}

std::vector<Finding> drift_of(const Value& cluster, const AnyDefinition& definition,
                              const std::vector<ObservedObject>& objects) {
  return Join(cluster, definition, objects).run();
}

}  // namespace kollect::fleet
