#include "sandbox/writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/json/write.h"
#include "base/yaml/read.h"
#include "sandbox/definitions.h"
#include "sandbox/patch.h"
#include "sandbox/schema.h"
#include "sandbox/strategy.h"

namespace kollect::sandbox {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

constexpr std::string_view kUidSpace = "6f2c1d4e-1b5a-4c3e-9a56-0d1f8a7b3c21";
constexpr std::string_view kDefinitionFinalizer = "customresourcecleanup.apiextensions.k8s.io";
constexpr std::size_t kMaxNameBase = 58;
constexpr int kNameTries = 8;

bool is_definition(const Served& served) {
  return served.kind == "CustomResourceDefinition" && served.group == "apiextensions.k8s.io";
}

void join(std::vector<Cause>& causes, std::vector<Cause> more) {
  causes.insert(causes.end(), more.begin(), more.end());
}

std::int64_t generation_of(const Value& object) {
  const Value* generation = object.at_path({"metadata", "generation"});
  return generation != nullptr && generation->is_int() ? generation->as_int() : 0;
}

void raise_generation(const Served& served, const Value& old, Value& object) {
  if (!served.counts_generation || !content_differs(served, old, object)) return;
  metadata_of(object).set("generation", generation_of(old) + 1);
}

}  // namespace

Writer::Writer(Store& store, Registry& registry, const base::Clock& clock, std::uint64_t seed)
    : store_(store), registry_(registry), clock_(clock), seed_(seed), random_(seed) {}

std::string Writer::new_uid() {
  return base::uuid_v5(kUidSpace, fmt::format("{}/{}", seed_, ++uids_));
}

std::string Writer::new_suffix() {
  // Without vowels, so that no words come about.
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string out;
  for (int i = 0; i < 5; ++i) out += kLetters[random_() % kLetters.size()];
  return out;
}

Entry Writer::commit(const Served& served, const std::string& key, Body body, bool deleted) {
  Entry entry{.key = key, .rv = 0, .body = std::move(body)};
  entry.rv = deleted ? store_.remove(served.resource(), key, entry.body)
                     : store_.put(served.resource(), key, entry.body);
  if (is_definition(served)) follow_definition(entry, deleted);
  return entry;
}

// ---- checks

Outcome<Writer::Prior> Writer::existing(const Call& call) const {
  auto entry = store_.get(call.served->resource(), make_key(call.ns, call.name));
  if (!entry) return std::unexpected(not_found(call.served->group, call.served->plural, call.name));
  Value manifest = to_manifest(*call.served, *entry);
  return Prior{.entry = std::move(*entry), .manifest = std::move(manifest)};
}

Outcome<> Writer::check_type(const Served& served, Value& object) const {
  if (!object.is_object()) return std::unexpected(bad_request("the body is no object"));
  const std::string_view kind = object.text("kind");
  const std::string_view version = object.text("apiVersion");
  // Types are optional for kinds that the server itself knows.
  if (served.custom && kind.empty()) {
    return std::unexpected(
        bad_request(fmt::format("Object 'Kind' is missing in '{}'", base::json::compact(object))));
  }
  const bool kind_fits = kind.empty() || kind == served.kind;
  const bool version_fits = version.empty() ? !served.custom : version == served.api_version();
  if (kind_fits && version_fits) return {};
  return std::unexpected(bad_request(
      !version_fits
          ? fmt::format("the API version in the data ({}) does not match the expected API version "
                        "({})",
                        version, served.api_version())
          : fmt::format("{} in version \"{}\" cannot be handled as a {}", kind, version,
                        served.kind)));
}

Outcome<> Writer::check_namespace(const Call& call, Value& object) const {
  Object& metadata = metadata_of(object);
  if (!call.served->namespaced) {
    metadata.erase("namespace");
    return {};
  }
  const std::string_view given = metadata_text(object, "namespace");
  if (!given.empty() && given != call.ns) {
    return std::unexpected(
        bad_request("the namespace of the provided object does not match the namespace sent on the "
                    "request"));
  }
  metadata.set("namespace", call.ns);
  return {};
}

