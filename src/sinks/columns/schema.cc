#include "sinks/columns/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/strings.h"

namespace kollect::sinks::columns {

namespace {

std::vector<std::string> chosen(const std::vector<std::string>& hot) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const auto& one : hot) {
    const auto name = base::trim(one);
    if (name.empty() || !seen.insert(base::to_lower(name)).second) continue;
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<std::string> default_hot_attributes() {
  return {"image", "version"};
}

std::string attribute_column(std::string_view attribute) {
  std::string kept;
  for (const char c : base::to_lower(attribute)) {
    if (c == '-' || c == '_' || c == '.') {
      kept += '_';
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      kept += c;
    }
  }
  return "attr_" + (kept.empty() ? "unknown" : kept);
}

Type declared_type(std::string_view word) {
  const std::string type = base::to_lower(base::trim(word));
  const auto is = [&type](std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), type) != words.end();
  };
  if (is({"int", "integer", "long", "int32", "int64"})) return Type::kInteger;
  if (is({"number", "float", "double"})) return Type::kDouble;
  if (is({"bool", "boolean"})) return Type::kBoolean;
  if (is({"time", "timestamp", "date-time", "datetime"})) return Type::kTime;
  if (is({"list", "array", "map", "object", "json"})) return Type::kJson;
  return Type::kText;
}

std::vector<Column> schema(const std::vector<std::string>& hot,
                           const std::map<std::string, std::string>& declared) {
  std::vector<Column> all = {
      {"cluster", Type::kText, false, Source::kCluster},
      {"inventory_namespace", Type::kText, false, Source::kInventoryNamespace},
      {"inventory_name", Type::kText, false, Source::kInventoryName},
      {"target_namespace", Type::kText, false, Source::kTargetNamespace},
      {"target_name", Type::kText, false, Source::kTargetName},
      {"namespace", Type::kText, false, Source::kNamespace},
      {"name", Type::kText, false, Source::kName},
      {"uid", Type::kText, false, Source::kUid},
      {"kind", Type::kText, false, Source::kKind},
      {"group", Type::kText, true, Source::kGroup},
      {"api_version", Type::kText, false, Source::kApiVersion},
      {"exported_at", Type::kTime, false, Source::kExportedAt},
      {"attributes", Type::kJson, false, Source::kAttributes},
  };
  std::set<std::string> taken;
  for (const auto& attribute : chosen(hot)) {
    const std::string plain = attribute_column(attribute);
    std::string name = plain;
    for (int number = 2; !taken.insert(name).second; ++number) {
      name = fmt::format("{}_{}", plain, number);
    }
    const auto type = declared.find(attribute);
    all.push_back({name, type == declared.end() ? Type::kText : declared_type(type->second), true,
                   Source::kAttribute, attribute});
  }
  std::sort(all.begin(), all.end(),
            [](const Column& a, const Column& b) { return a.name < b.name; });
  return all;
}

}  // namespace kollect::sinks::columns
