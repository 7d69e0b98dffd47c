// Bodies of the event streams (spec: runtime 13.4; HTML Living Standard, 9.2 Server-sent events).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "http/server.h"
#include "readapi/access.h"
#include "readapi/page_body.h"
#include "readapi/row_match.h"
#include "readapi/stream/hub.h"

namespace kollect::readapi {

/// How many streams there are.
class StreamSeats {
 public:
  explicit StreamSeats(std::size_t most) : most_(most) {}
  /// One stream's place, given back at its end.
  class Seat {
   public:
    explicit Seat(std::atomic<std::size_t>& taken) : taken_(taken) {}
    ~Seat() { --taken_; }
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

   private:
    std::atomic<std::size_t>& taken_;
  };
  /// Null when all are taken.
  std::unique_ptr<Seat> take() {
    if (++taken_ <= most_) return std::make_unique<Seat>(taken_);
    --taken_;
    return nullptr;
  }
  [[nodiscard]] std::size_t taken() const { return taken_; }
  [[nodiscard]] std::size_t most() const { return most_; }

 private:
  const std::size_t most_;
  std::atomic<std::size_t> taken_ = 0;
};

/// What every stream has.
struct StreamParts {
  Hub& hub;
  const base::Clock& clock;
  const base::Logger* log = nullptr;
  std::unique_ptr<StreamSeats::Seat> seat;
  /// Whether its caller may still listen, asked again and again.
  std::function<Verdict()> allowed;
  base::Duration recheck = std::chrono::seconds(30);
  std::function<void()> dropped = {};  ///< counts a client that was too slow
};

/// GET /v1alpha1/changes/watch.
struct ChangeStreamPlan {
  /// State from which to go on; "": from now.
  std::string after;
  RowFilter filter;
  Sight sight;
  /// Beyond the filter: rows of an inventory. Empty: all.
  std::function<bool(const RowNews&)> belongs;
};
std::shared_ptr<http::BodySource> change_stream(StreamParts parts, ChangeStreamPlan plan);

/// GET /v1alpha1/inventory/watch.
struct SummaryStreamPlan {
  std::string after;  ///< state that the client has; "": none
  /// A cursor over the page as it is now, with what stands around it.
  std::function<base::Result<std::pair<std::unique_ptr<RowCursor>, SummaryFrame>>()> page;
  std::vector<std::string> fields;
};
std::shared_ptr<http::BodySource> summary_stream(StreamParts parts, SummaryStreamPlan plan);

}  // namespace kollect::readapi