Outcome<> Writer::name_it(const Call& call, Value& object) {
  Object& metadata = metadata_of(object);
  const std::string prefix(metadata_text(object, "generateName"));
  if (!metadata_text(object, "name").empty() || prefix.empty()) return {};
  for (int i = 0; i < kNameTries; ++i) {
    std::string name = prefix.substr(0, kMaxNameBase) + new_suffix();
    if (store_.get(call.served->resource(), make_key(call.ns, name))) continue;
    metadata.set("name", std::move(name));
    return {};
  }
  return std::unexpected(already_exists(call.served->group, call.served->plural, prefix));
}

Outcome<std::vector<std::string>> Writer::prune(const Call& call, Value& object) const {
  std::vector<std::string> warnings;
  if (!call.served->schema) return warnings;
  const std::string mode = call.parameter("fieldValidation");
  std::string all;
  for (const std::string& path : call.served->schema->prune(object)) {
    warnings.push_back(fmt::format("unknown field \"{}\"", path));
    if (!all.empty()) all += ", ";
    all += warnings.back();
  }
  if (mode == "Ignore") warnings.clear();
  if (mode != "Strict" || warnings.empty()) return warnings;
  return std::unexpected(bad_request(
      fmt::format("{} in version \"{}\" cannot be handled as a {}: strict decoding error: {}",
                  call.served->kind, call.served->version, call.served->kind, all)));
}

std::vector<Cause> Writer::complete(const Served& served, Value& object, const Value* old) const {
  if (is_definition(served)) {
    default_definition(object);
    return check_definition(object);
  }
  if (!served.schema) return {};
  served.schema->apply_defaults(object);
  return served.schema->validate(object, old);
}

// ---- create

Outcome<Writer::Written> Writer::create(const Call& call, Value object) {
  const std::scoped_lock lock(mutex_);
  const Served& served = *call.served;
  SB_TRY(check_type(served, object));
  SB_TRY(check_namespace(call, object));
  if (served.namespaced) {
    const auto ns = store_.get("/namespaces", call.ns);
    if (!ns) return std::unexpected(not_found("", "namespaces", call.ns));
    const Served plain;
    if (!metadata_text(to_manifest(plain, *ns), "deletionTimestamp").empty()) {
      return std::unexpected(
          forbidden(served.group, served.plural, metadata_text(object, "name"),
                    fmt::format("unable to create new content in namespace {} because it is being "
                                "terminated",
                                call.ns)));
    }
  }
  Object& metadata = metadata_of(object);
  if (!metadata_text(object, "resourceVersion").empty()) {
    Status status;  // without a reason, as the API has it
    status.message = "resourceVersion should not be set on objects to be created";
    return std::unexpected(std::move(status));
  }
  for (const char* key : {"deletionTimestamp", "deletionGracePeriodSeconds", "generation",
                          "selfLink", "managedFields"}) {
    metadata.erase(key);
  }
  SB_TRY(name_it(call, object));
  metadata.set("uid", new_uid());
  metadata.set("creationTimestamp", base::format_rfc3339_seconds(clock_.now()));
  if (served.counts_generation) metadata.set("generation", 1);
  prepare_new(served, object, false);
  SB_ASSIGN(auto warnings, prune(call, object));
  auto causes = check_metadata(served, object);
  join(causes, complete(served, object, nullptr));
  const std::string name(metadata_text(object, "name"));
  if (!causes.empty()) {
    return std::unexpected(invalid(served.group, served.kind, name, std::move(causes)));
  }
  const std::string key = make_key(call.ns, name);
  if (store_.get(served.resource(), key)) {
    return std::unexpected(already_exists(served.group, served.plural, name));
  }
  Body body = to_body(std::move(object));
  Entry entry = call.dry_run() ? Entry{.key = key, .rv = store_.rv(), .body = std::move(body)}
                               : commit(served, key, std::move(body), false);
  return Written{.entry = std::move(entry), .created = true, .warnings = std::move(warnings)};
}

// ---- update

