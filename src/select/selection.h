// Which objects a target takes (spec: selection). One implementation for operator and one-shot
// commands (L-8).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/types.h"
#include "base/json/document.h"
#include "base/result.h"
#include "select/label_selector.h"

namespace kollect::select {

/// A namespace as selection sees it.
struct Namespace {
  std::string name;
  Labels labels;
  Labels annotations;
};
/// All known namespaces by name.
using Namespaces = std::map<std::string, Namespace>;

/// Ceilings and defaults from outside the target (spec: selection 4.1). Empty lists restrict
/// nothing.
struct NamespaceLimits {
  std::vector<std::string> default_included;
  std::vector<std::string> default_excluded;
  std::vector<std::string> watch_namespaces;
  std::vector<std::string> allowed;
  std::vector<std::string> denied;
};

struct NamespaceResult {
  std::vector<std::string> matched;    ///< sorted bytewise, unique
  std::vector<std::string> effective;  ///< sorted bytewise, unique
};

/// The collection filter that KollectTarget and KollectClusterTarget share.
struct Filter {
  const api::CollectionFilter* common = nullptr;
  const api::LabelSelector* namespace_selector = nullptr;  ///< nullptr: absent
  const api::LabelSelector* label_selector = nullptr;      ///< KollectTarget only
  const std::vector<std::string>* names = nullptr;         ///< KollectTarget only
  bool opt_in = false;                                     ///< watchMode: OptIn
};

/// Why an object was left out, or that it was taken.
enum class Verdict { kTaken, kWrongKind, kNamespace, kNoMatch, kWatchLabel };

/// Counts of matchPolicy errors (L-4); filled by Selection::judge.
struct PolicyErrors {
  std::uint64_t count = 0;
  std::string last;  ///< object and cause, never object content
};

/// A target's selection, compiled once per target generation. Immutable; shared by threads.
class Selection {
 public:
  /// Errors (configuration): invalid selector or matchPolicy, with the field path in front of the
  /// message.
  static base::Result<Selection> compile(const Filter& filter,
                                         const api::GroupVersionKind& profile_kind);

  /// matched and effective namespaces over all known ones.
  [[nodiscard]] NamespaceResult namespaces(const Namespaces& all,
                                           const NamespaceLimits& limits) const;
  /// True when namespaces must be listed to know the answer: selectors are used, or no explicit
  /// list stands (L-12 lets explicit names through without that right).
  [[nodiscard]] bool needs_namespace_list() const;
  [[nodiscard]] bool uses_namespace_selectors() const;
  [[nodiscard]] const std::vector<std::string>& included_namespaces() const;

  /// Kinds to watch: those of the rules, else the profile's (spec: selection 2). Versions as
  /// written.
  [[nodiscard]] const std::vector<api::GroupVersionKind>& kinds() const;
  /// Names that narrow the read (spec: selection 5 [+]); empty: list everything.
  [[nodiscard]] const std::vector<std::string>& names() const;

  /// labelSelector of a target without rules, as text for the API server; empty when there is none.
  [[nodiscard]] std::string server_label_selector() const;

  /// Judges one object by sections 4 to 8. `group` and `kind` are the object's; `ns` is nullptr for
  /// cluster-scoped objects; `effective` is the sorted effective set (not asked for cluster-scoped
  /// objects). Namespaces that are not known have no labels.
  [[nodiscard]] Verdict judge(base::json::View object, std::string_view group,
                              std::string_view kind, const Namespace* ns, bool namespaced,
                              const std::vector<std::string>& effective,
                              PolicyErrors& policy_errors) const;

 private:
  struct Impl;
  explicit Selection(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace kollect::select
