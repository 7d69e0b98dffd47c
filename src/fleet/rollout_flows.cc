// The flows of a fleet as operations.
#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "fleet/cluster_parts.h"
#include "fleet/rollout.h"

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

constexpr std::string_view kOverrides[] = {"component_path", "oci_tag"};

Value operation(std::string_view op) {
  Object out;
  out.set("op", op);
  return out;
}

class Flow {
 public:
  Flow(const Draft& draft, const Value& body) : draft_(draft), body_(body) {}
  Outcome<Value> operations(std::string_view kind);

 private:
  Outcome<> component();
  Outcome<> upgrade();
  Outcome<> canary(bool hotfix);
  Outcome<> promote();
  Outcome<> promote_to_catalog(const std::string& id, const Value& effective);
  Outcome<> decommission();

  [[nodiscard]] std::string text(std::string_view name) const {
    return std::string(body_.text(name));
  }
  Outcome<> known(std::initializer_list<std::string_view> members) const {
    for (const auto& [key, value] : body_.as_object()) {
      const bool common = key == "kind" || key == "note" || key == "dry_run";
      if (!common && std::ranges::find(members, key) == members.end()) {
        return bad_shape(fmt::format("{}: is not known here", key));
      }
    }
    return {};
  }
  /// The id of a component of the catalog.
  Outcome<std::string> component_id() const {
    if (!body_.find("component") || !body_.find("component")->is_string()) {
      return bad_shape("component: must be an id");
    }
    FLEET_TRY(draft_.get(Family::kComponent, text("component")));
    return text("component");
  }
  /// The selector that "ids", "environment" or "selector" make. Where nobody is named, only
  /// clusters that have `component`.
  Outcome<Value> selector(const std::string& component) const;
  /// What clusters of the source run: {"component_path", "oci_tag"}.
  Outcome<Value> effective(const std::string& id) const;
  [[nodiscard]] Value effective_of(const Value& reference, const Value& entry) const;
  /// {"id", "component_path", "oci_tag"}: null where the catalog says the same.
  [[nodiscard]] Value reference_for(const std::string& id, const Value& effective,
                                    const Value& entry) const;
  void add(Value operation) { operations_.push_back(std::move(operation)); }

  const Draft& draft_;
  const Value& body_;
  Array operations_;
};

Outcome<Value> Flow::selector(const std::string& component) const {
  Object out;
  const Value* selector = body_.find("selector");
  const Value* ids = body_.find("ids");
  const Value* environment = body_.find("environment");
  if (static_cast<int>(selector != nullptr) + static_cast<int>(ids != nullptr) +
          static_cast<int>(environment != nullptr) !=
      1) {
    return bad_shape("a rollout needs one of ids, environment and selector");
  }
  if (selector != nullptr) {
    if (!selector->is_object()) return bad_shape("selector: must be an object");
    out = selector->as_object();
  }
  if (ids != nullptr) out.set("ids", *ids);
  if (environment != nullptr) out.set("environment", *environment);
  const bool named = out.contains("ids") || out.contains("cluster_dns") || out.contains("dns") ||
                     out.contains("id");
  if (!component.empty() && !named && !out.contains("has_component")) {
    if (out.empty())
      return bad_shape("selector: says nothing; {\"all\": true} takes every cluster");
    out.set("has_component", component);
  }
  return Value(std::move(out));
}

Outcome<> Flow::component() {
  FLEET_TRY(known({"component", "ids", "environment", "selector", "reference", "patches"}));
  const Value* said = body_.find("component");
  if (said == nullptr) return bad_shape("component: is missing");
  std::string id = text("component");
  if (said->is_object()) {
    id = said->text("id");
    FLEET_ASSIGN(const Value entry, read_new(Family::kComponent, *said));
    const Value* there = draft_.find(Family::kComponent, id);
    if (there != nullptr && *there != entry) {
      return conflict(fmt::format("there is another component {} already", id));
    }
    if (there == nullptr) {
      Value make = operation("create");
      make.as_object().set("family", "platform_components");
      make.as_object().set("record", *said);
      add(std::move(make));
    }
  } else {
    FLEET_ASSIGN(id, component_id());
  }
  FLEET_ASSIGN(const Value clusters, selector(""));
  Value reference = Object{};
  if (const Value* given = body_.find("reference")) reference = *given;
  if (!reference.is_object()) return bad_shape("reference: must be an object");
  reference.as_object().set("id", id);
  Value assign = operation("assign_component");
  assign.as_object().set("selector", clusters);
  assign.as_object().set("component", std::move(reference));
  add(std::move(assign));
  if (const Value* patches = body_.find("patches")) {
    Value patch = operation("merge_patches");
    patch.as_object().set("selector", clusters);
    patch.as_object().set("component", id);
    patch.as_object().set("patches", *patches);
    add(std::move(patch));
  }
  return {};
}