Outcome<Writer::Written> Writer::update(const Call& call, Value object) {
  const std::scoped_lock lock(mutex_);
  const Served& served = *call.served;
  SB_TRY(check_type(served, object));
  const std::string name(metadata_text(object, "name"));
  if (name != call.name) {
    return std::unexpected(bad_request(fmt::format(
        "the name of the object ({}) does not match the name on the URL ({})", name, call.name)));
  }
  SB_TRY(check_namespace(call, object));
  SB_ASSIGN(const Prior prior, existing(call));
  if (served.custom && metadata_text(object, "resourceVersion").empty()) {
    return std::unexpected(invalid(served.group, served.plural, name,
                                   {{"FieldValueInvalid", "metadata.resourceVersion",
                                     "Invalid value: 0: must be specified for an update"}}));
  }
  return replace(call, prior, std::move(object));
}

Outcome<> Writer::check_replacement(const Call& call, const Prior& prior,
                                    const Value& object) const {
  const Served& served = *call.served;
  const std::string_view rv = metadata_text(object, "resourceVersion");
  if (!rv.empty() && rv != std::to_string(prior.entry.rv)) {
    return std::unexpected(conflict(served.group, served.plural, call.name));
  }
  const std::string_view uid = metadata_text(object, "uid");
  const std::string_view old_uid = metadata_text(prior.manifest, "uid");
  if (!uid.empty() && uid != old_uid) {
    return std::unexpected(
        conflict(served.group, served.plural, call.name,
                 fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}",
                             uid, old_uid)));
  }
  return {};
}

void Writer::carry_over(const Call& call, const Prior& prior, Value& object) const {
  const Served& served = *call.served;
  if (call.subresource == "status" || call.subresource == "finalize") {
    // Only that part of what was sent counts.
    const char* part = call.subresource == "status" ? "status" : "spec";
    const Value* sent = object.find(part);
    Value kept = sent != nullptr ? *sent : Value();
    object = prior.manifest;
    if (kept.is_null()) {
      object.as_object().erase(part);
    } else {
      object.as_object().set(part, std::move(kept));
    }
    return;
  }
  if (served.has_status) {
    const Value* status = prior.manifest.find("status");
    if (status != nullptr) {
      object.as_object().set("status", *status);
    } else {
      object.as_object().erase("status");
    }
  }
  Object& metadata = metadata_of(object);
  for (const char* key : {"uid", "creationTimestamp", "deletionTimestamp",
                          "deletionGracePeriodSeconds", "generation", "name", "namespace"}) {
    const Value* old = prior.manifest.at_path({"metadata", key});
    if (old != nullptr) {
      metadata.set(key, *old);
    } else {
      metadata.erase(key);
    }
  }
  metadata.erase("managedFields");
  metadata.erase("selfLink");
  prepare_changed(served, object);
}

Outcome<Writer::Written> Writer::replace(const Call& call, const Prior& prior, Value object) {
  const Served& served = *call.served;
  SB_TRY(check_replacement(call, prior, object));
  const std::vector<std::string> had = metadata_strings(prior.manifest, "finalizers");
  const bool dying = !metadata_text(prior.manifest, "deletionTimestamp").empty();
  SB_ASSIGN(auto warnings, prune(call, object));
  carry_over(call, prior, object);
  auto causes = check_metadata(served, object);
  join(causes, complete(served, object, &prior.manifest));
  if (call.subresource.empty()) raise_generation(served, prior.manifest, object);
  const std::vector<std::string> has = metadata_strings(object, "finalizers");
  const bool adds = std::ranges::any_of(
      has, [&](const std::string& one) { return std::ranges::find(had, one) == had.end(); });
  if (dying && adds) {
    causes.push_back({"FieldValueForbidden", "metadata.finalizers",
                      "Forbidden: no new finalizers can be added if the object is being deleted"});
  }
  if (!causes.empty()) {
    return std::unexpected(invalid(served.group, served.kind, call.name, std::move(causes)));
  }
  const bool is_namespace = served.group.empty() && served.kind == "Namespace";
  Body body = to_body(std::move(object));
  Written written{.entry = prior.entry, .warnings = std::move(warnings)};
  written.removed = dying && has.empty() && !had.empty() && !is_namespace;
  if (call.dry_run() || (!written.removed && body.text() == prior.entry.body.text())) {
    written.entry.body = std::move(body);
    return written;
  }
  written.entry = commit(served, prior.entry.key, std::move(body), written.removed);
  if (written.removed) finish_definition(served);
  if (dying) empty_namespace(is_namespace ? call.name : call.ns);
  return written;
}

