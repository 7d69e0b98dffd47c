#include "pipeline/init/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/admission.h"
#include "api/codec.h"
#include "base/strings.h"
#include "base/yaml/write.h"

namespace kollect::pipeline::init {

namespace {

api::Profile profile_of(const Plan& plan) {
  api::Profile profile;
  profile.metadata.name = plan.name;
  profile.metadata.ns = plan.target_namespace;
  if (plan.allow_secret_extraction)
    profile.metadata.annotations[api::kAllowSecretExtraction] = "true";
  profile.spec.target_gvk = plan.kind;
  for (const PlannedAttribute& planned : plan.attributes) {
    api::Attribute attribute;
    attribute.name = planned.name;
    attribute.path = planned.path;
    attribute.type = planned.type;
    if (planned.optional) attribute.optional = true;
    profile.spec.attributes.push_back(std::move(attribute));
  }
  return profile;
}

/// With a policy the object filter has to stand in the rule, since rules silence the target's own
/// filters.
api::ResourceRule rule_of(const Plan& plan) {
  api::ResourceRule rule;
  rule.gvk = plan.kind;
  rule.match_policy = plan.match_policy;
  if (plan.object_selector) {
    rule.match_labels = plan.object_selector->match_labels;
    rule.match_expressions = plan.object_selector->match_expressions;
  }
  return rule;
}

api::Target target_of(const Plan& plan) {
  api::Target target;
  target.metadata.name = plan.name;
  target.metadata.ns = plan.target_namespace;
  target.spec.profile_ref = plan.name;
  target.spec.included_namespaces = plan.included_namespaces;
  target.spec.namespace_selector = plan.namespace_selector;
  if (plan.match_policy.empty() || !plan.names.empty()) {
    target.spec.label_selector = plan.object_selector;
    target.spec.names = plan.names;
  } else {
    target.spec.resource_rules.push_back(rule_of(plan));
  }
  return target;
}

base::Result<> check_one(const base::json::Value& manifest,
                         const std::vector<base::json::Value>& existing) {
  const admission::Verdict verdict = admission::review(manifest, existing, {});
  if (verdict.stage == admission::Verdict::Stage::kAccept) return {};
  std::vector<std::string> texts;
  for (const auto& error : verdict.errors) {
    texts.push_back(error.path.empty() ? error.message : error.path + ": " + error.message);
  }
  return base::configuration("the manifests would be refused: " + base::join(texts, "; "));
}

/// Splits at commas and blanks that are not inside parentheses; "k in (a,b)" stays one term.
std::vector<std::string> selector_terms(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  int depth = 0;
  auto flush = [&] {
    if (!word.empty()) words.push_back(std::exchange(word, {}));
  };
  for (char c : text) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (depth == 0 && (c == ',' || c == ' ' || c == '\t')) {
      flush();
    } else if (!(depth > 0 && (c == ' ' || c == '\t'))) {
      word += c;
    }
  }
  flush();
  std::vector<std::string> terms;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i + 2 < words.size() && (words[i + 1] == "in" || words[i + 1] == "notin")) {
      terms.push_back(words[i] + " " + words[i + 1] + " " + words[i + 2]);
      i += 2;
    } else {
      terms.push_back(words[i]);
    }
  }
  return terms;
}

base::Result<> add_set_term(const std::string& term, std::size_t at, bool negated,
                            api::LabelSelector& selector) {
  std::string_view list = base::trim(std::string_view(term).substr(at));
  if (list.size() < 3 || list.front() != '(' || list.back() != ')') {
    return base::configuration("selector \"" + term + "\": write the values as (a,b)");
  }
  api::LabelSelectorRequirement requirement;
  requirement.key = base::trim(std::string_view(term).substr(0, term.find(' ')));
  requirement.op = negated ? "NotIn" : "In";
  for (std::string_view value : base::split(list.substr(1, list.size() - 2), ',')) {
    requirement.values.emplace_back(base::trim(value));
  }
  selector.match_expressions.push_back(std::move(requirement));
  return {};
}

base::Result<> add_term(const std::string& term, api::LabelSelector& selector) {
  if (const std::size_t at = term.find(" in "); at != std::string::npos) {
    return add_set_term(term, at + 4, false, selector);
  }
  if (const std::size_t at = term.find(" notin "); at != std::string::npos) {
    return add_set_term(term, at + 7, true, selector);
  }
  if (const std::size_t at = term.find("!="); at != std::string::npos && at > 0) {
    selector.match_expressions.push_back({term.substr(0, at), "NotIn", {term.substr(at + 2)}});
    return {};
  }
  if (const std::size_t at = term.find('='); at != std::string::npos) {
    if (at == 0)
      return base::configuration("selector \"" + term + "\": a label key must stand before '='");
    const std::size_t value =
        term.starts_with("==") || term.substr(at).starts_with("==") ? at + 2 : at + 1;
    selector.match_labels[term.substr(0, at)] = term.substr(value);
    return {};
  }
  if (term.starts_with("!") && term.size() > 1) {
    selector.match_expressions.push_back({term.substr(1), "DoesNotExist", {}});
  } else {
    selector.match_expressions.push_back({term, "Exists", {}});
  }
  return {};
}

}  // namespace

std::string profile_yaml(const Plan& plan) {
  return base::yaml::write(api::encode(profile_of(plan)));
}
std::string target_yaml(const Plan& plan) {
  return base::yaml::write(api::encode(target_of(plan)));
}

base::Result<> check(const Plan& plan) {
  for (const std::string& name : {plan.name, plan.target_namespace}) {
    if (!base::is_dns1123_label(name)) {
      return base::configuration(fmt::format(
          "\"{}\" is no name for manifests: use lower-case letters, digits and '-', at most 63, "
          "beginning and ending with a letter or digit",
          name));
    }
  }
  const base::json::Value profile = api::encode(profile_of(plan));
  KL_TRY(check_one(profile, {}));
  return check_one(api::encode(target_of(plan)), {profile});
}

base::Result<api::LabelSelector> parse_selector(std::string_view text) {
  api::LabelSelector selector;
  for (const std::string& term : selector_terms(text)) KL_TRY(add_term(term, selector));
  if (selector.empty())
    return base::configuration("the selector is empty: write for example app=web");
  return selector;
}

std::string default_name(const api::GroupVersionKind& kind) {
  return base::to_lower(kind.kind);
}

}  // namespace kollect::pipeline::init
