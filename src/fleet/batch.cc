#include "fleet/batch.h"

#include <fmt/format.h>

#include <algorithm>

#include "fleet/cluster_parts.h"
#include "fleet/diff.h"

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

void Touches::add(Family family, const std::string& id, std::size_t operation) {
  const auto [place, fresh] = place_.try_emplace({family, id}, all_.size());
  if (fresh) all_.push_back({.family = family, .id = id, .operations = {}});
  auto& operations = all_[place->second].operations;
  if (operations.empty() || operations.back() != operation) operations.push_back(operation);
}

std::string_view action_of(const Change& change) {
  if (!change.before) return "created";
  return change.after ? "changed" : "deleted";
}

Array results_of(const Touches& touches, const std::vector<Change>& changes) {
  std::map<std::pair<Family, std::string_view>, const Change*> by_record;
  for (const Change& change : changes)
    by_record.emplace(std::pair(change.family, std::string_view(change.id)), &change);
  Array out;
  for (const Touches::One& one : touches.all()) {
    const auto found = by_record.find({one.family, one.id});
    const Change* change = found == by_record.end() ? nullptr : found->second;
    Object result;
    result.set("family", collection_of(one.family));
    result.set("id", one.id);
    result.set("action", change != nullptr ? action_of(*change) : "unchanged");
    if (change != nullptr) result.set("version", change->version);
    Array operations;
    for (const std::size_t number : one.operations) {
      operations.emplace_back(static_cast<std::int64_t>(number));
    }
    result.set("operations", std::move(operations));
    if (change != nullptr && change->before && change->after) {
      result.set("changes", to_value(differences(*change->before, *change->after)));
    } else if (change != nullptr) {
      const auto& only = change->after ? change->after : change->before;
      if (only) result.set("record", shown(one.family, *only));
    }
    out.emplace_back(std::move(result));
  }
  return out;
}

Outcome<> only_members(const Value& object, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.as_object()) {
    if (std::ranges::find(known, key) == known.end()) {
      return bad_shape(fmt::format("{}: is not known here", key));
    }
  }
  return {};
}

namespace {

const Value kNothing;

/// One operation while it is done.
class Operation {
 public:
  Operation(Draft& draft, const Value& said, std::size_t number, Touches& touches)
      : draft_(draft), said_(said), number_(number), touches_(touches) {}

  Outcome<> run();

 private:
  [[nodiscard]] const Value& member(std::string_view name) const {
    const Value* value = said_.find(name);
    return value != nullptr ? *value : kNothing;
  }
  Outcome<Family> family() const;
  Outcome<bool> flag(std::string_view name) const;
  Outcome<std::vector<std::string>> targets(Family family) const;
  Outcome<Draft::Version> if_match() const;
  Outcome<> check(Family family, const std::string& id, Draft::Version version) const {
    FLEET_TRY(draft_.get(family, id));
    return draft_.check_version(family, id, version);
  }
  Outcome<> each_target(Family family, const std::function<Outcome<>(const std::string& id)>& act);
  Outcome<> make(bool known_too);
  Outcome<> change(bool merges);
  Outcome<> remove();
  Outcome<> assign(Family definitions, bool must_be_there);
  Outcome<> unassign(Family definitions);
  Outcome<> patches(bool merges);

