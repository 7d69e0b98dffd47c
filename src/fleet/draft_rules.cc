// The rules about a write as a whole.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/json/write.h"
#include "base/strings.h"
#include "fleet/draft.h"
#include "fleet/merge.h"

namespace kollect::fleet {

using base::json::Value;

namespace {

/// Flux takes no answer that is longer, and by default no more inputs than a hundred (spec:
/// fleet-api 3.5).
constexpr std::size_t kMostBytes = 900U << 10U;
constexpr std::size_t kManyInputs = 90;

/// The value as compact JSON is not longer; much cheaper than writing it.
std::size_t most_bytes(const Value& value) {
  constexpr std::size_t kNumber = 32;
  constexpr std::size_t kEscaped = 6;
  if (value.is_string()) return value.as_string().size() * kEscaped + 2;
  std::size_t sum = kNumber;
  if (value.is_array()) {
    for (const Value& one : value.as_array()) sum += most_bytes(one) + 1;
  } else if (value.is_object()) {
    for (const auto& [key, one] : value.as_object()) {
      sum += key.size() * kEscaped + 4 + most_bytes(one);
    }
  }
  return sum;
}

/// A key that looks as if its value should be in nobody's status. One that names a Secret of the
/// cluster is the right way and fine.
bool looks_secret(std::string_view key) {
  std::string plain = base::to_lower(key.substr(key.rfind('.') + 1));
  std::erase_if(plain, [](char c) { return c == '_' || c == '-'; });
  if (plain.find("existingsecret") != std::string::npos) return false;
  for (const char* good : {"secretname", "secretref", "keyname", "keyref"}) {
    if (plain.ends_with(good)) return false;
  }
  for (const char* bad : {"password", "passwd", "passphrase", "credential"}) {
    if (plain.find(bad) != std::string::npos) return true;
  }
  for (const char* bad : {"secret", "token", "apikey", "privatekey", "accesskey", "secretkey"}) {
    if (plain.ends_with(bad)) return true;
  }
  return false;
}

/// The operator keeps inputs as YAML, which has no DEL, no C1 controls, no U+FFFE and U+FFFF: with
/// one of them a whole poll fails. (U+0085 it has, and takes it for the end of a line.)
bool fits_status(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x7f') return false;
    if (text[i] == '\xc2' && i + 1 < text.size() &&
        static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      return false;
    }
    const std::string_view three = text.substr(i, 3);
    if (three == "\xef\xbf\xbe" || three == "\xef\xbf\xbf") return false;
  }
  return true;
}

/// Path of the first text or key that does not.
std::optional<std::string> unfit(const Value& value) {
  if (value.is_string() && !fits_status(value.as_string())) return std::string();
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.as_array().size(); ++i) {
      const auto below = unfit(value.as_array()[i]);
      if (below) return fmt::format("[{}]{}", i, *below);
    }
  } else if (value.is_object()) {
    for (const auto& [key, one] : value.as_object()) {
      if (!fits_status(key)) return std::string(" (a key)");
      const auto below = unfit(one);
      if (below) return fmt::format(".{}{}", key, *below);
    }
  }
  return std::nullopt;
}

}  // namespace

Outcome<> Draft::check_texts() const {
  for (const Family family : kAllFamilies) {
    for (const auto& [id, one] : touched(family)) {
      if (!one.after) continue;
      const auto place = unfit(*one.after);
      if (!place || (one.before != nullptr && unfit(one.before->data))) continue;
      return bad_shape(
          fmt::format("{} {}{}: has a control character, and Flux would refuse the poll",
                      noun_of(family), id, *place));
    }
  }
  return {};
}