Outcome<> Flow::upgrade() {
  FLEET_TRY(known({"component", "component_path", "component_version", "oci_tag", "oci_url",
                   "cluster_env_enabled", "depends_on", "clear_overrides"}));
  FLEET_ASSIGN(const std::string id, component_id());
  Object record;
  for (const auto& [key, value] : body_.as_object()) {
    if (key == "component" || key == "kind" || key == "note" || key == "dry_run" ||
        key == "clear_overrides") {
      continue;
    }
    record.set(key, value);
  }
  if (record.empty()) return bad_shape("an upgrade needs a member of the catalog entry to change");
  Value update = operation("update");
  update.as_object().set("family", "platform_components");
  update.as_object().set("id", id);
  update.as_object().set("record", std::move(record));
  add(std::move(update));
  const Value* clear = body_.find("clear_overrides");
  if (clear == nullptr || clear->is_null() || *clear == Value(false)) return {};
  if (*clear != Value(true)) return bad_shape("clear_overrides: must be true or false");
  Object nobody;
  nobody.set("overrides_component", id);
  Object reference;
  reference.set("id", id);
  for (const std::string_view name : kOverrides) reference.set(std::string(name), Value());
  Value assign = operation("override_component");
  assign.as_object().set("selector", std::move(nobody));
  assign.as_object().set("allow_empty", true);
  assign.as_object().set("component", std::move(reference));
  add(std::move(assign));
  return {};
}

Outcome<> Flow::canary(bool hotfix) {
  FLEET_TRY(
      hotfix ? known({"component", "oci_tag", "ids", "environment", "selector"})
             : known({"component", "component_path", "oci_tag", "ids", "environment", "selector"}));
  FLEET_ASSIGN(const std::string id, component_id());
  FLEET_ASSIGN(Value clusters, selector(id));
  Object reference;
  reference.set("id", id);
  for (const std::string_view name : kOverrides) {
    if (const Value* value = body_.find(name)) reference.set(std::string(name), *value);
  }
  if (hotfix && text("oci_tag").empty()) return bad_shape("oci_tag: is missing");
  if (reference.size() == 1) return bad_shape("a canary needs component_path or oci_tag");
  Value assign = operation("override_component");
  assign.as_object().set("selector", std::move(clusters));
  assign.as_object().set("component", std::move(reference));
  add(std::move(assign));
  return {};
}

Value Flow::effective_of(const Value& reference, const Value& entry) const {
  Object out;
  for (const std::string_view name : kOverrides) {
    const Value* own = reference.find(name);
    out.set(std::string(name), own != nullptr && !own->is_null() ? *own : *entry.find(name));
  }
  return out;
}

Value Flow::reference_for(const std::string& id, const Value& effective, const Value& entry) const {
  Object out;
  out.set("id", id);
  for (const std::string_view name : kOverrides) {
    const Value& wanted = *effective.find(name);
    out.set(std::string(name), wanted == *entry.find(name) ? Value() : wanted);
  }
  return out;
}

Outcome<Value> Flow::effective(const std::string& id) const {
  FLEET_ASSIGN(const Value* entry, draft_.get(Family::kComponent, id));
  Object source;
  if (const Value* one = body_.find("from_cluster")) {
    source.set("ids", *one);
  } else {
    source.set("environment", body_.find("from") != nullptr ? *body_.find("from") : Value());
    source.set("has_component", id);
  }
  FLEET_ASSIGN(const auto from, select_clusters(draft_, Value(std::move(source)), true));
  std::optional<Value> found;
  std::string first;
  for (const std::string& cluster : from) {
    const Value* reference =
        reference_in(*draft_.find(Family::kCluster, cluster), Family::kComponent, id);
    if (reference == nullptr)
      return not_found(fmt::format("cluster {} has no component {}", cluster, id));
    Value one = effective_of(*reference, *entry);
    if (!found) {
      found = std::move(one);
      first = cluster;
    } else if (*found != one) {
      return conflict(fmt::format(
          "{} and {} do not run the same {} (path {}, tag {}; path {}, tag {}): from_cluster says "
          "which is meant",
          first, cluster, id, found->text("component_path"), found->text("oci_tag"),
          one.text("component_path"), one.text("oci_tag")));
    }
  }
  if (!found) return not_found(fmt::format("no cluster of {} has component {}", text("from"), id));
  return *std::move(found);
}

