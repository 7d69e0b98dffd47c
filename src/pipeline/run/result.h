// What a run found, per context and target (spec: pipeline 11 and 12).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "inventory/row_set.h"
#include "select/selection.h"

namespace kollect::pipeline {

/// An object that gave no row. The reason is at most 256 bytes and never holds object content.
struct ExtractionFailure {
  std::string ns;
  std::string name;
  std::string uid;
  std::string reason;
  bool operator<(const ExtractionFailure& other) const {
    return std::tie(ns, name, uid) < std::tie(other.ns, other.name, other.uid);
  }
};

/// Failures of a target: all are counted, the first nineteen by namespace, name and uid are kept,
/// whatever the order of arrival (from the twentieth on they are counted only; spec: pipeline 12).
class FailureList {
 public:
  void add(ExtractionFailure failure);
  void add_all(const FailureList& other);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] const std::vector<ExtractionFailure>& first() const { return first_; }

 private:
  static constexpr std::size_t kKept = 19;
  void keep(ExtractionFailure failure);
  std::uint64_t count_ = 0;
  std::vector<ExtractionFailure> first_;
};

/// What one list (or the manifest files) gave a target.
struct TargetBatch {
  inventory::RowSet rows;
  FailureList failures;
  std::uint64_t objects_seen = 0;
  std::uint64_t type_mismatches = 0;
  select::PolicyErrors policy_errors;
};

struct TargetResult {
  enum class Status { kOk, kPartial, kSkipped, kSuspended };
  Status status = Status::kOk;
  std::string reason;   ///< "forbidden", "gvk-not-found", ...; empty when everything was read
  std::string message;  ///< one line for people
  std::vector<std::string> denied_namespaces;
  /// Namespaces that it selects, sorted; none when they are not known.
  std::optional<std::vector<std::string>> effective;
  bool cluster_scoped = false;  ///< a kind that it reads has no namespaces
  TargetBatch data;             ///< rows are sealed
  std::uint64_t row_count = 0;  ///< stays when the rows have been given back

  /// Read completely, or but for denied namespaces and failed objects.
  [[nodiscard]] bool was_read() const {
    return status == Status::kOk || status == Status::kPartial;
  }
};
std::string_view to_string(TargetResult::Status status);

struct ContextResult {
  std::string context;
  std::string cluster;
  std::optional<base::Error>
      error;  ///< nothing could be read: unreachable, unauthorized, broken context, ...
  std::vector<TargetResult> targets;  ///< as in the plan; empty when `error` is set
  select::Namespaces namespaces;      ///< known ones, for cluster inventories
  bool namespaces_listed = false;     ///< `namespaces` are all there are
  std::vector<std::string> warnings;
  bool incomplete_input = false;  ///< a manifest document could not be read
};

}  // namespace kollect::pipeline
