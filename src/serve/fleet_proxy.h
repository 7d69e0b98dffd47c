// The fleet API behind the read API, reading only.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/secret.h"
#include "http/client.h"
#include "http/server.h"

namespace kollect::serve {

struct FleetSettings {
  std::string url;     ///< http(s)://host[:port][/prefix]
  base::Secret token;  ///< the server's own; never a client's
};

/// Whether the fleet API has a read route there ("/clusters/a").
bool is_fleet_read(std::string_view path);

/// Passes requests on. Of the client's headers only Accept and If-None-Match go along, of the
/// answer's those that describe its content. Answers are bounded in size and time. Thread-safe.
class FleetProxy {
 public:
  /// `clock` and `log` must outlive it.
  FleetProxy(FleetSettings settings, const base::Clock& clock, const base::Logger& log)
      : settings_(std::move(settings)), clock_(clock), log_(log) {}

  /// `request.path` is the path of the fleet API.
  void handle(const std::shared_ptr<const http::ServerRequest>& request, http::Reply reply);

 private:
  FleetSettings settings_;
  const base::Clock& clock_;
  const base::Logger& log_;
  http::Client client_;  ///< last: no answer arrives any more when the rest goes
};

}  // namespace kollect::serve
