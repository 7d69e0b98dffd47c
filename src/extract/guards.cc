#include "extract/guards.h"

#include <algorithm>

#include "base/strings.h"

namespace kollect::extract {

namespace {

bool core_group(std::string_view group) {
  return group.empty() || base::iequals(group, "core");
}

/// "group/Kind"; "Kind", "/Kind" and "core/Kind" are core kinds.
bool names_kind(std::string_view entry, const api::GroupVersionKind& gvk) {
  entry = base::trim(entry);
  const auto slash = entry.rfind('/');
  const auto group = slash == std::string_view::npos ? std::string_view() : entry.substr(0, slash);
  const auto kind = slash == std::string_view::npos ? entry : entry.substr(slash + 1);
  const bool same_group =
      core_group(group) ? core_group(gvk.group) : base::iequals(group, gvk.group);
  return !kind.empty() && same_group && base::iequals(kind, gvk.kind);
}

bool is_true(const std::map<std::string, std::string>& annotations, const char* key) {
  const auto found = annotations.find(key);
  return found != annotations.end() && found->second == "true";
}

/// A name `data` anywhere in the expression counts, whatever it is a member of: that is how such
/// profiles have always been judged, and nobody has a harmless use for it.
bool mentions_data(std::string_view expression) {
  constexpr std::string_view kSeparators = ".[]() \t\r\n?,{}!&|:+";
  while (!expression.empty()) {
    const auto end = expression.find_first_of(kSeparators);
    const auto word = expression.substr(0, end);
    if (base::iequals(word, "data") || base::iequals(word, "stringData")) return true;
    if (end == std::string_view::npos) break;
    expression.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace

bool is_core_kind(std::string_view group, std::string_view kind, std::string_view wanted) {
  return core_group(group) && base::iequals(base::trim(kind), wanted);
}

GuardState guard_state(const std::vector<api::GroupVersionKind>& kinds,
                       const std::map<std::string, std::string>& annotations,
                       const std::vector<std::string>& sensitive_kinds) {
  GuardState state;
  state.allow_extraction = is_true(annotations, api::kAllowSecretExtraction);
  state.allow_full_export = is_true(annotations, api::kAllowFullResourceExport);
  for (const auto& gvk : kinds) {
    state.secret_kind = state.secret_kind || is_core_kind(gvk.group, gvk.kind, "Secret");
    state.config_map_kind = state.config_map_kind || is_core_kind(gvk.group, gvk.kind, "ConfigMap");
    state.sensitive_kind =
        state.sensitive_kind ||
        std::any_of(sensitive_kinds.begin(), sensitive_kinds.end(),
                    [&](const std::string& entry) { return names_kind(entry, gvk); });
  }
  return state;
}

bool is_secret_object(base::json::View object) {
  return object.text("apiVersion") == "v1" && base::iequals(object.text("kind"), "Secret");
}

SecretAccess secret_access(const cel::Program& program, std::string_view expression) {
  if (mentions_data(expression)) return SecretAccess::kReads;
  auto access = SecretAccess::kNone;
  for (const auto* variable : {"object", "self"}) {
    for (const auto* key : {"data", "stringData"}) {
      const auto reach = program.reaches(variable, key);
      if (reach == cel::Program::Reach::kYes) return SecretAccess::kReads;
      if (reach == cel::Program::Reach::kUnknown) access = SecretAccess::kUnknown;
    }
  }
  return access;
}

}  // namespace kollect::extract
