// Who may read Secrets (spec: extraction 6, E-15, E-16). Decided on compiled programs, not on the
// text of paths.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/types.h"
#include "base/json/document.h"
#include "cel/cel.h"

namespace kollect::extract {

/// What the profile's annotations and kinds allow and demand.
struct GuardState {
  bool secret_kind = false;        ///< a kind of the profile or of a rule is the core Secret
  bool config_map_kind = false;    ///< likewise the core ConfigMap, where Helm may keep releases
  bool sensitive_kind = false;     ///< a kind that the platform named with --sensitive-kinds
  bool allow_extraction = false;   ///< kollect.dev/allow-secret-extraction: "true"
  bool allow_full_export = false;  ///< kollect.dev/allow-full-resource-export: "true"
};

GuardState guard_state(const std::vector<api::GroupVersionKind>& kinds,
                       const std::map<std::string, std::string>& annotations,
                       const std::vector<std::string>& sensitive_kinds);

/// Core Secret, letter case ignored: a kind in another spelling must not slip through.
bool is_core_kind(std::string_view group, std::string_view kind, std::string_view wanted);
bool is_secret_object(base::json::View object);

/// How a CEL expression meets `data` and `stringData` of the object.
enum class SecretAccess { kNone, kReads, kUnknown };
SecretAccess secret_access(const cel::Program& program, std::string_view expression);

}  // namespace kollect::extract