  Draft& draft_;
  const Value& said_;
  std::size_t number_;
  Touches& touches_;
};

Outcome<Family> Operation::family() const {
  for (const Family family : kAllFamilies) {
    if (member("family") == Value(collection_of(family))) return family;
  }
  return bad_shape("family: must be clusters, platform_components, namespaces or rolebindings");
}

Outcome<bool> Operation::flag(std::string_view name) const {
  const Value& value = member(name);
  if (value.is_null()) return false;
  if (!value.is_bool()) return bad_shape(fmt::format("{}: must be true or false", name));
  return value.as_bool();
}

Outcome<Draft::Version> Operation::if_match() const {
  const Value& version = member("if_match");
  if (version.is_null()) return Draft::Version();
  if (!version.is_int() || version.as_int() < 1 || member("id").is_null()) {
    return bad_shape("if_match: must be the version of the record that id names");
  }
  return Draft::Version(static_cast<std::uint64_t>(version.as_int()));
}

Outcome<std::vector<std::string>> Operation::targets(Family family) const {
  const Value& id = member("id");
  const Value& ids = member("ids");
  const Value& selector = member("selector");
  if (static_cast<int>(!id.is_null()) + static_cast<int>(!ids.is_null()) +
          static_cast<int>(!selector.is_null()) !=
      1) {
    return bad_shape("an operation needs one of id, ids and selector");
  }
  std::vector<std::string> out;
  if (!selector.is_null()) {
    if (family != Family::kCluster) return bad_shape("selector: finds clusters only");
    FLEET_ASSIGN(const bool allow_empty, flag("allow_empty"));
    return select_clusters(draft_, selector, allow_empty);
  }
  if (!id.is_null()) {
    if (!id.is_string()) return bad_shape("id: must be a text");
    out.push_back(id.as_string());
    return out;
  }
  if (!ids.is_array()) return bad_shape("ids: must be a list of texts");
  for (const Value& one : ids.as_array()) {
    if (!one.is_string()) return bad_shape("ids: must be a list of texts");
    out.push_back(one.as_string());
  }
  if (out.empty()) return bad_shape("ids: names nothing");
  return out;
}

Outcome<> Operation::each_target(Family family,
                                 const std::function<Outcome<>(const std::string& id)>& act) {
  FLEET_ASSIGN(const auto version, if_match());
  FLEET_ASSIGN(const auto ids, targets(family));
  for (const std::string& id : ids) {
    auto done = version ? check(family, id, version) : Outcome<>();
    if (done) done = act(id);
    if (!done) {
      Problem problem = done.error();
      if (problem.message.find(id) == std::string::npos) {
        problem.message = fmt::format("{} {}: {}", noun_of(family), id, problem.message);
      }
      return std::unexpected(std::move(problem));
    }
    touches_.add(family, id, number_);
  }
  return {};
}

Outcome<> Operation::make(bool known_too) {
  FLEET_TRY(only_members(said_, {"op", "family", "record", "records"}));
  FLEET_ASSIGN(const Family family, this->family());
  const Value& one = member("record");
  const Value& many = member("records");
  if (one.is_null() == many.is_null() || (!many.is_null() && !many.is_array())) {
    return bad_shape("an operation needs a record, or a list of records");
  }
  const Array records = many.is_null() ? Array{one} : many.as_array();
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string id(records[i].text("id"));
    const bool known = known_too && draft_.find(family, id) != nullptr;
    Outcome<std::string> done = id;
    if (!known) {
      done = draft_.create(family, records[i]);
    } else if (auto updated = draft_.update(family, id, records[i]); !updated) {
      done = std::unexpected(updated.error());
    }
    if (!done) {
      Problem problem = done.error();
      const std::string where = many.is_null() ? "" : fmt::format("records[{}]: ", i);
      problem.message =
          where + (id.empty() || problem.message.find(id) != std::string::npos
                       ? problem.message
                       : fmt::format("{} {}: {}", noun_of(family), id, problem.message));
      return std::unexpected(std::move(problem));
    }
    touches_.add(family, *done, number_);
  }
  return {};
}

Outcome<> Operation::change(bool merges) {
  FLEET_TRY(only_members(
      said_, {"op", "family", "id", "ids", "selector", "allow_empty", "record", "if_match"}));
  FLEET_ASSIGN(const Family family, this->family());
  return each_target(family, [&](const std::string& id) {
    return merges ? draft_.merge(family, id, member("record"))
                  : draft_.update(family, id, member("record"));
  });
}

Outcome<> Operation::remove() {
  FLEET_TRY(only_members(
      said_, {"op", "family", "id", "ids", "selector", "allow_empty", "force", "if_match"}));
  FLEET_ASSIGN(const Family family, this->family());
  FLEET_ASSIGN(const bool force, flag("force"));
  return each_target(family,
                     [&](const std::string& id) { return draft_.remove(family, id, force); });
}

