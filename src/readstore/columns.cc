#include "readstore/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::readstore {

namespace {

constexpr std::array<std::pair<std::string_view, Field>, 13> kNames = {{
    {"cluster", Field::kCluster},
    {"inventoryNamespace", Field::kInventoryNamespace},
    {"inventory", Field::kInventory},
    {"targetNamespace", Field::kTargetNamespace},
    {"targetName", Field::kTarget},
    {"target", Field::kTarget},
    {"namespace", Field::kNamespace},
    {"group", Field::kGroup},
    {"version", Field::kVersion},
    {"kind", Field::kKind},
    {"name", Field::kName},
    {"uid", Field::kUid},
    {"exportedAt", Field::kExportedAt},
}};
constexpr std::string_view kAttributes = "attributes.";

/// Member of the payload, or "" where the field is a column of its own.
std::string_view member_of(Field field) {
  switch (field) {
    case Field::kTargetNamespace:
      return "targetNamespace";
    case Field::kNamespace:
      return "namespace";
    case Field::kGroup:
      return "group";
    case Field::kVersion:
      return "version";
    case Field::kKind:
      return "kind";
    case Field::kName:
      return "name";
    default:
      return "";
  }
}

std::string_view column_of(Field field) {
  switch (field) {
    case Field::kCluster:
      return "cluster";
    case Field::kInventoryNamespace:
      return "inventory_namespace";
    case Field::kInventory:
      return "inventory_name";
    case Field::kTarget:
      return "target_name";
    default:
      return "source_uid";
  }
}

/// The filter's exact texts, in the order of Field.
std::array<std::pair<Field, const std::string*>, 9> exact(const readapi::RowFilter& filter) {
  return {{{Field::kCluster, &filter.cluster},
           {Field::kInventoryNamespace, &filter.inventory_namespace},
           {Field::kInventory, &filter.inventory},
           {Field::kTarget, &filter.target},
           {Field::kGroup, &filter.group},
           {Field::kVersion, &filter.version},
           {Field::kKind, &filter.kind},
           {Field::kName, &filter.name},
           {Field::kUid, &filter.uid}}};
}

std::string json_string(std::string_view text) {
  std::string out;
  base::json::append_string(out, text);
  return out;
}

/// JSON that is no string, in canonical form; empty where the text is none.
std::string json_value(std::string_view text) {
  const auto document = base::json::Document::parse(text);
  if (!document || document->root().is_string()) return {};
  std::string out = base::json::canonical(document->root());
  return out.find("\\u0000") == std::string::npos ? out : std::string();
}

/// An index of trigrams can find it: three characters, and none that LIKE would have to escape.
bool has_trigrams(std::string_view text) {
  const auto characters = std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  });
  return characters >= 3 && text.find_first_of("%_\\") == std::string_view::npos;
}

/// A pattern of LIKE that finds the text anywhere; backslash escapes.
std::string pattern_of(std::string_view text) {
  std::string out = "%";
  for (const char c : text) {
    if (c == '%' || c == '_' || c == '\\') out += '\\';
    out += c;
  }
  return out + "%";
}

}  // namespace

std::string Query::bind(std::string_view text) {
  parameters_.emplace_back(text);
  return postgres_ ? fmt::format("${}::text", parameters_.size())
                   : fmt::format("?{}", parameters_.size());
}

std::uint64_t Rows::number(int column) const {
  const std::string_view digits = text(column);
  std::uint64_t out = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}

base::Result<Column> read_column(std::string_view name) {
  if (name.starts_with(kAttributes) && name.size() > kAttributes.size()) {
    return Column{Field::kAttribute, std::string(name.substr(kAttributes.size()))};
  }
  std::string all;
  for (const auto& [known, field] : kNames) {
    if (known == name) return Column{field, {}};
    all += fmt::format("{}, ", known);
  }
  return base::configuration(
      fmt::format("there is no column {}; there are {}attributes.<name>", name, all), "NoColumn");
}

bool plain_attribute(std::string_view name) {
  // What JSON escapes stands escaped in the payload, and paths are compared with that.
  return !name.empty() && name.find('\'') == std::string_view::npos &&
         json_string(name).size() == name.size() + 2;
}

std::string Dialect::value(Field field) const {
  const std::string_view member = member_of(field);
  if (field == Field::kExportedAt) return since();
  if (member.empty()) return alias_ + std::string(column_of(field));
  const std::string text = postgres_
                               ? fmt::format("({}payload ->> '{}')", alias_, member)
                               : fmt::format("json_extract({}payload, '$.{}')", alias_, member);
  return field == Field::kGroup ? fmt::format("coalesce({}, '')", text) : text;
}

std::string Dialect::ordered(Field field) const {
  return postgres_ && field != Field::kExportedAt ? value(field) + " COLLATE \"C\"" : value(field);
}