Outcome<> Flow::promote_to_catalog(const std::string& id, const Value& effective) {
  Value update = operation("update");
  update.as_object().set("family", "platform_components");
  update.as_object().set("id", id);
  update.as_object().set("record", effective);
  add(std::move(update));
  // An override that says what the catalog now says is none.
  std::array<Array, 2> holders;
  draft_.each(Family::kCluster, [&](const std::string& cluster, const Value& record) {
    const Value* reference = reference_in(record, Family::kComponent, id);
    if (reference == nullptr) return;
    for (std::size_t i = 0; i < holders.size(); ++i) {
      const Value* own = reference->find(kOverrides[i]);
      if (own != nullptr && *own == *effective.find(kOverrides[i]))
        holders[i].emplace_back(cluster);
    }
  });
  for (std::size_t i = 0; i < holders.size(); ++i) {
    if (holders[i].empty()) continue;
    Object reference;
    reference.set("id", id);
    reference.set(std::string(kOverrides[i]), Value());
    Value clear = operation("override_component");
    clear.as_object().set("ids", std::move(holders[i]));
    clear.as_object().set("component", std::move(reference));
    add(std::move(clear));
  }
  return {};
}

Outcome<> Flow::promote() {
  FLEET_TRY(known({"component", "from", "from_cluster", "to", "assign_missing"}));
  FLEET_ASSIGN(const std::string id, component_id());
  if ((body_.find("from") == nullptr) == (body_.find("from_cluster") == nullptr)) {
    return bad_shape("a promotion needs one of from and from_cluster");
  }
  const std::string to = text("to");
  if (to.empty()) return bad_shape("to: must be an environment, or catalog");
  if (to == text("from")) return bad_shape("to: is where it comes from");
  FLEET_ASSIGN(const Value effective, this->effective(id));
  if (to == "catalog") return promote_to_catalog(id, effective);
  FLEET_ASSIGN(const Value* entry, draft_.get(Family::kComponent, id));
  const Value* missing = body_.find("assign_missing");
  const bool all = missing != nullptr && *missing == Value(true);
  Object selector;
  selector.set("environment", to);
  if (!all) selector.set("has_component", id);
  FLEET_ASSIGN(const auto clusters, select_clusters(draft_, Value(selector), true));
  if (clusters.empty()) {
    return not_found(all ? fmt::format("there is no cluster of {}", to)
                         : fmt::format("no cluster of {} has component {}; assign_missing gives it "
                                       "to all of them",
                                       to, id));
  }
  Value assign = operation(all ? "assign_component" : "override_component");
  assign.as_object().set("selector", Value(std::move(selector)));
  assign.as_object().set("component", reference_for(id, effective, *entry));
  add(std::move(assign));
  return {};
}

Outcome<> Flow::decommission() {
  FLEET_TRY(known({"ids", "environment", "selector"}));
  FLEET_ASSIGN(Value clusters, selector(""));
  Value remove = operation("delete");
  remove.as_object().set("family", "clusters");
  remove.as_object().set("selector", std::move(clusters));
  add(std::move(remove));
  return {};
}

Outcome<Value> Flow::operations(std::string_view kind) {
  if (kind == "batch") {
    FLEET_TRY(known({"operations"}));
    const Value* operations = body_.find("operations");
    return operations != nullptr ? *operations : Value();
  }
  auto done = [&]() -> Outcome<> {
    if (kind == "component") return component();
    if (kind == "upgrade") return upgrade();
    if (kind == "canary") return canary(false);
    if (kind == "hotfix") return canary(true);
    if (kind == "promote") return promote();
    if (kind == "decommission") return decommission();
    return bad_shape(
        "kind: must be batch, component, upgrade, canary, hotfix, promote or decommission");
  }();
  if (!done) return std::unexpected(done.error());
  return Value(std::move(operations_));
}

}  // namespace

Outcome<Value> operations_of(const Draft& draft, const Value& body) {
  return Flow(draft, body).operations(body.text("kind"));
}

}  // namespace kollect::fleet