// ---- patch

Outcome<Value> Writer::patched(const Call& call, const Value& current,
                               std::string_view type) const {
  const auto document = base::json::Document::parse(call.request->body);
  if (!document) return std::unexpected(bad_request(document.error().message));
  const Value patch = base::json::to_value(document->root());
  Value target = current;
  if (type == "application/json-patch+json") {
    SB_TRY(json_patch(target, patch));
  } else if (!patch.is_object()) {
    return std::unexpected(bad_request("a patch is an object"));
  } else if (type == "application/merge-patch+json") {
    merge_patch(target, patch);
  } else {
    strategic_merge_patch(target, patch, builtin_list_rule);
  }
  return target;
}

Outcome<Writer::Written> Writer::patch(const Call& call) {
  const std::string header(call.request->header("content-type").value_or(""));
  const std::string type = header.substr(0, header.find(';'));
  const Served& served = *call.served;
  if (type == "application/apply-patch+yaml") return apply(call);
  const bool strategic = type == "application/strategic-merge-patch+json";
  if ((strategic && served.custom) || (!strategic && type != "application/merge-patch+json" &&
                                       type != "application/json-patch+json")) {
    return std::unexpected(unsupported_media(
        served.custom ? "application/json-patch+json, application/merge-patch+json, "
                        "application/apply-patch+yaml"
                      : "application/json-patch+json, application/merge-patch+json, "
                        "application/strategic-merge-patch+json, application/apply-patch+yaml"));
  }
  const std::scoped_lock lock(mutex_);
  SB_ASSIGN(const Prior prior, existing(call));
  SB_ASSIGN(Value object, patched(call, prior.manifest, type));
  SB_TRY(check_type(served, object));
  if (metadata_text(object, "name") != call.name) {
    return std::unexpected(bad_request(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                    metadata_text(object, "name"), call.name)));
  }
  SB_TRY(check_namespace(call, object));
  return replace(call, prior, std::move(object));
}

Outcome<Writer::Written> Writer::apply(const Call& call) {
  const Served& served = *call.served;
  const std::string manager = call.parameter("fieldManager");
  if (manager.empty()) {
    return std::unexpected(invalid(
        "meta.k8s.io", "PatchOptions", "",
        {{"FieldValueRequired", "fieldManager", "Required value: is required for apply patch"}}));
  }
  auto applied = base::yaml::read_one(call.request->body);
  if (!applied) return std::unexpected(bad_request(applied.error().message));
  SB_TRY(check_type(served, *applied));
  const std::scoped_lock lock(mutex_);
  metadata_of(*applied).set("name", call.name);
  SB_TRY(check_namespace(call, *applied));
  const std::string memory = fmt::format("{} {} {} {}", served.resource(),
                                         make_key(call.ns, call.name), manager, call.subresource);
  auto prior = existing(call);
  Outcome<Written> written;
  if (prior) {
    const auto before = applied_.find(memory);
    Value object = prior->manifest;
    const ListRules rules = [&](const std::vector<std::string>& path, const Value* sample) {
      return served.schema ? served.schema->list_rule(path) : builtin_list_rule(path, sample);
    };
    apply_patch(object, before != applied_.end() ? &before->second : nullptr, *applied, rules);
    written = replace(call, *prior, std::move(object));
  } else if (call.subresource.empty()) {
    written = create(call, *applied);
  } else {
    return std::unexpected(prior.error());
  }
  if (written && !call.dry_run()) applied_[memory] = std::move(*applied);
  return written;
}