/// An attribute without an index is named by a parameter; one with an index as the index names it,
/// which SQLite compares by its text.
std::string Dialect::path(Query& query, std::string_view attribute) const {
  const auto& indexed = tables_.attributes;
  if (std::find(indexed.begin(), indexed.end(), attribute) != indexed.end()) {
    return fmt::format("'$.attributes.\"{}\"'", attribute);
  }
  return query.bind(fmt::format("$.attributes.\"{}\"", attribute));
}

std::string Dialect::attribute(Query& query, std::string_view name) const {
  if (postgres_) {
    return fmt::format("({} -> 'attributes' -> {})", payload(), query.bind(name));
  }
  if (!plain_attribute(name)) {
    return fmt::format("(SELECT a.value FROM json_each({}, '$.attributes') AS a WHERE a.key = {})",
                       payload(), query.bind(name));
  }
  return fmt::format("json_extract({}, {})", payload(), path(query, name));
}

std::string Dialect::attribute_text(Query& query, std::string_view name) const {
  if (postgres_) {
    return fmt::format("coalesce({} -> 'attributes' ->> {}, '')", payload(), query.bind(name));
  }
  if (!plain_attribute(name)) return fmt::format("coalesce({}, '')", attribute(query, name));
  const std::string where = path(query, name);
  return fmt::format(
      "CASE json_type({0}, {1}) WHEN 'text' THEN json_extract({0}, {1}) ELSE coalesce({0} -> {1}, "
      "'') END",
      payload(), where);
}

std::string Dialect::time(std::string_view column) const {
  if (!postgres_) return alias_ + std::string(column);
  return fmt::format("to_char({}{} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')",
                     alias_, column);
}

std::string fixed_time(base::WallTime time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(time - second).count();
  std::string text = base::format_rfc3339_seconds(second);
  text.pop_back();
  return fmt::format("{}.{:06}Z", text, micro);
}

std::string Dialect::stood_at(Query& query, base::WallTime time) const {
  return fmt::format("valid_from <= {0} AND (valid_to IS NULL OR valid_to > {0}) AND ",
                     moment(query, time));
}

std::string Dialect::moment(Query& query, base::WallTime time) const {
  const std::string place = query.bind(fixed_time(time));
  return postgres_ ? place + "::timestamptz" : place;
}

std::string Dialect::canonical(std::string_view direction) const {
  std::string out;
  for (const Field field :
       {Field::kCluster, Field::kInventoryNamespace, Field::kInventory, Field::kTargetNamespace,
        Field::kTarget, Field::kNamespace, Field::kName, Field::kUid}) {
    out += fmt::format("{}{}{}", out.empty() ? "" : ", ", ordered(field), direction);
  }
  return out;
}

std::string Dialect::equals(Query& query, Field field, std::string_view text) const {
  // The index on uids has the database's own order.
  return fmt::format("{} = {}", field == Field::kUid ? value(field) : ordered(field),
                     query.bind(text));
}

std::string Dialect::one_of(Query& query, Field field,
                            const std::vector<std::string>& texts) const {
  if (texts.empty()) return "1 = 0";
  std::string list;
  for (const std::string& text : texts) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", query.bind(text));
  }
  return fmt::format("{} IN ({})", ordered(field), list);
}

std::string Dialect::attribute_is(Query& query, std::string_view name,
                                  std::string_view text) const {
  const std::string other = json_value(text);
  if (postgres_) {
    std::string list = query.bind(json_string(text)) + "::jsonb";
    if (!other.empty()) list += ", " + query.bind(other) + "::jsonb";
    return fmt::format("{} IN ({})", attribute(query, name), list);
  }
  if (!plain_attribute(name)) {  // no path of SQLite can name it
    const std::string key = query.bind(name);
    const std::string wanted = query.bind(text);
    return fmt::format(
        "EXISTS (SELECT 1 FROM json_each({}, '$.attributes') AS a WHERE a.key = {} AND CASE a.type "
        "WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'null' THEN 'null' ELSE "
        "CAST(a.value "
        "AS TEXT) END = {})",
        payload(), key, wanted);
  }
  const auto& indexed = tables_.attributes;
  const bool by_index = std::find(indexed.begin(), indexed.end(), name) != indexed.end();
  // Text that is no JSON can only be that of a string: the index alone decides.
  if (by_index && other.empty()) {
    return fmt::format("{} = {}", attribute(query, name), query.bind(text));
  }
  // The text as it stands in the row decides; where there is an index, its value is asked first.
  std::string list = query.bind(json_string(text));
  if (!other.empty()) list += ", " + query.bind(other);
  std::string out = fmt::format("{} -> {} IN ({})", payload(), path(query, name), list);
  if (!by_index || other == "null") return out;
  std::string values = query.bind(text);
  if (other == "true" || other == "false") {
    values += other == "true" ? ", 1" : ", 0";
  } else {
    values += fmt::format(", json_extract({}, '$')", query.bind(other));
  }
  return fmt::format("({} IN ({}) AND {})", attribute(query, name), values, out);
}

