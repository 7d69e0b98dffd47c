// The service's numbers for Prometheus.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fleet/fleet.h"
#include "metrics/registry.h"

namespace kollect::fleet {

/// Requests by route, method and status, and how long they took. Counting is two additions; the
/// page is made from them when it is asked for. Thread-safe.
class Meter {
 public:
  struct RouteName {
    std::string method;
    std::string path;  ///< a pattern
  };
  /// `registry` must outlive it, and it the registry's last page. `routes`: by index; the first
  /// stands for requests that reach no route.
  Meter(metrics::Registry& registry, std::vector<RouteName> routes);

  void count(std::size_t route, int status, base::Duration took);

 private:
  static constexpr int kLowest = 100;
  static constexpr int kStatuses = 500;
  struct Slot {
    std::array<std::atomic<std::uint64_t>, kStatuses> by_status{};
    metrics::Histogram seconds;
    explicit Slot(metrics::Histogram histogram) : seconds(histogram) {}
  };
  void refresh();

  metrics::Registry& registry_;
  std::vector<RouteName> routes_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

/// Records, tombstones, answers and the store, looked up for each page. `fleet` must outlive them.
void add_fleet_metrics(metrics::Registry& registry, const Fleet& fleet);

/// Measures how long a store takes, and counts its errors.
class MeteredKeeper final : public Keeper {
 public:
  /// `inner` and `clock` must outlive it.
  MeteredKeeper(Keeper& inner, metrics::Registry& registry, const base::Clock& clock);

  base::Result<News> begin() override;
  base::Result<> keep(std::span<const Change> changes) override;
  void abandon() override { inner_.abandon(); }
  base::Result<News> look() override;
  base::Result<base::json::Array> audit(const AuditQuery& query) override;
  [[nodiscard]] bool keeps_polls() const override { return inner_.keeps_polls(); }
  base::Result<> add_polls(const PollNotes& notes) override { return inner_.add_polls(notes); }
  base::Result<PollNotes> polls() override { return inner_.polls(); }

 private:
  struct Numbers {
    metrics::Histogram seconds;
    metrics::Counter errors;
  };
  static Numbers numbers(metrics::Registry& registry, const char* operation);
  template <class Call>
  auto measure(const Numbers& numbers, const Call& call);

  Keeper& inner_;
  const base::Clock& clock_;
  Numbers begin_;
  Numbers keep_;
  Numbers look_;
  Numbers audit_;
  metrics::Counter here_;       ///< changes that were written here
  metrics::Counter elsewhere_;  ///< changes of other processes
};

}  // namespace kollect::fleet
