// Inside of the service: what its routes share.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/json/value.h"
#include "readapi/page_body.h"
#include "readapi/problems.h"
#include "readapi/request.h"
#include "readapi/service.h"
#include "readapi/stream/hub.h"
#include "readapi/stream/polled_feed.h"
#include "readapi/stream/streams.h"

namespace kollect::readapi {

/// What is counted; shared with pages of metrics, which may be made when the service has gone.
struct ServiceCounts {
  std::mutex mutex;
  std::map<int, std::uint64_t> answers;  ///< by status
  std::uint64_t dropped = 0;             ///< streams that were too slow
  std::shared_ptr<StreamSeats> seats;
};

/// Of Kollect's own objects, what a caller may read.
struct Survey {
  std::uint64_t targets = 0;
  std::uint64_t sinks = 0;
  std::vector<Problem> problems;  ///< the worst first
};

struct Service::Impl {
  Impl(ServiceParts the_parts, ServiceOptions the_options);

  [[nodiscard]] base::Context context(base::Duration limit) const {
    return base::Context(parts.clock, {}).with_timeout(limit);
  }
  /// Everything but /fleet.
  http::Answer answer(const http::ServerRequest& request);
  /// An answer that ends the call, where it must not go on; else the call is complete.
  std::optional<http::Answer> admit(Call& call);
  http::Answer dispatch(Call& call);
  void finish(const http::ServerRequest& request, http::Answer& answer);

  // service_rows.cc
  http::Answer inventory(Call& call);
  http::Answer exported(Call& call);
  http::Answer groups(Call& call);
  http::Answer changes(Call& call);
  http::Answer history(Call& call);
  http::Answer watch(Call& call);
  http::Answer watch_changes(Call& call);
  base::Result<std::pair<std::unique_ptr<RowCursor>, SummaryFrame>> page(
      const Query& query, const Sight& sight, const base::Context& context);
  /// What a stream of this caller needs, with its seat; or the answer that there is none.
  [[nodiscard]] std::expected<StreamParts, http::Answer> open_stream(const Call& call) const;
  base::Result<> check_inventory(const Call& call);

  // service_objects.cc
  http::Answer meta(Call& call);
  http::Answer status(Call& call);
  http::Answer inventories(Call& call);
  http::Answer clusters(Call& call);
  http::Answer overview(Call& call);
  [[nodiscard]] Survey survey(const Call& call);
  base::Result<std::vector<InventoryState>> inventory_states(const Call& call);

  // service_files.cc
  http::Answer console(const Call& call);
  http::Answer description(const Call& call);
  http::Answer ready();

  ServiceParts parts;
  ServiceOptions options;
  std::unique_ptr<PolledFeed> polled;
  std::shared_ptr<StreamSeats> seats;
  std::shared_ptr<ServiceCounts> counts;
  std::unique_ptr<Hub> hub;  ///< last: ends first
};

/// One compact document and a newline.
std::string document(const base::json::Object& object);

}  // namespace kollect::readapi
