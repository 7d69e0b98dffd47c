// The HTTP routes of the fleet API (spec: fleet-api 4, 5).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "fleet/fleet.h"
#include "fleet/meter.h"
#include "fleet/observed.h"
#include "fleet/polls.h"
#include "fleet/tokens.h"
#include "http/server.h"

namespace kollect::fleet {

struct ApiOptions {
  bool crud = false;     ///< else Flux routes only
  std::string open_api;  ///< text of /openapi.yaml
  /// Answers of a store that has not answered for so long are no longer given.
  base::Duration stale_limit = std::chrono::hours(24);
  std::optional<ObservedSettings> inventory = {};  ///< of /drift
};

/// The page of /metrics and who counts for it; null: no such page.
struct ApiWatch {
  const metrics::Registry* registry = nullptr;
  Meter* meter = nullptr;
};

struct Call;

/// Thread-safe.
class Api {
 public:
  using Handler = Outcome<http::Answer> (Api::*)(const Call& call);
  /// A route of records: what GET may do HEAD may. "{family}" stands for each collection,
  /// "{definitions}" for each that clusters refer to.
  struct Row {
    std::string_view method;
    std::string_view path;
    Handler handler;
  };
  /// The routes of API_MODE crud.
  static std::span<const Row> rows();
  /// Gives odd polls that were seen to the store. To be called now and then, and at the end.
  base::Result<> keep_polls() { return fleet_.keep_polls(polls_); }

  /// What the meter counts, by index.
  static std::vector<Meter::RouteName> route_names();

  /// All must outlive it; `log` may be null.
  Api(Fleet& fleet, const TokenBook& tokens, ApiOptions options, const base::Clock& clock,
      const base::Logger* log, ApiWatch watch = {})
      : fleet_(fleet),
        tokens_(tokens),
        options_(std::move(options)),
        clock_(clock),
        log_(log),
        watch_(watch) {}

  http::Answer answer(const http::ServerRequest& request);
  /// The answer to a poll that is ready and may be given; null: see answer(). Does not wait.
  http::PreparedAnswer quick(const http::RequestView& request);
  /// The service is about to end: from now on it is not ready.
  void leave() { leaving_ = true; }

 private:
  /// Index of Api::route_names().
  static std::size_t counted(Route route);
  http::Answer open(Call& call) const;
  http::Answer judged(Call& call);
  http::Answer admit(Call& call);
  http::Answer serve(Call& call);
  http::Answer flux(Call& call);
  Outcome<ReadyPtr> part_of_fleet(const Call& call) const;
  http::Answer crud(Call& call);
  // In api_records.cc:
  Outcome<http::Answer> list(const Call& call);
  Outcome<http::Answer> create(const Call& call);
  Outcome<http::Answer> show(const Call& call);
  Outcome<http::Answer> update(const Call& call);
  Outcome<http::Answer> remove(const Call& call);
  Outcome<http::Answer> tombstones(const Call& call);
  Outcome<http::Answer> drop_tombstone(const Call& call);
  Outcome<http::Answer> unknown_polls(const Call& call);
  Outcome<http::Answer> audit(const Call& call);
  // In api_parts.cc:
  Outcome<http::Answer> show_reference(const Call& call);
  Outcome<http::Answer> put_reference(const Call& call);
  Outcome<http::Answer> remove_reference(const Call& call);
  Outcome<http::Answer> show_patches(const Call& call);
  Outcome<http::Answer> put_patches(const Call& call);
  Outcome<http::Answer> remove_patches(const Call& call);
  Outcome<http::Answer> change_part(const Call& call,
                                    const std::function<Outcome<>(Draft& draft)>& edit);
  // In api_rollouts.cc:
  Outcome<http::Answer> batch(const Call& call);
  Outcome<http::Answer> roll_out(const Call& call);
  Outcome<http::Answer> rollouts(const Call& call);
  Outcome<http::Answer> rollout(const Call& call);
  Outcome<http::Answer> undo(const Call& call);
  Outcome<http::Answer> restore(const Call& call);
  // In api_drift.cc:
  Outcome<http::Answer> drift(const Call& call);
  void tell_rollout(const Call& call, const base::json::Value& told) const;
  void tell(const Call& call, const Record& record) const;
  void tell_refusal(const Call& call, int status) const;

  Fleet& fleet_;
  const TokenBook& tokens_;
  ApiOptions options_;
  const base::Clock& clock_;
  const base::Logger* log_;
  ApiWatch watch_;
  std::atomic<std::uint64_t> requests_ = 0;
  Polls polls_;
  const http::PreparedAnswer well_{http::Answer::json(200, R"({"status":"ok"})")};
  std::atomic<bool> leaving_ = false;
  std::mutex drift_;  ///< held by who answers /drift
};

}  // namespace kollect::fleet
