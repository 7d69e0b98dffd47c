#include "fleet/meter.h"

#include <algorithm>

namespace kollect::fleet {
namespace {

double seconds(base::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

Meter::Meter(metrics::Registry& registry, std::vector<RouteName> routes)
    : registry_(registry), routes_(std::move(routes)) {
  for (const RouteName& route : routes_) {
    slots_.push_back(std::make_unique<Slot>(registry.histogram(
        "kollect_fleet_request_duration_seconds", "Time from a request to its answer, in seconds.",
        metrics::second_bounds(), {{"route", route.path}, {"method", route.method}})));
  }
  registry.before_text([this] { refresh(); });
}

void Meter::count(std::size_t route, int status, base::Duration took) {
  Slot& slot = *slots_[std::min(route, slots_.size() - 1)];
  const int index = std::clamp(status - kLowest, 0, kStatuses - 1);
  slot.by_status[static_cast<std::size_t>(index)].fetch_add(1, std::memory_order_relaxed);
  slot.seconds.observe(seconds(took));
}

void Meter::refresh() {
  for (std::size_t route = 0; route < slots_.size(); ++route) {
    for (std::size_t index = 0; index < kStatuses; ++index) {
      const auto count = slots_[route]->by_status[index].exchange(0, std::memory_order_relaxed);
      if (count == 0) continue;
      registry_
          .counter("kollect_fleet_requests_total", "Requests that were answered.",
                   {{"route", routes_[route].path},
                    {"method", routes_[route].method},
                    {"code", std::to_string(kLowest + static_cast<int>(index))}})
          .add(static_cast<double>(count));
    }
  }
}

void add_fleet_metrics(metrics::Registry& registry, const Fleet& fleet) {
  std::vector<std::pair<Family, metrics::Gauge>> records;
  for (const Family family : kAllFamilies) {
    records.emplace_back(family, registry.gauge("kollect_fleet_records", "Records by family.",
                                                {{"family", std::string(collection_of(family))}}));
  }
  const auto tombstones =
      registry.gauge("kollect_fleet_tombstones", "Deleted clusters that are remembered.");
  const auto up = registry.gauge("kollect_fleet_store_up",
                                 "1 when the last look at the store succeeded, else 0.");
  const auto age =
      registry.gauge("kollect_fleet_store_contact_age_seconds",
                     "Time since the store last answered: answers are older than it at most.");
  const auto largest = registry.gauge(
      "kollect_fleet_answer_bytes_max",
      "Bytes of the largest answer of a cluster that was asked for; Flux takes 921600.");
  const auto most = registry.gauge(
      "kollect_fleet_inputs_max",
      "Inputs of the cluster that has most of one kind; a provider takes 100 by default.");
  registry.before_text([=, &fleet] {
    for (const auto& [family, gauge] : records) gauge.set(static_cast<double>(fleet.count(family)));
    const FleetNumbers numbers = fleet.numbers();
    tombstones.set(static_cast<double>(numbers.tombstones));
    largest.set(static_cast<double>(numbers.largest_answer));
    most.set(static_cast<double>(numbers.most_inputs));
    up.set(fleet.trouble() ? 0 : 1);
    age.set(seconds(fleet.contact_age()));
  });
}

MeteredKeeper::MeteredKeeper(Keeper& inner, metrics::Registry& registry, const base::Clock& clock)
    : inner_(inner),
      clock_(clock),
      begin_(numbers(registry, "begin")),
      keep_(numbers(registry, "keep")),
      look_(numbers(registry, "look")),
      audit_(numbers(registry, "audit")),
      here_(registry.counter("kollect_fleet_changes_total", "Changes, by where they were made.",
                             {{"origin", "here"}})),
      elsewhere_(registry.counter("kollect_fleet_changes_total",
                                  "Changes, by where they were made.", {{"origin", "elsewhere"}})) {
}

MeteredKeeper::Numbers MeteredKeeper::numbers(metrics::Registry& registry, const char* operation) {
  const metrics::Labels labels{{"operation", operation}};
  return {
      registry.histogram("kollect_fleet_store_duration_seconds",
                         "Time that the store took, in seconds.", metrics::second_bounds(), labels),
      registry.counter("kollect_fleet_store_errors_total", "Calls that the store did not answer.",
                       labels)};
}

template <class Call>
auto MeteredKeeper::measure(const Numbers& numbers, const Call& call) {
  const auto began = clock_.steady_now();
  auto result = call();
  numbers.seconds.observe(seconds(clock_.steady_now() - began));
  if (!result) numbers.errors.add();
  return result;
}

base::Result<News> MeteredKeeper::begin() {
  auto news = measure(begin_, [&] { return inner_.begin(); });
  if (news) elsewhere_.add(static_cast<double>(news->changes.size()));
  return news;
}

base::Result<> MeteredKeeper::keep(std::span<const Change> changes) {
  auto kept = measure(keep_, [&] { return inner_.keep(changes); });
  if (kept) here_.add(static_cast<double>(changes.size()));
  return kept;
}

base::Result<News> MeteredKeeper::look() {
  auto news = measure(look_, [&] { return inner_.look(); });
  if (news) elsewhere_.add(static_cast<double>(news->changes.size()));
  return news;
}

base::Result<base::json::Array> MeteredKeeper::audit(const AuditQuery& query) {
  return measure(audit_, [&] { return inner_.audit(query); });
}

}  // namespace kollect::fleet