bool Dialect::searches_by_index(std::string_view search) const {
  return !postgres_ && search_index_ && json_string(search).size() == search.size() + 2 &&
         has_trigrams(search);
}

std::string Dialect::found(Query& query, std::string_view search) const {
  const std::string like = postgres_ ? "COLLATE \"C\" ILIKE" : "LIKE";
  const std::string ends = query.bind(pattern_of(search)) + " ESCAPE '\\'";
  std::string fields;
  for (const Field field : {Field::kNamespace, Field::kName, Field::kKind}) {
    fields += fmt::format("{} {} {} OR ", value(field), like, ends);
  }
  std::string out;
  std::string attributes;
  // Nothing of it is escaped in JSON: it stands in the payload as it is, which is told quickly.
  const bool plain = json_string(search).size() == search.size() + 2;
  if (searches_by_index(search)) {
    out = fmt::format("{}rowid IN (SELECT s.rowid FROM {} AS s WHERE s.payload LIKE {}) AND ",
                      alias_, tables_.search, query.bind(fmt::format("%{}%", search)));
  } else if (plain && !postgres_) {
    out = fmt::format("{} LIKE {} AND ", payload_text(), ends);
  } else if (plain && search_index_) {  // an index on trigrams can tell it
    out = fmt::format("({}) ILIKE {} AND ", payload_text(), ends);
  } else if (plain) {
    attributes = fmt::format("({} ->> 'attributes') {} {} AND ", payload(), like, ends);
  }
  const std::string values =
      postgres_ ? fmt::format(
                      "SELECT 1 FROM jsonb_each_text(CASE jsonb_typeof({0} -> "
                      "'attributes') WHEN 'object' THEN {0} -> 'attributes' ELSE '{{}}' END) AS a "
                      "WHERE a.value {1} {2}",
                      payload(), like, ends)
                : fmt::format(
                      "SELECT 1 FROM json_each({}, '$.attributes') AS a WHERE CASE a.type WHEN "
                      "'true' THEN 'true' WHEN 'false' THEN 'false' ELSE a.value END {} {}",
                      payload(), like, ends);
  return fmt::format("({}({}{}EXISTS ({})))", out, fields, attributes, values);
}

std::string Dialect::where(Query& query, const readapi::RowFilter& filter,
                           const readapi::Sight& sight) const {
  std::string out = "1 = 1";
  const auto add = [&](const std::string& condition) { out += " AND " + condition; };
  for (const auto& [field, text] : exact(filter)) {
    if (!text->empty()) add(equals(query, field, *text));
  }
  if (!filter.ns.empty()) {
    add(fmt::format("({} OR {})", equals(query, Field::kNamespace, filter.ns),
                    equals(query, Field::kTargetNamespace, filter.ns)));
  }
  for (const auto& [name, text] : filter.attributes) add(attribute_is(query, name, text));
  if (!filter.search.empty()) add(found(query, filter.search));
  if (sight.clusters) add(one_of(query, Field::kCluster, *sight.clusters));
  if (sight.namespaces) {
    add(fmt::format("({} OR {})", one_of(query, Field::kTargetNamespace, *sight.namespaces),
                    one_of(query, Field::kInventoryNamespace, *sight.namespaces)));
  }
  return out;
}

bool impossible(const readapi::RowFilter& filter) {
  const auto bad = [](std::string_view text) {
    return text.find('\0') != std::string_view::npos || !base::is_valid_utf8(text);
  };
  for (const auto& [field, text] : exact(filter)) {
    if (bad(*text)) return true;
  }
  if (bad(filter.ns) || bad(filter.search)) return true;
  return std::any_of(filter.attributes.begin(), filter.attributes.end(),
                     [&](const auto& one) { return bad(one.first) || bad(one.second); });
}

bool in_tally(const readapi::RowFilter& filter) {
  return filter.name.empty() && filter.uid.empty() && filter.search.empty() &&
         filter.attributes.empty();
}

std::string key_of(const readapi::RowFilter& filter, const readapi::Sight& sight) {
  std::string out;
  const auto add = [&](std::string_view text) { out += fmt::format("{}:{};", text.size(), text); };
  for (const auto& [field, text] : exact(filter)) add(*text);
  add(filter.ns);
  add(filter.search);
  for (const auto& [name, text] : filter.attributes) {
    add(name);
    add(text);
  }
  for (const auto* list : {&sight.clusters, &sight.namespaces}) {
    out += *list ? fmt::format("|{}|", (*list)->size()) : "|*|";
    if (*list) {
      for (const std::string& text : **list) add(text);
    }
  }
  return out;
}

}  // namespace kollect::readstore
