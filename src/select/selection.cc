#include "select/selection.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "cel/cel.h"

namespace kollect::select {
namespace {

using base::json::View;

constexpr std::string_view kWatchLabel = "kollect.dev/watch";
constexpr std::string_view kNamespaceWatchAnnotation = "kollect.dev/namespace-watch";
constexpr std::string_view kEnabled = "enabled";
constexpr std::string_view kDisabled = "disabled";

struct Rule {
  api::GroupVersionKind gvk;
  std::optional<LabelSelector> namespace_selector;
  LabelSelector labels;
  std::optional<cel::Program> policy;
};

base::Result<LabelSelector> compile_selector(const api::LabelSelector& selector,
                                             const std::string& field) {
  auto compiled = LabelSelector::compile(selector);
  if (!compiled) return compiled.error().with_prefix(field);
  return compiled;
}

base::Result<std::optional<cel::Program>> compile_policy(std::string_view text,
                                                         const std::string& field) {
  const std::string_view expression = base::trim(text);
  if (expression.empty()) return std::optional<cel::Program>();
  cel::Environment environment;
  environment.variables = {{.name = "object", .type = "dyn"}};
  auto program = cel::Program::compile(expression, environment);
  if (!program) return base::configuration(field + ": " + program.error().message);
  return std::optional<cel::Program>(std::move(*program));
}

base::Result<Rule> compile_rule(const api::ResourceRule& rule, const std::string& field) {
  Rule compiled;
  compiled.gvk = rule.gvk;
  if (rule.namespace_selector) {
    KL_ASSIGN(compiled.namespace_selector,
              compile_selector(*rule.namespace_selector, field + ".namespaceSelector"));
  }
  api::LabelSelector labels;
  labels.match_labels = rule.match_labels;
  labels.match_expressions = rule.match_expressions;
  KL_ASSIGN(compiled.labels, compile_selector(labels, field));
  KL_ASSIGN(compiled.policy, compile_policy(rule.match_policy, field + ".matchPolicy"));
  return compiled;
}

std::string_view map_text(const Labels& map, std::string_view key) {
  const auto it = map.find(std::string(key));
  return it == map.end() ? std::string_view() : std::string_view(it->second);
}

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

/// Section 7, first line that fits.
bool watch_labels_allow(std::optional<View> labels, const Namespace* ns, bool opt_in) {
  const std::string_view own = labels ? labels->text(kWatchLabel) : std::string_view();
  if (own == kDisabled) return false;
  if (own == kEnabled) return true;
  if (ns != nullptr) {
    const std::string_view label = map_text(ns->labels, kWatchLabel);
    const std::string_view annotation = map_text(ns->annotations, kNamespaceWatchAnnotation);
    if (label == kDisabled || annotation == kDisabled) return false;
    if (label == kEnabled || annotation == kEnabled) return true;
  }
  return !opt_in;
}

}  // namespace

struct Selection::Impl {
  std::vector<std::string> included;
  std::vector<std::string> excluded;
  std::optional<LabelSelector> namespace_selector;
  std::optional<LabelSelector> exclude_selector;
  std::optional<LabelSelector> label_selector;
  std::vector<std::string> names;
  bool opt_in = false;
  std::vector<Rule> rules;
  std::vector<api::GroupVersionKind> kinds;

