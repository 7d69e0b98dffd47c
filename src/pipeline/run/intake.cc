#include "pipeline/run/intake.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"

namespace kollect::pipeline {
namespace {

constexpr std::size_t kMaxReason = 256;

}  // namespace

void Intake::clear() {
  objects_ = 0;
  for (Lane& lane : lanes_) lane.batch = TargetBatch();
}

const select::Namespace& Intake::namespace_of(std::string_view name) {
  // Lists are sorted by namespace, so the last one is nearly always the right one.
  if (last_ != nullptr && last_->name == name) return *last_;
  const std::string key(name);
  if (const auto known = namespaces_.find(key); known != namespaces_.end()) {
    last_ = &known->second;
    return *last_;
  }
  const auto [it, added] = learnt_.try_emplace(key);
  if (added) {
    it->second.name = key;
    for (Lane& lane : lanes_) {
      if (!lane.learn_namespaces) continue;
      select::Namespaces one;
      one[key] = it->second;
      if (lane.target->selection.namespaces(one, {}).effective.empty()) continue;
      lane.effective.insert(std::ranges::upper_bound(lane.effective, key), key);
    }
  }
  last_ = &it->second;
  return *last_;
}

void Intake::object(base::json::View object, const ObjectType& type,
                    const std::function<std::string()>& uid_if_missing) {
  ++objects_;
  const auto metadata = object.find("metadata");
  if (!metadata) return;
  const std::string_view name = metadata->text("name");
  const std::string_view ns = type.namespaced ? metadata->text("namespace") : std::string_view();
  const select::Namespace* home = type.namespaced ? &namespace_of(ns) : nullptr;
  std::string made_uid;
  std::string_view uid = metadata->text("uid");
  for (Lane& lane : lanes_) {
    const select::Verdict verdict =
        lane.target->selection.judge(object, type.group, type.kind, home, type.namespaced,
                                     lane.effective, lane.batch.policy_errors);
    if (verdict == select::Verdict::kWrongKind || verdict == select::Verdict::kNamespace) continue;
    ++lane.batch.objects_seen;
    if (verdict != select::Verdict::kTaken) continue;
    if (uid.empty() && uid_if_missing) uid = made_uid = uid_if_missing();
    take(lane, object, type, ns, name, uid, home);
  }
}

void Intake::take(Lane& lane, base::json::View object, const ObjectType& type, std::string_view ns,
                  std::string_view name, std::string_view uid, const select::Namespace* home) {
  const TargetPlan& target = *lane.target;
  const auto extracted = target.program.extract(
      object, {.cluster = cluster_, .namespace_labels = home != nullptr ? &home->labels : nullptr});
  if (!extracted) {
    const extract::ExtractError& error = extracted.error();
    const std::string reason = fmt::format("{}: {}: {}", error.attribute,
                                           extract::to_string(error.error_class), error.message);
    lane.batch.failures.add({.ns = std::string(ns),
                             .name = std::string(name),
                             .uid = std::string(uid),
                             .reason = std::string(base::cut_utf8(reason, kMaxReason))});
    return;
  }
  lane.batch.type_mismatches += extracted->type_mismatches;
  lane.batch.rows.add({.target_namespace = target.cluster_target ? ns : std::string_view(target.ns),
                       .target_name = target.name,
                       .ns = ns,
                       .name = name,
                       .group = type.group,
                       .version = type.version,
                       .kind = type.kind,
                       .uid = uid,
                       .attributes = extracted->attributes_json});
}

}  // namespace kollect::pipeline
