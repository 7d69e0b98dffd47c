#include "sandbox/selectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/strings.h"

namespace kollect::sandbox {

using base::json::View;

namespace {

/// Splits at commas outside parentheses.
std::vector<std::string_view> split_requirements(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] == ',' && depth == 0) {
      out.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  out.push_back(text.substr(begin));
  return out;
}

Status unparsable(std::string_view text) {
  return bad_request(fmt::format(
      "unable to parse requirement: found '{}', expected: identifier, '!', operator or value",
      text));
}

bool is_word(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  });
}

bool is_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  const std::string_view name = slash == std::string_view::npos ? key : key.substr(slash + 1);
  if (slash != std::string_view::npos && !base::is_dns1123_subdomain(key.substr(0, slash))) {
    return false;
  }
  return !name.empty() && name.size() <= 63 && is_word(name);
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Text of a scalar as field selectors see it.
std::string scalar_text(View value) {
  if (value.is_string()) return std::string(value.as_string());
  if (value.is_number()) return std::string(value.number_text());
  if (value.is_bool()) return value.as_bool() ? "true" : "false";
  return {};
}

}  // namespace

Outcome<LabelQuery::Requirement> LabelQuery::parse_one(std::string_view text) {
  text = base::trim(text);
  Requirement out;
  const auto finish = [&](std::string_view key) -> Outcome<Requirement> {
    key = base::trim(key);
    if (!is_key(key)) return std::unexpected(unparsable(text));
    out.key = key;
    for (const std::string& value : out.values) {
      if (value.size() > 63 || !is_word(value)) return std::unexpected(unparsable(text));
    }
    return out;
  };
  if (text.starts_with('!')) {
    out.op = Operator::kAbsent;
    return finish(text.substr(1));
  }
  const std::size_t open = text.find('(');
  if (open != std::string_view::npos) {
    if (!text.ends_with(')')) return std::unexpected(unparsable(text));
    const std::string_view head = base::trim(text.substr(0, open));
    const std::size_t blank = head.find_last_of(" \t");
    if (blank == std::string_view::npos) return std::unexpected(unparsable(text));
    const std::string_view word = head.substr(blank + 1);
    if (word != "in" && word != "notin") return std::unexpected(unparsable(text));
    out.op = word == "in" ? Operator::kIn : Operator::kNotIn;
    for (const auto value : base::split(text.substr(open + 1, text.size() - open - 2), ',')) {
      out.values.emplace_back(base::trim(value));
    }
    return finish(head.substr(0, blank));
  }
  const std::size_t sign = text.find_first_of("=!<>");
  if (sign == std::string_view::npos) {
    out.op = Operator::kExists;
    return finish(text);
  }
  std::string_view value = text.substr(sign + 1);
  switch (text[sign]) {
    case '=':
      out.op = Operator::kIn;
      if (value.starts_with('=')) value.remove_prefix(1);
      break;
    case '!':
      if (!value.starts_with('=')) return std::unexpected(unparsable(text));
      value.remove_prefix(1);
      out.op = Operator::kNotIn;
      break;
    default:
      out.op = text[sign] == '>' ? Operator::kGreater : Operator::kLess;
      if (!integer(base::trim(value))) return std::unexpected(unparsable(text));
      break;
  }
  out.values.emplace_back(base::trim(value));
  return finish(text.substr(0, sign));
}

Outcome<LabelQuery> LabelQuery::parse(std::string_view text) {
  LabelQuery out;
  if (base::trim(text).empty()) return out;
  for (const std::string_view part : split_requirements(text)) {
    SB_ASSIGN(auto requirement, parse_one(part));
    out.requirements_.push_back(std::move(requirement));
  }
  return out;
}

bool LabelQuery::matches(std::optional<View> labels) const {
  return std::ranges::all_of(requirements_, [&](const Requirement& one) {
    const auto found = labels ? labels->find(one.key) : std::nullopt;
    const bool present = found && found->is_string();
    const std::string_view value = present ? found->as_string() : std::string_view{};
    const auto number = integer(value);
    switch (one.op) {
      case Operator::kExists:
        return present;
      case Operator::kAbsent:
        return !present;
      case Operator::kIn:
        return present && std::ranges::find(one.values, value) != one.values.end();
      case Operator::kNotIn:
        return !present || std::ranges::find(one.values, value) == one.values.end();
      case Operator::kGreater:
        return number && *number > *integer(one.values.front());
      case Operator::kLess:
        return number && *number < *integer(one.values.front());
    }
    return false;
  });
}

Outcome<FieldQuery> FieldQuery::parse(std::string_view text) {
  FieldQuery out;
  if (base::trim(text).empty()) return out;
  for (const std::string_view part : base::split(text, ',')) {
    if (part.empty()) continue;
    const std::size_t sign = part.find_first_of("=!");
    if (sign == std::string_view::npos || sign == 0) {
      return std::unexpected(
          bad_request(fmt::format("invalid selector: '{}'; can't understand '{}'", text, part)));
    }
    Term term;
    term.field = part.substr(0, sign);
    term.equal = part[sign] == '=';
    std::string_view value = part.substr(sign + 1);
    if (!term.equal && !value.starts_with('=')) {
      return std::unexpected(
          bad_request(fmt::format("invalid selector: '{}'; can't understand '{}'", text, part)));
    }
    if (value.starts_with('=')) value.remove_prefix(1);
    term.value = value;
    for (const auto step : base::split(term.field, '.')) term.path.emplace_back(step);
    out.terms_.push_back(std::move(term));
  }
  return out;
}

Outcome<> FieldQuery::check(const std::vector<std::string>& selectable) const {
  for (const Term& term : terms_) {
    if (term.field == "metadata.name" || term.field == "metadata.namespace") continue;
    if (std::ranges::find(selectable, term.field) == selectable.end()) {
      return std::unexpected(bad_request(fmt::format("field label not supported: {}", term.field)));
    }
  }
  return {};
}

bool FieldQuery::matches(View object) const {
  return std::ranges::all_of(terms_, [&](const Term& term) {
    std::optional<View> at = object;
    for (const std::string& step : term.path) {
      if (at) at = at->find(step);
    }
    return ((at ? scalar_text(*at) : std::string()) == term.value) == term.equal;
  });
}

std::optional<std::string> FieldQuery::wanted(std::string_view field) const {
  for (const Term& term : terms_) {
    if (term.field == field && term.equal) return term.value;
  }
  return std::nullopt;
}

}  // namespace kollect::sandbox
