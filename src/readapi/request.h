// One request on its way through the service.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/server.h"
#include "readapi/access.h"
#include "readapi/query.h"
#include "readapi/routes.h"

namespace kollect::readapi {

struct Call {
  const http::ServerRequest& request;
  Routed routed;
  Parameters parameters;
  Query query = {};
  Wish wish = {};
  Verdict verdict = {};

  [[nodiscard]] Caller caller() const {
    return {.authorization = std::string(request.header("authorization").value_or("")),
            .peer = request.peer};
  }
  /// What the caller sees of things that belong to a namespace as a whole (inventories, objects):
  /// its sight, and of that what it asks for.
  [[nodiscard]] Sight narrow_sight() const;
};

/// What the route and its query want to read, and the filter of inventories settled: namespace and
/// name from the path go before those of the query. Error: configuration.
base::Result<> settle(Call& call);

}  // namespace kollect::readapi
