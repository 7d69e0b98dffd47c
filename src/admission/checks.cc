#include "admission/checks.h"

#include <set>

#include "base/strings.h"
#include "cel/cel.h"
#include "extract/cel_environment.h"
#include "select/label_selector.h"

namespace kollect::admission {

void check_name_ref(Findings& findings, const std::string& path, std::string_view name) {
  if (base::trim(name).empty()) {
    findings.required(path, "must be the name of an object");
  } else if (name.find('/') != std::string_view::npos) {
    findings.invalid(path, fmt::format("\"{}\" must be a plain name, without \"/\"", name));
  }
}

void check_object_ref(Findings& findings, const std::string& path,
                      const api::ObjectReference& reference) {
  const std::string name_path = path + ".name";
  if (base::trim(reference.name).empty()) {
    findings.required(name_path, "must be the name of an object");
  } else if (reference.name.find('/') != std::string::npos) {
    findings.invalid(name_path,
                     fmt::format("\"{}\" must be a plain name, without \"/\"", reference.name));
  } else if (!base::is_dns1123_subdomain(reference.name)) {
    findings.invalid(name_path, fmt::format("\"{}\" is no valid object name", reference.name));
  }
  const std::string namespace_path = path + ".namespace";
  if (base::trim(reference.ns).empty()) {
    findings.required(namespace_path, "must be given on a cluster-scoped object");
  } else if (!base::is_dns1123_label(reference.ns)) {
    findings.invalid(namespace_path,
                     fmt::format("\"{}\" is no valid namespace name", reference.ns));
  }
}

void check_unique(Findings& findings, const std::string& path,
                  const std::vector<std::string>& values) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    if (values[i].empty()) {
      findings.invalid(at, "must not be empty");
    } else if (!seen.insert(values[i]).second) {
      findings.invalid(at, fmt::format("\"{}\" stands twice", values[i]));
    }
  }
}

void check_gvk(Findings& findings, const std::string& path, const api::GroupVersionKind& gvk) {
  if (gvk.version.empty() || gvk.kind.empty()) {
    findings.required(path, "version and kind must not be empty");
  }
}

std::optional<base::Duration> duration_of(const std::string& text) {
  if (text.empty()) {
    return std::nullopt;
  }
  auto parsed = base::parse_duration(text);
  return parsed.has_value() ? std::optional<base::Duration>(*parsed) : std::nullopt;
}

void check_interval(Findings& findings, const std::string& path, const std::string& text) {
  const auto value = duration_of(text);
  if (!value) {
    return;
  }
  if (*value < base::Duration::zero()) {
    findings.invalid(path,
                     fmt::format("\"{}\" must not be negative", base::format_duration(*value)));
  } else if (*value > std::chrono::hours(24)) {
    findings.invalid(path,
                     fmt::format("\"{}\" must not exceed 24h", base::format_duration(*value)));
  }
}

void check_floor(Findings& findings, const std::string& path, const std::string& text,
                 const std::string& floor) {
  const auto least = duration_of(floor);
  const auto value = duration_of(text);
  if (least && value && *least > base::Duration::zero() && *value < *least) {
    findings.invalid(
        path, fmt::format("{} is below the floor of the scope, {}", base::format_duration(*value),
                          base::format_duration(*least)));
  }
}

void check_selector(Findings& findings, const std::string& path,
                    const std::optional<api::LabelSelector>& selector) {
  if (!selector) {
    return;
  }
  if (auto compiled = select::LabelSelector::compile(*selector); !compiled.has_value()) {
    findings.invalid(path, compiled.error().message);
  }
}

namespace {

/// Labels and expressions of a rule, each reported at its own member.
void check_rule_labels(Findings& findings, const std::string& path, const api::ResourceRule& rule) {
  check_selector(findings, path + ".matchExpressions",
                 api::LabelSelector{rule.match_expressions, {}});
  check_selector(findings, path + ".matchLabels", api::LabelSelector{{}, rule.match_labels});
}

void check_match_policy(Findings& findings, const std::string& path, const std::string& policy) {
  const std::string_view text = base::trim(policy);
  if (text.empty()) {
    return;
  }
  if (auto program = cel::Program::compile(text, extract::attribute_environment());
      !program.has_value()) {
    findings.invalid(path, program.error().message);
  }
}

}  // namespace

void check_resource_rules(Findings& findings, const std::vector<api::ResourceRule>& rules) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string path = fmt::format("spec.resourceRules[{}]", i);
    check_gvk(findings, path + ".gvk", rules[i].gvk);
    check_match_policy(findings, path + ".matchPolicy", rules[i].match_policy);
    check_rule_labels(findings, path, rules[i]);
    check_selector(findings, path + ".namespaceSelector", rules[i].namespace_selector);
  }
}

}  // namespace kollect::admission
