#include "admission/admission.h"

#include <array>
#include <map>

#include "admission/rules.h"
#include "api/codec.h"
#include "base/strings.h"

namespace kollect::admission {

namespace {

using base::json::Value;

constexpr std::array<std::string_view, 3> kReferenceLists = {"snapshotSinkRefs", "databaseSinkRefs",
                                                             "eventSinkRefs"};

/// The schema lets numbers, booleans, lists and nulls stand for a sink reference (spec: crds 9 D2):
/// they are reported and taken out, so that the rest can be decoded.
void take_out_bad_references(Findings& findings, Value& object) {
  Value* spec = object.find("spec");
  if (spec == nullptr) {
    return;
  }
  for (const std::string_view name : kReferenceLists) {
    Value* list = spec->find(name);
    if (list == nullptr || !list->is_array()) {
      continue;
    }
    base::json::Array good;
    for (std::size_t i = 0; i < list->as_array().size(); ++i) {
      Value& item = list->as_array()[i];
      if (item.is_string() || item.is_object()) {
        good.push_back(std::move(item));
      } else {
        findings.invalid(fmt::format("spec.{}[{}]", name, i),
                         fmt::format("must be a name or an object, got {}", item.type_name()));
      }
    }
    list->as_array() = std::move(good);
  }
}

template <class T>
using Rules = void (*)(Findings&, const T&, const RuleContext&);

/// Decodes and applies the rules of one kind.
template <class T>
void judge(Verdict& verdict, Findings& findings, const Value& object, Rules<T> rules,
           const RuleContext& context) {
  auto decoded = api::decode<T>(object);
  if (!decoded.has_value()) {
    verdict.stage = Verdict::Stage::kDecode;
    const std::string& text = decoded.error().message;
    const std::size_t colon = text.find(": ");
    verdict.errors.push_back(
        colon == std::string::npos
            ? FieldError{"", "Invalid", text}
            : FieldError{text.substr(0, colon), "Invalid", text.substr(colon + 2)});
    return;
  }
  if (!decoded->metadata.deletion_timestamp.empty()) {
    return;
  }
  if (findings.clean()) {
    rules(findings, *decoded, context);
  }
  verdict.errors = std::move(findings.errors());
  if (!verdict.errors.empty()) {
    verdict.stage = Verdict::Stage::kWebhook;
  } else {
    verdict.warnings = std::move(findings.warnings());
  }
}

using JudgeKind = void (*)(Verdict&, Findings&, const Value&, const RuleContext&);

template <class T, Rules<T> kRules>
void judge_as(Verdict& verdict, Findings& findings, const Value& object,
              const RuleContext& context) {
  judge<T>(verdict, findings, object, kRules, context);
}

JudgeKind judge_of(std::string_view kind) {
  static const std::map<std::string_view, JudgeKind> kByKind = {
      {"KollectProfile", judge_as<api::Profile, check_profile>},
      {"KollectTarget", judge_as<api::Target, check_target>},
      {"KollectInventory", judge_as<api::Inventory, check_inventory>},
      {"KollectSnapshotSink", judge_as<api::SnapshotSink, check_snapshot_sink>},
      {"KollectDatabaseSink", judge_as<api::DatabaseSink, check_database_sink>},
      {"KollectEventSink", judge_as<api::EventSink, check_event_sink>},
      {"KollectScope", judge_as<api::Scope, check_scope>},
      {"KollectConnectionTest", judge_as<api::ConnectionTest, check_connection_test>},
      {"KollectClusterTarget", judge_as<api::ClusterTarget, check_cluster_target>},
      {"KollectClusterInventory", judge_as<api::ClusterInventory, check_cluster_inventory>},
      {"KollectClusterScope", judge_as<api::ClusterScope, check_cluster_scope>},
  };
  const auto found = kByKind.find(kind);
  return found == kByKind.end() ? nullptr : found->second;
}

Verdict decode_error(std::string path, std::string message) {
  Verdict verdict;
  verdict.stage = Verdict::Stage::kDecode;
  verdict.errors.push_back({std::move(path), "Invalid", std::move(message)});
  return verdict;
}

/// The server demands a name (or a prefix for one) from every object.
void check_name(const Value& object, std::vector<FieldError>& errors) {
  const Value* metadata = object.find("metadata");
  if (metadata == nullptr ||
      (metadata->text("name").empty() && metadata->text("generateName").empty())) {
    errors.push_back({"metadata.name", "Required", "must be given"});
  }
}

}  // namespace

std::string_view to_string(Verdict::Stage stage) {
  switch (stage) {
    case Verdict::Stage::kAccept:
      return "accept";
    case Verdict::Stage::kDecode:
      return "decode";
    case Verdict::Stage::kSchema:
      return "schema";
    case Verdict::Stage::kWebhook:
      break;
  }
  return "webhook";
}

std::string unknown_field_message(std::string_view kind, std::string_view path) {
  const std::string_view name = path.substr(path.rfind('.') + 1);
  const auto near = base::near_names(name, api::known_siblings(kind, path));
  return near.empty() ? "unknown field"
                      : fmt::format("unknown field; near names: {}", base::join(near, ", "));
}

Verdict review(const Value& manifest, const std::vector<Value>& existing,
               const Settings& settings) {
  return review(manifest, ManifestLookup(existing), settings);
}

Verdict review(const Value& manifest, const Lookup& lookup, const Settings& settings) {
  if (!manifest.is_object()) {
    return decode_error("",
                        fmt::format("a manifest must be an object, got {}", manifest.type_name()));
  }
  const std::string kind(manifest.text("kind"));
  const JudgeKind judge_kind = judge_of(kind);
  if (manifest.text("apiVersion") != api::kApiVersion) {
    return decode_error("apiVersion", fmt::format("must be {}", api::kApiVersion));
  }
  if (judge_kind == nullptr) {
    return decode_error("kind", fmt::format("\"{}\" is no kind of {}", kind, api::kGroup));
  }
  Verdict verdict;
  verdict.defaulted = manifest;
  verdict.pruned = api::prune_and_default(kind, verdict.defaulted);
  check_name(verdict.defaulted, verdict.errors);
  for (api::SchemaError& error : api::validate_schema(kind, verdict.defaulted)) {
    verdict.errors.push_back(
        {std::move(error.path), std::move(error.kind), std::move(error.message)});
  }
  if (!verdict.errors.empty()) {
    verdict.stage = Verdict::Stage::kSchema;
    return verdict;
  }
  Value object = verdict.defaulted;
  Findings references;
  take_out_bad_references(references, object);
  Findings findings;
  if (settings.tenant_mode &&
      (kind == "KollectClusterTarget" || kind == "KollectClusterInventory")) {
    findings.plain(fmt::format("{} {} is not allowed in tenant mode", kind,
                               manifest.find("metadata")->text("name")));
  } else {
    findings = std::move(references);
  }
  judge_kind(verdict, findings, object, {lookup, settings});
  return verdict;
}

}  // namespace kollect::admission
