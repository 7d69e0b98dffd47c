// One object in, rows out: judges and extracts it for every target that may want it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json/document.h"
#include "pipeline/run/plan.h"
#include "pipeline/run/result.h"
#include "select/selection.h"

namespace kollect::pipeline {

/// A target's share in a list.
struct Lane {
  const TargetPlan* target = nullptr;
  std::size_t index = 0;                    ///< in the plan
  std::vector<std::string> effective = {};  ///< sorted; not asked for cluster-scoped kinds
  /// Namespaces could not be listed: they are judged by name as objects of them come (selection
  /// L-12).
  bool learn_namespaces = false;
  TargetBatch batch = {};
};

/// Type of the objects of a list.
struct ObjectType {
  std::string group;
  std::string version;
  std::string kind;
  bool namespaced = false;
};

/// Not thread-safe: one list is handled by one thread.
class Intake {
 public:
  Intake(std::string cluster, const select::Namespaces& namespaces, std::vector<Lane> lanes)
      : cluster_(std::move(cluster)), namespaces_(namespaces), lanes_(std::move(lanes)) {}

  /// Forgets what came in (a list begins anew).
  void clear();
  /// `uid_if_missing` is called for objects without a uid.
  void object(base::json::View object, const ObjectType& type,
              const std::function<std::string()>& uid_if_missing = nullptr);
  [[nodiscard]] std::vector<Lane>& lanes() { return lanes_; }
  [[nodiscard]] std::uint64_t objects() const { return objects_; }

 private:
  const select::Namespace& namespace_of(std::string_view name);
  void take(Lane& lane, base::json::View object, const ObjectType& type, std::string_view ns,
            std::string_view name, std::string_view uid, const select::Namespace* home);

  std::string cluster_;
  const select::Namespaces& namespaces_;
  std::vector<Lane> lanes_;
  select::Namespaces learnt_;  ///< names that objects mention and nobody listed
  const select::Namespace* last_ = nullptr;
  std::uint64_t objects_ = 0;
};

}  // namespace kollect::pipeline
