// Compiling, suggestions, and what can be told of a path without an object.
#include "extract/jsonpath.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "extract/jsonpath_ast.h"
#include "extract/jsonpath_parser.h"

namespace kollect::extract {

namespace {

using ast::Filter;
using ast::Operand;
using ast::Path;
using ast::Step;
using base::json::View;
using Kind = ast::Step::Kind;

bool names_place(const Step& step) {
  if (step.kind == Kind::kKey) return true;
  if (step.kind != Kind::kUnion) return false;
  return std::any_of(step.members.begin(), step.members.end(), names_place);
}

bool steps_reach(const std::vector<Step>& steps, bool from_root, std::string_view key);

bool operand_reaches(const Operand& operand, std::string_view key) {
  if (operand.kind == Operand::Kind::kRootPath) return steps_reach(operand.steps, true, key);
  if (operand.kind == Operand::Kind::kElementPath) return steps_reach(operand.steps, false, key);
  return false;
}

bool filter_reaches(const Filter& filter, std::string_view key) {
  return operand_reaches(filter.left, key) || operand_reaches(filter.right, key) ||
         std::any_of(filter.children.begin(), filter.children.end(),
                     [&](const Filter& child) { return filter_reaches(child, key); });
}

bool step_reaches(const Step& step, bool at_root, std::string_view key) {
  switch (step.kind) {
    case Kind::kKey:
      return base::iequals(step.key, key);
    case Kind::kUnion:
      return std::any_of(step.members.begin(), step.members.end(),
                         [&](const Step& member) { return step_reaches(member, at_root, key); });
    case Kind::kFilter:
      return at_root || filter_reaches(*step.filter, key);
    case Kind::kMembers:
    case Kind::kElements:
    case Kind::kDescent:
      return at_root;
    case Kind::kIndex:
    case Kind::kSlice:
      return false;
  }
  return true;
}

bool steps_reach(const std::vector<Step>& steps, bool from_root, std::string_view key) {
  if (steps.empty()) return from_root;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (step_reaches(steps[i], from_root && i == 0, key)) return true;
  }
  return false;
}

/// ".name" where that is readable, else "['name']".
std::string spell(std::string_view key, bool quote) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  if (!quote && !key.empty() && std::all_of(key.begin(), key.end(), plain))
    return fmt::format(".{}", key);
  std::string text = "['";
  for (const char c : key) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return text + "']";
}

bool compiles(std::string_view text) {
  return JsonPath::compile(text).has_value();
}

std::string suggest_prefixed(std::string_view text, std::size_t colon) {
  const auto word = base::to_lower(text.substr(0, colon));
  const auto rest = base::trim(text.substr(colon + 1));
  if (word == "cel") return fmt::format("cel:{}", rest);
  if (word == "helm") {
    auto field = rest;
    for (const std::string_view cut : {"release", "."}) {
      if (field.starts_with(cut)) field.remove_prefix(cut.size());
    }
    return fmt::format("helm:release.{}", field.empty() ? "releaseName" : field);
  }
  for (const auto& candidate : {fmt::format("${}", rest), fmt::format("$.{}", rest)}) {
    if (!rest.empty() && compiles(candidate)) return candidate;
  }
  return {};
}

}  // namespace

std::string suggest_path(std::string_view text) {
  if (const auto brace = text.find('{'); brace != std::string_view::npos) {
    const auto first = text.substr(brace, text.find('}', brace) - brace + 1);
    return compiles(first) ? std::string(first) : std::string();
  }
  const auto word_end =
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
  if (word_end != std::string_view::npos && word_end > 0 && text[word_end] == ':') {
    return suggest_prefixed(text, word_end);
  }
  if (text == "object" || text.starts_with("object.") || text.starts_with("object[")) {
    return fmt::format("cel:{}", text);
  }
  const auto candidate = text.starts_with('.') || text.starts_with('[') ? fmt::format("${}", text)
                                                                        : fmt::format("$.{}", text);
  return compiles(candidate) ? candidate : std::string();
}

void ast::derive(Path& path) {
  const auto& steps = path.steps;
  std::size_t last = steps.size();
  while (last > 0 && !names_place(steps[last - 1])) --last;
  if (last > 0) {
    const auto& step = steps[last - 1];
    if (step.kind == Kind::kKey) path.last_keys.push_back(step.key);
    for (const auto& member : step.members) {
      if (member.kind == Kind::kKey) path.last_keys.push_back(member.key);
    }
    for (std::size_t i = last - 1; i > 0 && path.parent_key.empty(); --i) {
      if (steps[i - 1].kind == Kind::kKey) path.parent_key = steps[i - 1].key;
    }
  }
  path.yields_elements = !steps.empty() && steps.back().kind != Kind::kKey;
}

std::expected<JsonPath, JsonPath::CompileError> JsonPath::compile(std::string_view text,
                                                                  Dialect dialect) {
  const auto trimmed = base::trim(text);
  if (trimmed.empty()) return std::unexpected(CompileError{1, "the path is empty"});
  std::string whole(trimmed);
  std::size_t offset = 0;
  if (trimmed.front() != '$' && trimmed.front() != '{') {
    if (dialect == Dialect::kAttribute) {
      const auto better = suggest_path(trimmed);
      auto message =
          std::string("a path begins with \"$.\", \"{.\", \"cel:\" or \"helm:release.\"");
      if (!better.empty()) message += fmt::format("; did you mean {}?", base::cut_utf8(better, 80));
      return std::unexpected(CompileError{1, message + " (position 1)"});
    }
    const bool bare = trimmed.front() != '.' && trimmed.front() != '[';
    offset = bare ? 2 : 1;
    whole.insert(0, bare ? "$." : "$");
  }
  auto parsed = PathParser(whole, offset).parse();
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  return JsonPath(std::make_shared<const Path>(std::move(*parsed)));
}

bool JsonPath::always_array() const {
  return path_->always_array;
}
const std::vector<std::string>& JsonPath::last_keys() const {
  return path_->last_keys;
}
const std::string& JsonPath::parent_key() const {
  return path_->parent_key;
}
bool JsonPath::yields_elements() const {
  return path_->yields_elements;
}

bool JsonPath::reaches(std::string_view key) const {
  return steps_reach(path_->steps, true, key);
}

std::optional<std::string> JsonPath::quoted_spelling(View root) const {
  const auto& steps = path_->steps;
  View at = root;
  std::string prefix = "$";
  for (std::size_t i = 0; i < steps.size() && steps[i].kind == Kind::kKey; ++i) {
    std::string joined = steps[i].key;
    for (std::size_t j = i + 1; j < steps.size() && steps[j].kind == Kind::kKey && !steps[j].quoted;
         ++j) {
      joined += '.' + steps[j].key;
      if (!at.find(joined)) continue;
      auto spelling = prefix + spell(joined, true);
      for (std::size_t k = j + 1; k < steps.size(); ++k) {
        if (steps[k].kind != Kind::kKey) return spelling + "…";
        spelling += spell(steps[k].key, steps[k].quoted);
      }
      return spelling;
    }
    prefix += spell(steps[i].key, steps[i].quoted);
    const auto next = at.find(steps[i].key);
    if (!next) break;
    at = *next;
  }
  return std::nullopt;
}

}  // namespace kollect::extract