// ---- delete

Outcome<Writer::Deleted> Writer::remove(const Call& call, const Value& options) {
  const std::scoped_lock lock(mutex_);
  const Served& served = *call.served;
  SB_ASSIGN(Prior prior, existing(call));
  const Value* preconditions = options.find("preconditions");
  if (preconditions != nullptr) {
    const std::string_view uid = preconditions->text("uid");
    const std::string_view rv = preconditions->text("resourceVersion");
    const std::string_view old_uid = metadata_text(prior.manifest, "uid");
    if (!uid.empty() && uid != old_uid) {
      return std::unexpected(conflict(
          served.group, served.kind, call.name,
          fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid,
                      old_uid)));
    }
    if (!rv.empty() && rv != std::to_string(prior.entry.rv)) {
      return std::unexpected(conflict(
          served.group, served.kind, call.name,
          fmt::format(
              "Precondition failed: ResourceVersion in precondition: {}, ResourceVersion in "
              "object meta: {}",
              rv, prior.entry.rv)));
    }
  }
  const bool is_namespace = served.group.empty() && served.kind == "Namespace";
  if (is_definition(served) && !call.dry_run() && empty_definition(prior.manifest) > 0) {
    metadata_of(prior.manifest).set("finalizers", Array{kDefinitionFinalizer});
  }
  if (metadata_strings(prior.manifest, "finalizers").empty() && !is_namespace) {
    if (call.dry_run()) return Deleted{.last = prior.entry, .gone = true};
    return Deleted{
        .last = commit(served, prior.entry.key, to_body(std::move(prior.manifest)), true),
        .gone = true};
  }
  if (!metadata_text(prior.manifest, "deletionTimestamp").empty() || call.dry_run()) {
    return Deleted{.last = prior.entry};
  }
  Object& metadata = metadata_of(prior.manifest);
  metadata.set("deletionTimestamp", base::format_rfc3339_seconds(clock_.now()));
  if (!is_namespace) {
    metadata.set("deletionGracePeriodSeconds", 0);
    if (const auto generation = generation_of(prior.manifest); generation > 0) {
      metadata.set("generation", generation + 1);
    }
  } else if (Object* status = ensure_object(prior.manifest, "status")) {
    status->set("phase", "Terminating");
  }
  Deleted deleted{.last =
                      commit(served, prior.entry.key, to_body(std::move(prior.manifest)), false)};
  if (is_namespace) empty_namespace(call.name);
  return deleted;
}

// ---- load

Outcome<> Writer::load(const Served& served, Value object) {
  const std::scoped_lock lock(mutex_);
  const std::string ns(served.namespaced ? metadata_text(object, "namespace") : "");
  const std::string name(metadata_text(object, "name"));
  Object& metadata = metadata_of(object);
  if (!served.namespaced) metadata.erase("namespace");
  if (served.namespaced && ns.empty()) {
    metadata.set("namespace", "default");
    return load(served, std::move(object));
  }
  if (served.namespaced && !store_.get("/namespaces", ns)) {
    Object fresh;
    fresh.set("name", ns);
    Object made;
    made.set("metadata", std::move(fresh));
    SB_TRY(load(*registry_.catalog()->find("", "v1", "namespaces"), std::move(made)));
  }
  if (metadata_text(object, "uid").empty()) metadata.set("uid", new_uid());
  if (metadata_text(object, "creationTimestamp").empty()) {
    metadata.set("creationTimestamp", base::format_rfc3339_seconds(clock_.now()));
  }
  if (served.counts_generation && generation_of(object) == 0) metadata.set("generation", 1);
  metadata.erase("managedFields");
  prepare_new(served, object, true);
  if (served.schema) (void)served.schema->prune(object);
  auto causes = check_metadata(served, object);
  join(causes, complete(served, object, nullptr));
  if (!causes.empty()) {
    return std::unexpected(invalid(served.group, served.kind, name, std::move(causes)));
  }
  commit(served, make_key(ns, name), to_body(std::move(object)), false);
  return {};
}

}  // namespace kollect::sandbox
