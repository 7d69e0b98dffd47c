#include "select/label_selector.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace kollect::select {
namespace {

constexpr std::size_t kMaxName = 63;

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Letters, digits, '-', '_', '.', alphanumeric at both ends, at most 63.
bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxName) return false;
  if (!is_alnum(text.front()) || !is_alnum(text.back())) return false;
  return std::ranges::all_of(
      text, [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_label_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return is_name(key);
  return base::is_dns1123_subdomain(key.substr(0, slash)) && is_name(key.substr(slash + 1));
}

base::Result<> check_key(std::string_view key) {
  if (is_label_key(key)) return {};
  return base::configuration(fmt::format("\"{}\" is not a label key", key));
}

base::Result<> check_value(std::string_view key, std::string_view value) {
  if (value.empty() || is_name(value)) return {};
  return base::configuration(fmt::format("\"{}\" (key {}) is not a label value", value, key));
}

}  // namespace

base::Result<LabelSelector> LabelSelector::compile(const api::LabelSelector& selector) {
  LabelSelector compiled;
  for (const auto& [key, value] : selector.match_labels) {
    KL_TRY(check_key(key));
    KL_TRY(check_value(key, value));
    compiled.requirements_.push_back({key, Operator::kIn, {value}});
  }
  for (const api::LabelSelectorRequirement& part : selector.match_expressions) {
    KL_TRY(check_key(part.key));
    Requirement requirement{part.key, Operator::kIn, part.values};
    const bool wants_values = part.op == "In" || part.op == "NotIn";
    if (part.op == "In") {
      requirement.op = Operator::kIn;
    } else if (part.op == "NotIn") {
      requirement.op = Operator::kNotIn;
    } else if (part.op == "Exists") {
      requirement.op = Operator::kExists;
    } else if (part.op == "DoesNotExist") {
      requirement.op = Operator::kDoesNotExist;
    } else {
      return base::configuration(
          fmt::format("operator \"{}\" (key {}) is none of In, NotIn, Exists, DoesNotExist",
                      part.op, part.key));
    }
    if (wants_values && part.values.empty()) {
      return base::configuration(
          fmt::format("operator {} (key {}) needs at least one value", part.op, part.key));
    }
    if (!wants_values && !part.values.empty()) {
      return base::configuration(
          fmt::format("operator {} (key {}) takes no values", part.op, part.key));
    }
    for (const std::string& value : part.values) KL_TRY(check_value(part.key, value));
    compiled.requirements_.push_back(std::move(requirement));
  }
  return compiled;
}

template <class Lookup>
bool LabelSelector::matches_with(const Lookup& lookup) const {
  for (const Requirement& requirement : requirements_) {
    const std::optional<std::string_view> value = lookup(requirement.key);
    const auto listed = [&] {
      return std::ranges::find(requirement.values, *value) != requirement.values.end();
    };
    bool holds = false;
    switch (requirement.op) {
      case Operator::kIn:
        holds = value && listed();
        break;
      case Operator::kNotIn:
        holds = !value || !listed();
        break;
      case Operator::kExists:
        holds = value.has_value();
        break;
      case Operator::kDoesNotExist:
        holds = !value.has_value();
        break;
    }
    if (!holds) return false;
  }
  return true;
}

bool LabelSelector::matches(const Labels& labels) const {
  return matches_with([&](const std::string& key) -> std::optional<std::string_view> {
    const auto it = labels.find(key);
    if (it == labels.end()) return std::nullopt;
    return it->second;
  });
}

bool LabelSelector::matches(std::optional<base::json::View> labels) const {
  return matches_with([&](const std::string& key) -> std::optional<std::string_view> {
    if (!labels) return std::nullopt;
    const auto value = labels->find(key);
    if (!value || !value->is_string()) return std::nullopt;
    return value->as_string();
  });
}

std::string LabelSelector::to_query() const {
  std::vector<std::string> parts;
  for (const Requirement& requirement : requirements_) {
    const std::string values = base::join(requirement.values, ",");
    switch (requirement.op) {
      case Operator::kIn:
        parts.push_back(requirement.values.size() == 1
                            ? fmt::format("{}={}", requirement.key, values)
                            : fmt::format("{} in ({})", requirement.key, values));
        break;
      case Operator::kNotIn:
        parts.push_back(fmt::format("{} notin ({})", requirement.key, values));
        break;
      case Operator::kExists:
        parts.push_back(requirement.key);
        break;
      case Operator::kDoesNotExist:
        parts.push_back("!" + requirement.key);
        break;
    }
  }
  return base::join(parts, ",");
}

}  // namespace kollect::select