  [[nodiscard]] bool matched(const Namespace& ns, const NamespaceLimits& limits) const;
  [[nodiscard]] bool fits_directly(View object, std::optional<View> labels) const;
  [[nodiscard]] bool rule_takes(const Rule& rule, View object, std::optional<View> labels,
                                const Namespace* ns, PolicyErrors& errors) const;
};

bool Selection::Impl::matched(const Namespace& ns, const NamespaceLimits& limits) const {
  const std::vector<std::string>& include = included.empty() ? limits.default_included : included;
  if (!include.empty() && !contains(include, ns.name)) return false;
  if (namespace_selector && !namespace_selector->matches(ns.labels)) return false;
  if (contains(excluded, ns.name) || contains(limits.default_excluded, ns.name)) return false;
  return !exclude_selector || !exclude_selector->matches(ns.labels);
}

bool Selection::Impl::fits_directly(View object, std::optional<View> labels) const {
  if (!names.empty()) {
    const auto name = object.at_path({"metadata", "name"});
    if (!name || !name->is_string() || !contains(names, name->as_string())) return false;
  }
  return !label_selector || label_selector->matches(labels);
}

bool Selection::Impl::rule_takes(const Rule& rule, View object, std::optional<View> labels,
                                 const Namespace* ns, PolicyErrors& errors) const {
  if (rule.namespace_selector && ns != nullptr && !rule.namespace_selector->matches(ns->labels)) {
    return false;
  }
  if (!rule.labels.matches(labels)) return false;
  if (!rule.policy) return true;
  const auto result = rule.policy->evaluate_bool({{.name = "object", .value = object}});
  if (result) return *result;
  ++errors.count;
  const auto name = object.at_path({"metadata", "name"});
  const std::string_view shown = name && name->is_string() ? name->as_string() : "?";
  errors.last = ns == nullptr ? fmt::format("{}: {}", shown, result.error().message)
                              : fmt::format("{}/{}: {}", ns->name, shown, result.error().message);
  return false;
}

base::Result<Selection> Selection::compile(const Filter& filter,
                                           const api::GroupVersionKind& profile_kind) {
  auto impl = std::make_shared<Impl>();
  const api::CollectionFilter& common = *filter.common;
  impl->included = common.included_namespaces;
  impl->excluded = common.excluded_namespaces;
  impl->opt_in = filter.opt_in;
  if (filter.namespace_selector != nullptr) {
    KL_ASSIGN(impl->namespace_selector,
              compile_selector(*filter.namespace_selector, "spec.namespaceSelector"));
  }
  if (common.namespace_exclude_selector) {
    KL_ASSIGN(impl->exclude_selector, compile_selector(*common.namespace_exclude_selector,
                                                       "spec.namespaceExcludeSelector"));
  }
  if (filter.label_selector != nullptr) {
    KL_ASSIGN(impl->label_selector, compile_selector(*filter.label_selector, "spec.labelSelector"));
  }
  for (std::size_t i = 0; i < common.resource_rules.size(); ++i) {
    KL_ASSIGN(Rule rule,
              compile_rule(common.resource_rules[i], fmt::format("spec.resourceRules[{}]", i)));
    const auto same = [&](const api::GroupVersionKind& kind) {
      return kind.group == rule.gvk.group && kind.kind == rule.gvk.kind;
    };
    if (std::ranges::none_of(impl->kinds, same)) impl->kinds.push_back(rule.gvk);
    impl->rules.push_back(std::move(rule));
  }
  if (impl->rules.empty()) {
    impl->kinds.push_back(profile_kind);
    if (filter.names != nullptr) impl->names = *filter.names;
  }
  return Selection(std::move(impl));
}

NamespaceResult Selection::namespaces(const Namespaces& all, const NamespaceLimits& limits) const {
  NamespaceResult result;
  const auto within = [](const std::vector<std::string>& list, const std::string& name) {
    return list.empty() || contains(list, name);
  };
  // The map's order is the bytewise order of names.
  for (const auto& [name, ns] : all) {
    if (!impl_->matched(ns, limits)) continue;
    result.matched.push_back(name);
    if (!contains(limits.denied, name) && within(limits.allowed, name) &&
        within(limits.watch_namespaces, name)) {
      result.effective.push_back(name);
    }
  }
  return result;
}

bool Selection::needs_namespace_list() const {
  return impl_->included.empty() || uses_namespace_selectors();
}

bool Selection::uses_namespace_selectors() const {
  return impl_->namespace_selector || impl_->exclude_selector ||
         std::ranges::any_of(impl_->rules,
                             [](const Rule& rule) { return rule.namespace_selector.has_value(); });
}

const std::vector<std::string>& Selection::included_namespaces() const {
  return impl_->included;
}

const std::vector<api::GroupVersionKind>& Selection::kinds() const {
  return impl_->kinds;
}

const std::vector<std::string>& Selection::names() const {
  return impl_->names;
}

std::string Selection::server_label_selector() const {
  return impl_->rules.empty() && impl_->label_selector ? impl_->label_selector->to_query() : "";
}

Verdict Selection::judge(View object, std::string_view group, std::string_view kind,
                         const Namespace* ns, bool namespaced,
                         const std::vector<std::string>& effective,
                         PolicyErrors& policy_errors) const {
  const auto is_kind = [&](const api::GroupVersionKind& gvk) {
    return gvk.group == group && gvk.kind == kind;
  };
  if (std::ranges::none_of(impl_->kinds, is_kind)) return Verdict::kWrongKind;
  const Namespace* home = namespaced ? ns : nullptr;
  if (namespaced && (home == nullptr || !std::ranges::binary_search(effective, home->name))) {
    return Verdict::kNamespace;
  }
  const auto labels = object.at_path({"metadata", "labels"});
  const bool fits = impl_->rules.empty()
                        ? impl_->fits_directly(object, labels)
                        : std::ranges::any_of(impl_->rules, [&](const Rule& rule) {
                            return is_kind(rule.gvk) &&
                                   impl_->rule_takes(rule, object, labels, home, policy_errors);
                          });
  if (!fits) return Verdict::kNoMatch;
  return watch_labels_allow(labels, home, impl_->opt_in) ? Verdict::kTaken : Verdict::kWatchLabel;
}

}  // namespace kollect::select
