// Paths against a structural OpenAPI v3 schema, as CustomResourceDefinitions carry it: which field
// of a path no object can have.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "extract/jsonpath.h"
#include "extract/jsonpath_ast.h"

namespace kollect::extract {

namespace {

using ast::Filter;
using ast::Operand;
using ast::Step;
using base::json::View;
using Kind = ast::Step::Kind;
using UnknownField = JsonPath::UnknownField;

/// A place in the object that the schema describes. Places that it leaves open are not kept: of
/// what is below them nothing can be told.
struct Place {
  std::optional<View> schema;  ///< none: a text that every object has (apiVersion, kind)
  std::string path;
  bool root = false;
};

bool is_true(View schema, std::string_view word) {
  const auto value = schema.find(word);
  return value && value->is_bool() && value->as_bool();
}

bool is_object(const Place& place) {
  return place.schema && place.schema->text("type") == "object";
}

/// What a key leads to: a place, something open, or nothing at all.
struct Found {
  enum class What { kPlace, kOpen, kNothing } what = What::kNothing;
  Place place;
};

std::string below(const Place& parent, std::string_view key) {
  return parent.path.empty() ? std::string(key) : fmt::format("{}.{}", parent.path, key);
}

Found find_key(const Place& parent, const std::string& key) {
  if (parent.root && (key == "apiVersion" || key == "kind")) {
    return {Found::What::kPlace, {std::nullopt, key}};
  }
  // The server has its own schema for metadata; that of a CRD says little about it.
  if (parent.root && key == "metadata") return {Found::What::kOpen, {}};
  if (!parent.schema) return {};
  const View schema = *parent.schema;
  if (const auto properties = schema.find("properties")) {
    if (const auto found = properties->find(key)) {
      return {Found::What::kPlace, {*found, below(parent, key)}};
    }
  }
  const bool open = is_true(schema, "x-kubernetes-preserve-unknown-fields") ||
                    is_true(schema, "x-kubernetes-embedded-resource") ||
                    schema.text("type").empty();
  if (open && !is_true(schema, "x-kubernetes-int-or-string")) return {Found::What::kOpen, {}};
  if (const auto more = schema.find("additionalProperties")) {
    if (more->is_object()) return {Found::What::kPlace, {*more, below(parent, key)}};
    if (more->is_bool() && more->as_bool()) return {Found::What::kOpen, {}};
  }
  return {};
}

UnknownField unknown(const Place& parent, const std::string& key) {
  std::vector<std::string> known;
  const auto properties = parent.schema ? parent.schema->find("properties") : std::nullopt;
  if (properties) {
    for (const auto& [name, schema] : properties->members()) known.emplace_back(name);
  }
  return {below(parent, key), base::near_names(key, known)};
}

/// The elements of arrays; the values of maps and objects where `members` asks for them.
void add_children(const Place& place, bool members, std::vector<Place>& out) {
  if (!place.schema) return;
  if (const auto items = place.schema->find("items"); items && items->is_object()) {
    out.push_back({*items, place.path + "[]"});
  }
  if (!members || !is_object(place)) return;
  if (const auto properties = place.schema->find("properties")) {
    for (const auto& [name, schema] : properties->members()) {
      if (!place.root || name != "metadata") out.push_back({schema, below(place, name)});
    }
  }
  if (const auto more = place.schema->find("additionalProperties"); more && more->is_object()) {
    out.push_back({*more, place.path + ".*"});
  }
}

class Walk {
 public:
  explicit Walk(View schema) : root_{schema, "", true} {}

  std::optional<UnknownField> path(const std::vector<Step>& steps) { return go(steps, {root_}); }

 private:
  /// None when every field is known, or the way leads through open places.
  std::optional<UnknownField> go(const std::vector<Step>& steps, std::vector<Place> places) {
    for (const Step& step : steps) {
      // Of what is found at any depth the schema would say too much.
      if (places.empty() || step.kind == Kind::kDescent) return std::nullopt;
      std::vector<Place> next;
      if (auto missing = take(step, places, next)) return missing;
      places = std::move(next);
    }
    return std::nullopt;
  }

  std::optional<UnknownField> take(const Step& step, const std::vector<Place>& places,
                                   std::vector<Place>& next) {
    switch (step.kind) {
      case Kind::kKey:
        return take_key(step.key, places, next);
      case Kind::kUnion:
        for (const Step& member : step.members) {
          if (auto missing = take(member, places, next)) return missing;
        }
        return std::nullopt;
      case Kind::kFilter:
        for (const Place& place : places) add_children(place, false, next);
        return filter(*step.filter, next);
      case Kind::kMembers:
      case Kind::kElements:
        for (const Place& place : places) add_children(place, true, next);
        return std::nullopt;
      case Kind::kIndex:
      case Kind::kSlice:
        for (const Place& place : places) add_children(place, false, next);
        return std::nullopt;
      case Kind::kDescent:
        break;
    }
    return std::nullopt;
  }

  /// Unknown only when no place has the field and none may have it.
  static std::optional<UnknownField> take_key(const std::string& key,
                                              const std::vector<Place>& places,
                                              std::vector<Place>& next) {
    bool may_be_there = false;
    for (const Place& place : places) {
      Found found = find_key(place, key);
      may_be_there = may_be_there || found.what != Found::What::kNothing;
      if (found.what == Found::What::kPlace) next.push_back(std::move(found.place));
    }
    if (may_be_there) return std::nullopt;
    return unknown(places.front(), key);
  }

  std::optional<UnknownField> filter(const Filter& filter, const std::vector<Place>& elements) {
    for (const Operand* operand : {&filter.left, &filter.right}) {
      if (auto missing = this->operand(*operand, elements)) return missing;
    }
    for (const Filter& child : filter.children) {
      if (auto missing = this->filter(child, elements)) return missing;
    }
    return std::nullopt;
  }

  std::optional<UnknownField> operand(const Operand& operand, const std::vector<Place>& elements) {
    if (operand.kind == Operand::Kind::kElementPath) return go(operand.steps, elements);
    if (operand.kind == Operand::Kind::kRootPath) return go(operand.steps, {root_});
    return std::nullopt;
  }

  Place root_;
};

}  // namespace

std::optional<UnknownField> JsonPath::field_unknown_to(View schema) const {
  return Walk(schema).path(path_->steps);
}

}  // namespace kollect::extract