/// "component", "namespace", "rolebinding": the member that names a definition.
std::string_view definition_member(Family definitions) {
  if (definitions == Family::kRoleBinding) return "rolebinding";
  return noun_of(definitions);
}

Outcome<> Operation::assign(Family definitions, bool must_be_there) {
  const std::string_view name = definition_member(definitions);
  FLEET_TRY(only_members(said_, {"op", "id", "ids", "selector", "allow_empty", "if_match", name}));
  const Value& said = member(name);
  Value reference = Object{};
  if (said.is_object()) reference = said;
  const std::string id = said.is_string() ? said.as_string() : std::string(said.text("id"));
  if (id.empty()) return bad_shape(fmt::format("{}: must be an id, or an object with one", name));
  FLEET_TRY(draft_.get(definitions, id));
  return each_target(Family::kCluster, [&](const std::string& cluster) -> Outcome<> {
    if (must_be_there) {
      FLEET_ASSIGN(const Value* record, draft_.get(Family::kCluster, cluster));
      if (reference_in(*record, definitions, id) == nullptr) {
        return not_found(fmt::format("cluster {} has no {} {}", cluster, noun_of(definitions), id));
      }
    }
    return assign_merging(draft_, cluster, definitions, id, reference);
  });
}

Outcome<> Operation::unassign(Family definitions) {
  const std::string_view name = definition_member(definitions);
  FLEET_TRY(only_members(said_, {"op", "id", "ids", "selector", "allow_empty", "if_match", name}));
  if (!member(name).is_string()) return bad_shape(fmt::format("{}: must be an id", name));
  const std::string& id = member(name).as_string();
  return each_target(Family::kCluster, [&](const std::string& cluster) -> Outcome<> {
    if (!member("selector").is_null()) {
      // What it is asked to take away is not there: nothing to do.
      const Value* record = draft_.find(Family::kCluster, cluster);
      if (record != nullptr && reference_in(*record, definitions, id) == nullptr) return {};
    }
    return fleet::unassign(draft_, cluster, definitions, id);
  });
}

Outcome<> Operation::patches(bool merges) {
  FLEET_TRY(only_members(
      said_, {"op", "id", "ids", "selector", "allow_empty", "if_match", "component", "patches"}));
  if (!member("component").is_string()) return bad_shape("component: must be an id");
  const std::string& component = member("component").as_string();
  return each_target(Family::kCluster, [&](const std::string& cluster) {
    return merges ? merge_patches(draft_, cluster, component, member("patches"))
                  : set_patches(draft_, cluster, component, member("patches"));
  });
}

Outcome<> Operation::run() {
  if (!said_.is_object()) return bad_shape("must be an object");
  const std::string_view op = said_.text("op");
  if (op == "create") return make(false);
  if (op == "apply") return make(true);
  if (op == "update") return change(false);
  if (op == "patch") return change(true);
  if (op == "delete") return remove();
  if (op == "override_component") return assign(Family::kComponent, true);
  if (op == "set_patches") return patches(false);
  if (op == "merge_patches") return patches(true);
  for (const Family definitions : kDefinitions) {
    const std::string_view name = definition_member(definitions);
    if (op == fmt::format("assign_{}", name)) return assign(definitions, false);
    if (op == fmt::format("unassign_{}", name)) return unassign(definitions);
  }
  return bad_shape(fmt::format("op: {} is not known", op.empty() ? "(none)" : op));
}

}  // namespace

Outcome<> run_operations(Draft& draft, const Value& operations, Touches& touches) {
  if (!operations.is_array() || operations.as_array().empty()) {
    return bad_shape("operations: must be a list that is not empty");
  }
  for (std::size_t i = 0; i < operations.as_array().size(); ++i) {
    if (auto done = Operation(draft, operations.as_array()[i], i, touches).run(); !done) {
      Problem problem = done.error();
      problem.message = fmt::format("operations[{}]: {}", i, problem.message);
      return std::unexpected(std::move(problem));
    }
  }
  return {};
}

}  // namespace kollect::fleet
