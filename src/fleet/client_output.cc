#include "fleet/client_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/write.h"

namespace kollect::fleet {

using base::json::Array;
using base::json::Value;

namespace {

std::string plain(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

/// Characters, not bytes.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string shown(const Value* value) {
  if (value == nullptr || value->is_null()) return "";
  return value->is_string() ? value->as_string() : base::json::compact(*value);
}

std::string count(const Value& record, const char* list) {
  const Value* value = record.find(list);
  return value != nullptr && value->is_array() ? std::to_string(value->as_array().size()) : "";
}

std::string joined(const Value& record, const char* map) {
  std::string out;
  const Value* value = record.find(map);
  if (value == nullptr || !value->is_object()) return out;
  for (const auto& [key, one] : value->as_object()) {
    out += (out.empty() ? "" : ",") + key + "=" + shown(&one);
  }
  return out;
}

std::string texts(const Value& record, const char* list) {
  std::string out;
  const Value* value = record.find(list);
  if (value == nullptr || !value->is_array()) return out;
  for (const Value& one : value->as_array()) out += (out.empty() ? "" : ",") + shown(&one);
  return out;
}

std::string subjects(const Value& record) {
  std::string out;
  const Value* value = record.find("subjects");
  if (value == nullptr || !value->is_array()) return out;
  for (const Value& one : value->as_array()) {
    const std::string space(one.text("namespace"));
    out += fmt::format("{}{}:{}{}", out.empty() ? "" : ",", one.text("kind"),
                       space.empty() ? "" : space + "/", one.text("name"));
  }
  return out;
}

std::string value_text(const Value& value) {
  return value.is_null() ? "(none)" : base::json::compact(value);
}

std::string joined_path(const Value& path) {
  std::string out;
  for (const Value& step : path.as_array()) out += (out.empty() ? "" : "/") + shown(&step);
  return out;
}

std::string noun_of_collection(std::string_view collection) {
  for (const Family family : kAllFamilies) {
    if (collection == collection_of(family)) return std::string(noun_of(family));
  }
  return std::string(collection);
}

}  // namespace

std::vector<Column> columns_of(Family family) {
  switch (family) {
    case Family::kCluster:
      return {
          {"ID", "id"},
          {"NAME", "cluster_name"},
          {"DNS", "cluster_dns"},
          {"ENVIRONMENT", "environment"},
          {"COMPONENTS", {}, [](const Value& one) { return count(one, "platform_components"); }},
          {"NAMESPACES", {}, [](const Value& one) { return count(one, "namespaces"); }},
          {"ROLEBINDINGS", {}, [](const Value& one) { return count(one, "rolebindings"); }}};
    case Family::kComponent:
      return {{"ID", "id"},
              {"VERSION", "component_version"},
              {"PATH", "component_path"},
              {"TAG", "oci_tag"},
              {"URL", "oci_url"},
              {"DEPENDS-ON", {}, [](const Value& one) { return texts(one, "depends_on"); }}};
    case Family::kNamespace:
      return {{"ID", "id"},
              {"LABELS", {}, [](const Value& one) { return joined(one, "labels"); }},
              {"ANNOTATIONS", {}, [](const Value& one) { return joined(one, "annotations"); }}};
    case Family::kRoleBinding:
      break;
  }
  return {{"ID", "id"}, {"ROLE", "role"}, {"SUBJECTS", {}, subjects}};
}

std::vector<Column> columns_of(std::string_view list) {
  if (list == "audit") {
    return {{"SEQ", "seq"},       {"AT", "at"}, {"ACTOR", "actor"},     {"METHOD", "method"},
            {"FAMILY", "family"}, {"ID", "id"}, {"VERSION", "version"}, {"BATCH", "batch"}};
  }
  if (list == "tombstones") {
    return {{"DNS", "cluster_dns"},
            {"CLUSTER", "cluster"},
            {"DELETED", "deleted_at"},
            {"BY", "deleted_by"},
            {"LAST-POLL", "last_poll"}};
  }
  if (list == "unknown_polls") {
    return {
        {"DNS", "cluster_dns"}, {"POLLS", "polls"}, {"FIRST", "first_poll"}, {"LAST", "last_poll"}};
  }
  return {{"ID", "id"},           {"AT", "at"},
          {"BY", "by"},           {"KIND", "kind"},
          {"CREATED", "created"}, {"CHANGED", "changed"},
          {"DELETED", "deleted"}, {"UNDONE-BY", "undone_by"},
          {"NOTE", "note"}};
}

std::string table(const std::vector<Column>& columns, const Array& records) {
  std::vector<std::vector<std::string>> rows(1);
  for (const Column& column : columns) rows[0].emplace_back(column.heading);
  for (const Value& record : records) {
    auto& row = rows.emplace_back();
    for (const Column& column : columns)
      row.push_back(
          plain(column.text != nullptr ? column.text(record) : shown(record.find(column.member))));
  }
  std::vector<std::size_t> widths(columns.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - width(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string changes_text(const Value& told) {
  std::string out;
  const Value* results = told.find("results");
  if (results != nullptr && results->is_array()) {
    for (const Value& one : results->as_array()) {
      if (one.text("action") == "unchanged") continue;
      out += plain(fmt::format("{} {} {}", one.text("action"),
                               noun_of_collection(one.text("family")), one.text("id"))) +
             "\n";
      const Value* changes = one.find("changes");
      if (changes == nullptr) continue;
      for (const Value& change : changes->as_array()) {
        out += plain(fmt::format("  {}: {} -> {}", joined_path(*change.find("path")),
                                 value_text(*change.find("before")),
                                 value_text(*change.find("after")))) +
               "\n";
      }
    }
  }
  const auto number = [&](const char* key) { return shown(told.find(key)); };
  out += fmt::format("created {}, changed {}, deleted {}, unchanged {}\n", number("created"),
                     number("changed"), number("deleted"), number("unchanged"));
  if (const Value* clusters = told.at_path({"reaches", "clusters"}); clusters != nullptr) {
    std::string by;
    for (const auto& [environment, count_of] :
         told.at_path({"reaches", "by_environment"})->as_object()) {
      by += fmt::format("{}{} {}", by.empty() ? "" : ", ", environment, shown(&count_of));
    }
    out += fmt::format("clusters that get another answer: {}{}\n", shown(clusters),
                       by.empty() ? "" : " (" + by + ")");
  }
  const Value* dry_run = told.find("dry_run");
  if (dry_run != nullptr && *dry_run == Value(true)) {
    out += "a dry run: nothing was changed\n";
  } else if (!told.text("id").empty()) {
    out += fmt::format("rollout {}\n", told.text("id"));
  }
  return out;
}

}  // namespace kollect::fleet