Outcome<> Draft::check_deleted() const {
  std::array<std::map<std::string_view, std::vector<std::string_view>>, kFamilies> guarded;
  bool any = false;
  for (const Family family : kDefinitions) {
    for (const auto& [id, one] : touched(family)) {
      if (one.after || one.forced || one.before == nullptr) continue;
      guarded[static_cast<std::size_t>(family)].emplace(id, std::vector<std::string_view>());
      any = true;
    }
  }
  if (!any) return {};
  // Once over the fleet, however many definitions go.
  each(Family::kCluster, [&](const std::string& id, const Value& cluster) {
    for (const Family family : kDefinitions) {
      auto& gone = guarded[static_cast<std::size_t>(family)];
      if (gone.empty()) continue;
      for (const std::string_view reference : referred(cluster, family)) {
        const auto found = gone.find(reference);
        if (found != gone.end()) found->second.emplace_back(id);
      }
    }
  });
  for (const Family family : kDefinitions) {
    for (auto& [id, users] : guarded[static_cast<std::size_t>(family)]) {
      if (users.empty()) continue;
      constexpr std::size_t kNamed = 3;
      const std::size_t count = users.size();
      users.resize(std::min(count, kNamed));
      return conflict(fmt::format(
          "{} {} is referred to by {} cluster{} ({}{}): deleting it would remove it there; "
          "?force=true does",
          noun_of(family), id, count, count == 1 ? "" : "s", fmt::join(users, ", "),
          count > kNamed ? ", ..." : ""));
    }
  }
  return {};
}

namespace {

/// Strongly connected parts of the catalog (Tarjan), without recursion: chains may be long.
class Circles {
 public:
  using Next = std::function<std::vector<std::string>(const std::string& id)>;
  explicit Circles(Next next) : next_(std::move(next)) {}

  /// The members of the circle that `id` is in, itself included; empty: in none.
  std::vector<std::string> of(const std::string& id) {
    if (!nodes_.contains(id)) walk(id);
    const auto& circle = circles_[nodes_.at(id).circle];
    return circle.size() > 1 ? circle : std::vector<std::string>();
  }

