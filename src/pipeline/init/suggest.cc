#include "pipeline/init/suggest.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::pipeline::init {

namespace {

using base::json::View;

constexpr std::size_t kMost = 40;
constexpr std::size_t kPreviewLength = 48;
constexpr std::array<std::string_view, 8> kServerMade = {
    "managedFields", "resourceVersion", "uid",       "generation", "creationTimestamp",
    "selfLink",      "ownerReferences", "finalizers"};

/// A leaf on its way down: member names without indexes, and the JSONPath.
struct Trail {
  std::vector<std::string> names;
  std::string path = "$";
};

struct Leaf {
  Trail trail;
  View value;
  bool in_data = false;
};

bool is_plain_name(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

std::string step_for(std::string_view key) {
  if (is_plain_name(key)) return "." + std::string(key);
  std::string quoted = "['";
  for (char c : key) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "']";
}

bool left_out(const Trail& trail, std::string_view key) {
  if (trail.names.size() == 1 && trail.names[0] == "metadata") {
    return std::ranges::find(kServerMade, key) != kServerMade.end();
  }
  return key == "kubectl.kubernetes.io/last-applied-configuration" && !trail.names.empty() &&
         trail.names.back() == "annotations";
}

/// data and stringData at the top level or in spec hold values that are never shown.
bool enters_data(const Trail& trail) {
  const auto& n = trail.names;
  const bool named = !n.empty() && (n.back() == "data" || n.back() == "stringData");
  return named && (n.size() == 1 || (n.size() == 2 && n[0] == "spec"));
}

void collect(View value, const Trail& trail, bool in_data, std::vector<Leaf>& leaves) {
  if (value.is_object()) {
    in_data = in_data || enters_data(trail);
    for (const auto& member : value.sorted_members()) {
      if (left_out(trail, member.key)) continue;
      Trail next = trail;
      next.names.emplace_back(member.key);
      next.path += step_for(member.key);
      collect(member.value, next, in_data, leaves);
    }
  } else if (value.is_array()) {
    if (value.size() == 0) return;
    Trail next = trail;
    next.path += "[0]";
    collect(value.at(0), next, in_data, leaves);
  } else if (!value.is_null()) {
    leaves.push_back({trail, value, in_data});
  }
}

/// The last `segments` names, dotted; the whole trail without "spec" when it begins there.
std::string name_of(const Trail& trail, std::size_t segments) {
  const auto& n = trail.names;
  std::size_t first = n.size() - std::min(segments, n.size());
  if (n[0] == "spec" && n.size() > 1) first = std::min<std::size_t>(first, 1);
  if (n[0] == "data" || n[0] == "stringData") first = 0;
  return base::join(
      std::vector<std::string>(n.begin() + static_cast<std::ptrdiff_t>(first), n.end()), ".");
}

std::string preview_of(View value) {
  if (!value.is_string()) return base::json::compact(value);
  std::string text(value.as_string());
  if (text.size() > kPreviewLength) text = std::string(base::cut_utf8(text, 45)) + "...";
  std::string quoted;
  base::json::append_string(quoted, text);
  return quoted;
}

std::string type_of(View value) {
  if (value.is_string()) return "string";
  return value.is_bool() ? "boolean" : "number";
}

}  // namespace

std::vector<Suggestion> suggest(View object, bool sensitive) {
  std::vector<Leaf> leaves;
  collect(object, {}, false, leaves);
  if (leaves.size() > kMost) leaves.resize(kMost);
  std::vector<Suggestion> suggestions;
  std::set<std::string> taken;
  for (const Leaf& leaf : leaves) {
    Suggestion suggestion;
    std::string name;
    for (std::size_t segments = 1; segments <= leaf.trail.names.size(); ++segments) {
      name = name_of(leaf.trail, segments);
      if (!taken.contains(name)) break;
    }
    while (!taken.insert(name).second) name += "_";
    suggestion.attribute = {name, leaf.trail.path, type_of(leaf.value), true};
    suggestion.secret_value = leaf.in_data;
    if (!sensitive && !leaf.in_data) suggestion.preview = preview_of(leaf.value);
    suggestions.push_back(std::move(suggestion));
  }
  return suggestions;
}

}  // namespace kollect::pipeline::init
