// Judging manifests of our kinds: decode, schema, admission rules (spec: crds 2 and 4). `kollect
// validate` and the webhooks of the operator use it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "admission/lookup.h"
#include "base/json/value.h"
#include "base/result.h"

namespace kollect::admission {

struct FieldError {
  std::string path;  ///< "spec.attributes[0].path"; empty for plain denials
  std::string kind;  ///< Required, Invalid, NotSupported, Duplicate, Forbidden, TooMany, Internal;
                     ///< "plain" for plain denials
  std::string message;
};

/// Verdict on one manifest.
struct Verdict {
  enum class Stage { kAccept, kDecode, kSchema, kWebhook };
  Stage stage = Stage::kAccept;
  std::vector<FieldError> errors;
  std::vector<std::string> warnings;
  std::vector<std::string> pruned;  ///< unknown fields, as paths
  base::json::Value defaulted;      ///< the object after pruning and defaulting
};
std::string_view to_string(Verdict::Stage stage);  ///< "accept", "decode", "schema", "webhook"

/// Settings of the operator that rules depend on.
struct Settings {
  bool tenant_mode = false;
  bool allow_private_sinks = false;
  bool allow_loopback_sinks = false;  ///< with them private ones
  /// file:// endpoints are accepted (one-shot commands, L-62).
  bool allow_local_sinks = false;
  std::size_t max_export_bytes = 1572864;
};

/// "unknown field", with near names that the kind has beside it.
std::string unknown_field_message(std::string_view kind, std::string_view path);

/// Judges a manifest of one of the eleven kinds. `existing`: objects that rules look up (profiles,
/// scopes), as manifests. The object's old state is never looked at; one with a deletionTimestamp
/// passes the rules.
Verdict review(const base::json::Value& manifest, const std::vector<base::json::Value>& existing,
               const Settings& settings);
/// The same with objects looked up where they are needed only.
Verdict review(const base::json::Value& manifest, const Lookup& lookup, const Settings& settings);

enum class TemplateOf : std::uint8_t { kDocuments, kRows };
/// The first {word} of a path template that stands for nothing, with those that do; none: all do.
std::optional<std::string> placeholder_problem(std::string_view text, TemplateOf what);

}  // namespace kollect::admission