 private:
  struct Node {
    std::size_t index = 0;
    std::size_t low = 0;
    std::size_t circle = 0;
    bool open = true;
    std::vector<std::string> next;
    std::size_t at = 0;
  };
  Node& enter(const std::string& id) {
    Node node{.index = nodes_.size(), .low = nodes_.size(), .next = next_(id)};
    open_.push_back(id);
    return nodes_.emplace(id, std::move(node)).first->second;
  }
  void walk(const std::string& from) {
    std::vector<std::string> path = {from};
    enter(from);
    while (!path.empty()) {
      const std::string id = path.back();
      Node& node = nodes_.at(id);
      if (node.at < node.next.size()) {
        const std::string& other = node.next[node.at++];
        const auto known = nodes_.find(other);
        if (known == nodes_.end()) {
          path.push_back(other);
          enter(other);
        } else if (known->second.open) {
          node.low = std::min(node.low, known->second.index);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) {
        Node& above = nodes_.at(path.back());
        above.low = std::min(above.low, node.low);
      }
      if (node.low == node.index) close(id);
    }
  }
  void close(const std::string& root) {
    std::vector<std::string> circle;
    do {
      circle.push_back(open_.back());
      Node& node = nodes_.at(open_.back());
      node.open = false;
      node.circle = circles_.size();
      open_.pop_back();
    } while (circle.back() != root);
    circles_.push_back(std::move(circle));
  }

  Next next_;
  std::map<std::string, Node> nodes_;
  std::vector<std::string> open_;
  std::vector<std::vector<std::string>> circles_;
};

std::vector<std::string_view> needs_of(const Value& component) {
  std::vector<std::string_view> out;
  const Value* list = component.find("depends_on");
  if (list == nullptr || !list->is_array()) return out;
  for (const Value& one : list->as_array()) {
    if (one.is_string()) out.push_back(one.as_string());
  }
  return out;
}

}  // namespace

Outcome<> Draft::check_dependencies() {
  Circles circles([this](const std::string& id) {
    std::vector<std::string> out;
    const Value* component = find(Family::kComponent, id);
    if (component == nullptr) return out;
    for (const std::string_view one : needs_of(*component)) out.emplace_back(one);
    return out;
  });
  for (const auto& [id, one] : touched(Family::kComponent)) {
    if (!one.after) continue;
    const Value* before = one.before != nullptr ? one.before->data.find("depends_on") : nullptr;
    if (before != nullptr && *before == *one.after->find("depends_on")) continue;
    for (const std::string_view other : needs_of(*one.after)) {
      if (other == id) {
        // Servers of this API have always taken it; Flux will not render such a component.
        warnings_.push_back(fmt::format("component {} depends on itself", id));
        continue;
      }
      if (find(Family::kComponent, std::string(other)) != nullptr) continue;
      warnings_.push_back(
          fmt::format("component {} depends on {}, which is not in the catalog", id, other));
    }
    auto circle = circles.of(id);
    if (circle.empty()) continue;
    constexpr std::size_t kNamed = 5;
    std::ranges::sort(circle);
    const bool cut = circle.size() > kNamed;
    circle.resize(std::min(circle.size(), kNamed));
    return bad_shape(fmt::format("depends_on: component {} would depend on itself (circle of {}{})",
                                 id, base::join(circle, ", "), cut ? ", ..." : ""));
  }
  for (const auto& [id, one] : touched(Family::kCluster)) {
    if (!one.after) continue;
    const Value* before = one.before != nullptr ? &one.before->data : nullptr;
    check_secrets(before, *one.after);
    if (before == nullptr ||
        *before->find("platform_components") != *one.after->find("platform_components")) {
      check_assigned(*one.after);
    }
  }
  return {};
}

/// Flux waits for ever for a dependency that is not rendered.
void Draft::check_assigned(const Value& cluster) {
  std::set<std::string_view> rendered;
  const auto& references = cluster.find("platform_components")->as_array();
  const auto enabled = [](const Value& reference) {
    const Value* flag = reference.find("enabled");
    return flag == nullptr || !flag->is_bool() || flag->as_bool();
  };
  for (const Value& reference : references) {
    if (enabled(reference)) rendered.insert(reference.text("id"));
  }
  for (const std::string_view id : rendered) {
    const Value* component = find(Family::kComponent, std::string(id));
    if (component == nullptr) continue;
    for (const std::string_view other : needs_of(*component)) {
      if (rendered.contains(other)) continue;
      warnings_.push_back(
          fmt::format("cluster {}: {} depends on {}, which the cluster does not "
                      "have or has disabled",
                      cluster.text("id"), id, other));
    }
  }
}

void Draft::check_secrets(const Value* before, const Value& after) {
  for (const auto& [component, patches] : after.find("patches")->as_object()) {
    for (const auto& [key, value] : patches.as_object()) {
      if (!looks_secret(key)) continue;
      const Value* old = before != nullptr ? before->at_path({"patches", component, key}) : nullptr;
      if (old != nullptr && *old == value) continue;
      warnings_.push_back(
          fmt::format("cluster {}: the patch {} of {} looks like a secret, and patches can be read "
                      "in the cluster; name a Secret of the cluster instead",
                      after.text("id"), key, component));
    }
  }
}

std::string Draft::inputs(Family family, const Value& cluster, bool before) const {
  std::string out = R"({"inputs":[)";
  append_inputs(out, family, cluster, [&](std::string_view id) -> const Value* {
    if (!before) return find(family, std::string(id));
    const auto& records = view_.records[static_cast<std::size_t>(family)];
    const auto known = records.find(std::string(id));
    return known == records.end() ? nullptr : &known->second.data;
  });
  return out + "]}";
}

Outcome<> Draft::check_size(const std::string& id) {
  const Value& cluster = *find(Family::kCluster, id);
  for (const Family family : kDefinitions) {
    std::size_t most = most_bytes(cluster);
    const std::size_t identity =
        6 * (cluster.text("cluster_name").size() + cluster.text("cluster_dns").size()) + 256;
    for (const std::string_view reference : referred(cluster, family)) {
      const Value* definition = find(family, std::string(reference));
      if (definition != nullptr) most += most_bytes(*definition) + identity;
    }
    if (most <= kMostBytes) continue;
    const std::size_t now = inputs(family, cluster, false).size();
    if (now <= kMostBytes) continue;
    // What was too long already may become shorter.
    const auto& clusters = view_.records.front();
    const auto known = clusters.find(id);
    const std::size_t then =
        known == clusters.end() ? 0 : inputs(family, known->second.data, true).size();
    if (now <= then) continue;
    return bad_shape(fmt::format(
        "cluster {}: the answer to its polls of {} would have {} bytes, and Flux takes {} at most",
        id, collection_of(family), now, kMostBytes));
  }
  return {};
}

Outcome<> Draft::check_sizes() {
  std::set<std::string> affected;
  for (const auto& [id, one] : touched(Family::kCluster)) {
    if (!one.after || (one.before != nullptr && one.before->data == *one.after)) continue;
    affected.insert(id);
    for (const Family family : kDefinitions) {
      const std::size_t count = referred(*one.after, family).size();
      if (count <= kManyInputs) continue;
      warnings_.push_back(
          fmt::format("cluster {} has {} {}: a provider takes 100 unless its filter.limit says "
                      "otherwise, and cuts the rest silently",
                      id, count, collection_of(family)));
    }
  }
  std::array<std::set<std::string_view>, kFamilies> grown;
  bool any = false;
  for (const Family family : kDefinitions) {
    for (const auto& [id, one] : touched(family)) {
      if (!one.after) continue;
      if (one.before != nullptr && most_bytes(*one.after) <= most_bytes(one.before->data)) continue;
      grown[static_cast<std::size_t>(family)].insert(id);
      any = true;
    }
  }
  if (any) {
    each(Family::kCluster, [&](const std::string& id, const Value& cluster) {
      for (const Family family : kDefinitions) {
        const auto& longer = grown[static_cast<std::size_t>(family)];
        if (longer.empty()) continue;
        const auto ids = referred(cluster, family);
        if (std::ranges::any_of(ids, [&](auto one) { return longer.contains(one); })) {
          affected.insert(id);
        }
      }
    });
  }
  for (const std::string& id : affected) FLEET_TRY(check_size(id));
  return {};
}

namespace {

/// What of a definition differs. A cluster that overrides it does not see it.
struct Differs {
  bool path = false;
  bool tag = false;
  bool other = false;

