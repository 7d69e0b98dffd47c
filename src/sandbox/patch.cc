#include "sandbox/patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "base/strings.h"

namespace kollect::sandbox {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

using Path = std::vector<std::string>;

Path below(const Path& path, const std::string& key) {
  Path out = path;
  out.push_back(key);
  return out;
}

/// The item of a list with the same keys.
Value* find_item(Array& list, const std::vector<std::string>& keys, const Value& like) {
  for (Value& item : list) {
    const bool same = std::ranges::all_of(keys, [&](const std::string& key) {
      const Value* a = item.find(key);
      const Value* b = like.find(key);
      return (a == nullptr && b == nullptr) || (a != nullptr && b != nullptr && *a == *b);
    });
    if (same && item.is_object()) return &item;
  }
  return nullptr;
}

const Value* sample_of(const Array& list) {
  return list.empty() ? nullptr : &list.front();
}

void add_missing(Array& set, const Array& more) {
  for (const Value& item : more) {
    if (std::ranges::find(set, item) == set.end()) set.push_back(item);
  }
}

}  // namespace

ListRule builtin_list_rule(const Path& path, const Value* sample) {
  static const std::map<std::string_view, const char*> kKeys = {
      {"containers", "name"},
      {"initContainers", "name"},
      {"ephemeralContainers", "name"},
      {"volumes", "name"},
      {"env", "name"},
      {"volumeMounts", "mountPath"},
      {"volumeDevices", "devicePath"},
      {"imagePullSecrets", "name"},
      {"hostAliases", "ip"},
      {"ownerReferences", "uid"},
      {"conditions", "type"},
      {"addresses", "type"},
      {"topologySpreadConstraints", "topologyKey"},
      {"secrets", "name"},
      {"taints", "key"},
      {"resourceClaims", "name"},
      {"webhooks", "name"},
      {"podIPs", "ip"}};
  if (path.empty()) return {};
  const std::string& name = path.back();
  if (name == "finalizers") return {.kind = ListRule::Kind::kSet, .keys = {}};
  if (name == "ports") {
    const bool of_container = sample != nullptr && sample->find("containerPort") != nullptr;
    return {.kind = ListRule::Kind::kByKeys, .keys = {of_container ? "containerPort" : "port"}};
  }
  const auto found = kKeys.find(name);
  if (found == kKeys.end()) return {};
  return {.kind = ListRule::Kind::kByKeys, .keys = {found->second}};
}

void merge_patch(Value& target, const Value& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = Object{};
  for (const auto& [key, value] : patch.as_object()) {
    if (value.is_null()) {
      target.as_object().erase(key);
    } else {
      merge_patch(target.as_object()[key], value);
    }
  }
}

// ---- strategic merge patch

namespace {

class StrategicMerge {
 public:
  explicit StrategicMerge(const ListRules& rules) : rules_(rules) {}

  void object(Value& target, const Value& patch, const Path& path) {
    if (!patch.is_object()) {
      target = patch;
      return;
    }
    if (patch.text("$patch") == "replace") {
      target = patch;
      target.as_object().erase("$patch");
      return;
    }
    if (!target.is_object()) target = Object{};
    Object& members = target.as_object();
    retain(members, patch);
    for (const auto& [key, value] : patch.as_object()) {
      if (key.starts_with('$')) continue;
      if (value.is_null() || value.text("$patch") == "delete") {
        members.erase(key);
      } else if (value.is_array()) {
        list(members[key], value.as_array(), below(path, key), patch);
      } else {
        object(members[key], value, below(path, key));
      }
    }
    for (const auto& [key, value] : patch.as_object()) {
      constexpr std::string_view kDelete = "$deleteFromPrimitiveList/";
      if (!key.starts_with(kDelete) || !value.is_array()) continue;
      Value* set = members.find(key.substr(kDelete.size()));
      if (set == nullptr || !set->is_array()) continue;
      std::erase_if(set->as_array(), [&](const Value& item) {
        return std::ranges::find(value.as_array(), item) != value.as_array().end();
      });
    }
  }

 private:
  static void retain(Object& members, const Value& patch) {
    const Value* keys = patch.find("$retainKeys");
    if (keys == nullptr || !keys->is_array()) return;
    std::vector<std::string> gone;
    for (const auto& [key, value] : members) {
      if (std::ranges::find(keys->as_array(), Value(key)) == keys->as_array().end()) {
        gone.push_back(key);
      }
    }
    for (const std::string& key : gone) members.erase(key);
  }

