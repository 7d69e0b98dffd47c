// Sums of attributes over rows, as metrics (spec: collection 15, runtime 14).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/types.h"
#include "base/clock.h"
#include "inventory/row_store.h"
#include "metrics/registry.h"

namespace kollect::manager {

/// The number that a text is, read to its end: "12", "1e3", "0x1p4", "1_000"; no blanks, nothing
/// that is not finite.
std::optional<double> number_in(std::string_view text);

/// A target whose rows are shown.
struct ShownTarget {
  inventory::Owner target;      ///< of a cluster target: ns is empty
  std::string profile;          ///< name
  std::string profile_version;  ///< changes with the profile
  api::GroupVersionKind gvk;    ///< of the profile; counted with 0 when there are no rows
  std::vector<api::Metric> definitions;
  std::string resource_key = {};  ///< attribute that is the exported object; "": there is none
};
/// Of a target that uses this profile.
ShownTarget shown_target(const inventory::Owner& target, const api::Profile& profile);

/// The rows of a target are read again when they have changed and the interval is over; in between
/// the last state is shown, and of targets that are gone nothing. Thread-safe.
class DomainSeries {
 public:
  /// References must outlive it.
  DomainSeries(inventory::RowStore& store, const base::Clock& clock, base::Duration interval)
      : store_(store), clock_(clock), interval_(interval) {}

  /// Adds kollect_collected_objects, kollect_custom_resource_series, _labeled_series and
  /// _labeled_series_capped_total. Takes as long as reading the rows that have changed.
  void show(metrics::Page& page, const std::vector<ShownTarget>& targets);

  static constexpr std::size_t kMostGroups = 200;  ///< per profile, kind and series

 private:
  using Labels = metrics::Labels;
  /// Of one kind.
  struct Sums {
    std::size_t rows = 0;
    std::map<std::string, double> series;
    /// The first kMostGroups in order: more than that of one target is never shown.
    std::map<std::string, std::map<Labels, double>> groups;
    std::map<std::string, std::size_t> dropped;
  };
  using Kinds = std::map<std::string, Sums>;  ///< by "group/version/kind"
  struct State {
    std::string profile_version;
    std::string set_hash;
    base::SteadyTime read_at{};
    Kinds kinds;
  };

  void refresh(const ShownTarget& target, State& state);
  static void add(Sums& to, const Sums& from);
  void page_of(metrics::Page& page, const std::string& profile, const std::string& gvk,
               const Sums& sums);

  inventory::RowStore& store_;
  const base::Clock& clock_;
  const base::Duration interval_;
  std::mutex mutex_;
  std::map<inventory::Owner, State> states_;
  /// Dropped groups so far, by profile, kind and series; added at each refresh.
  std::map<Labels, double> capped_;
};

}  // namespace kollect::manager