  bool seen_by(const Value& reference) const {
    return other || (path && reference.find("component_path") == nullptr) ||
           (tag && reference.find("oci_tag") == nullptr);
  }
};

Differs differing(const Value& before, const Value& after) {
  Differs out;
  for (const auto& [key, value] : after.as_object()) {
    const Value* old = before.find(key);
    if (old != nullptr && *old == value) continue;
    (key == "component_path" ? out.path : key == "oci_tag" ? out.tag : out.other) = true;
  }
  return out;
}

bool answered_otherwise(const Value& before, const Value& after) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"cluster_name", "cluster_dns", "environment",
                                              "platform_components", "namespaces", "rolebindings",
                                              "patches"},
      [&](std::string_view key) { return *before.find(key) != *after.find(key); });
}

}  // namespace

std::map<std::string, std::size_t> Draft::reach() const {
  std::map<std::string, std::size_t> out;
  std::array<std::map<std::string_view, Differs>, kFamilies> changed;
  bool any = false;
  for (const Family family : kDefinitions) {
    for (const auto& [id, one] : touched(family)) {
      if (one.before == nullptr || (one.after && one.before->data == *one.after)) continue;
      changed[static_cast<std::size_t>(family)].emplace(
          id, one.after ? differing(one.before->data, *one.after) : Differs{.other = true});
      any = true;
    }
  }
  for (const auto& [id, one] : touched(Family::kCluster)) {
    const Value* before = one.before != nullptr ? &one.before->data : nullptr;
    if (before == nullptr && !one.after) continue;
    if (before != nullptr && one.after && !answered_otherwise(*before, *one.after)) continue;
    ++out[std::string((one.after ? *one.after : *before).text("environment"))];
  }
  if (!any) return out;
  each(Family::kCluster, [&](const std::string& id, const Value& cluster) {
    const auto own = touched(Family::kCluster).find(id);
    if (own != touched(Family::kCluster).end()) {
      const Touched& one = own->second;
      if (one.before == nullptr || answered_otherwise(one.before->data, *one.after)) return;
    }
    for (const Family family : kDefinitions) {
      const auto& definitions = changed[static_cast<std::size_t>(family)];
      if (definitions.empty()) continue;
      for (const Value& reference : cluster.find(references_of(family))->as_array()) {
        const auto found = definitions.find(reference.text("id"));
        if (found == definitions.end() || !found->second.seen_by(reference)) continue;
        ++out[std::string(cluster.text("environment"))];
        return;
      }
    }
  });
  return out;
}

}  // namespace kollect::fleet
