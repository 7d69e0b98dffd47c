// The client side of the fleet API, for `kollect fleet`.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/json/value.h"
#include "base/result.h"
#include "base/secret.h"
#include "fleet/model.h"
#include "http/client.h"

namespace kollect::fleet {

struct ClientOptions {
  std::string url = "http://127.0.0.1:8080";
  base::Secret read_token;
  base::Secret write_token;
};

/// An answer of success: its JSON, the ETag, the texts of its warnings.
struct Told {
  base::json::Value value;
  std::string etag;
  std::vector<std::string> warnings = {};
};

/// Thread-safe. Errors carry the server's own words; their reason is its code ("not_found",
/// "conflict", ...).
class FleetClient {
 public:
  explicit FleetClient(ClientOptions options) : options_(std::move(options)) {}

  /// GET uses the read token, everything else the write token. `path` is sent as it is.
  base::Result<Told> call(const base::Context& context, const std::string& method,
                          const std::string& path,
                          const std::optional<base::json::Value>& body = {},
                          const std::string& if_match = {});

  /// Reads a record, lets `edit` make a PATCH body of it, writes it if it has not changed
  /// meanwhile, else begins anew; with `if_match` (an ETag) only if the record still has that one.
  /// The record afterwards.
  base::Result<Told> edit(
      const base::Context& context, Family family, const std::string& id,
      const std::string& if_match,
      const std::function<base::Result<base::json::Value>(const base::json::Value& record)>& edit);

  /// "/clusters/a%2Fb"
  static std::string path_of(Family family, std::string_view id = {});

 private:
  ClientOptions options_;
  http::Client http_;
};

}  // namespace kollect::fleet