  void list(Value& target, const Array& patch, const Path& path, const Value& parent) {
    const bool replace = std::ranges::any_of(
        patch, [](const Value& item) { return item.text("$patch") == "replace"; });
    const Value* sample = sample_of(patch);
    if (sample == nullptr && target.is_array()) sample = sample_of(target.as_array());
    const ListRule rule = rules_(path, sample);
    if (!target.is_array() || replace || rule.kind == ListRule::Kind::kReplace) target = Array{};
    Array& items = target.as_array();
    const Array before = items;
    if (rule.kind == ListRule::Kind::kSet) {
      add_missing(items, patch);
    } else {
      for (const Value& item : patch) {
        const std::string_view directive = item.text("$patch");
        if (directive == "replace") continue;
        Value* found = rule.keys.empty() ? nullptr : find_item(items, rule.keys, item);
        if (directive == "delete") {
          if (found != nullptr) items.erase(items.begin() + (found - items.data()));
        } else if (found != nullptr) {
          object(*found, item, path);
        } else {
          Value fresh;
          object(fresh, item, path);
          items.push_back(std::move(fresh));
        }
      }
    }
    const Value* order = parent.find("$setElementOrder/" + path.back());
    if (order != nullptr && order->is_array()) {
      reorder(items, order->as_array(), before, rule);
    } else if (rule.kind == ListRule::Kind::kByKeys) {
      reorder(items, patch, before, rule);
    }
  }

  /// Place of an item in a list, the list's size when it is not there.
  static std::size_t place_in(const Array& list, const Value& item, const ListRule& rule) {
    const auto found = std::ranges::find_if(list, [&](const Value& one) {
      if (rule.kind != ListRule::Kind::kByKeys) return one == item;
      return std::ranges::all_of(rule.keys, [&](const std::string& key) {
        const Value* a = one.find(key);
        const Value* b = item.find(key);
        return a != nullptr && b != nullptr && *a == *b;
      });
    });
    return static_cast<std::size_t>(found - list.begin());
  }

  /// Items that the patch names stand in its order, the others in theirs; between both, those that
  /// were in front `before` stay in front.
  static void reorder(Array& items, const Array& order, const Array& before, const ListRule& rule) {
    Array named;
    Array others;
    for (Value& item : items) {
      (place_in(order, item, rule) < order.size() ? named : others).push_back(std::move(item));
    }
    std::ranges::stable_sort(named, {},
                             [&](const Value& item) { return place_in(order, item, rule); });
    items.clear();
    auto other = others.begin();
    for (Value& item : named) {
      const std::size_t place = place_in(before, item, rule);
      while (other != others.end() && place < before.size() &&
             place_in(before, *other, rule) < place) {
        items.push_back(std::move(*other++));
      }
      items.push_back(std::move(item));
    }
    items.insert(items.end(), std::make_move_iterator(other),
                 std::make_move_iterator(others.end()));
  }

  const ListRules& rules_;
};

}  // namespace

void strategic_merge_patch(Value& target, const Value& patch, const ListRules& rules) {
  StrategicMerge(rules).object(target, patch, {});
}

// ---- apply

namespace {

class Apply {
 public:
  explicit Apply(const ListRules& rules) : rules_(rules) {}

  void merge(Value& target, const Value* previous, const Value& applied, const Path& path) {
    if (applied.is_object()) {
      if (!target.is_object()) target = Object{};
      for (const auto& [key, value] : applied.as_object()) {
        merge(target.as_object()[key], previous != nullptr ? previous->find(key) : nullptr, value,
              below(path, key));
      }
      if (previous == nullptr || !previous->is_object()) return;
      for (const auto& [key, value] : previous->as_object()) {
        if (applied.find(key) == nullptr) remove(target.as_object(), key, value, below(path, key));
      }
    } else if (applied.is_array()) {
      list(target, previous, applied.as_array(), path);
    } else {
      target = applied;
    }
  }

 private:
  void list(Value& target, const Value* previous, const Array& applied, const Path& path) {
    const ListRule rule = rules_(path, sample_of(applied));
    if (!target.is_array() || rule.kind == ListRule::Kind::kReplace) {
      target = applied;
      return;
    }
    Array& items = target.as_array();
    const Array none;
    const Array& before = previous != nullptr && previous->is_array() ? previous->as_array() : none;
    if (rule.kind == ListRule::Kind::kSet) {
      std::erase_if(items, [&](const Value& item) {
        return std::ranges::find(before, item) != before.end() &&
               std::ranges::find(applied, item) == applied.end();
      });
      add_missing(items, applied);
      return;
    }
    Array now = applied;
    Array old = before;
    for (const Value& item : before) {
      if (find_item(now, rule.keys, item) != nullptr) continue;
      Value* found = find_item(items, rule.keys, item);
      if (found != nullptr) items.erase(items.begin() + (found - items.data()));
    }
    for (const Value& item : applied) {
      if (Value* found = find_item(items, rule.keys, item)) {
        merge(*found, find_item(old, rule.keys, item), item, path);
      } else {
        items.push_back(item);
      }
    }
  }

  /// Takes away what was applied before; of an object its members, so that others' stay.
  void remove(Object& target, const std::string& key, const Value& previous, const Path& path) {
    Value* member = target.find(key);
    if (member == nullptr) return;
    if (!previous.is_object() || !member->is_object()) {
      target.erase(key);
      return;
    }
    for (const auto& [name, value] : previous.as_object()) {
      remove(member->as_object(), name, value, below(path, name));
    }
    if (member->as_object().empty()) target.erase(key);
  }

  const ListRules& rules_;
};

}  // namespace

void apply_patch(Value& target, const Value* previous, const Value& applied,
                 const ListRules& rules) {
  Apply(rules).merge(target, previous, applied, {});
}

}  // namespace kollect::sandbox
