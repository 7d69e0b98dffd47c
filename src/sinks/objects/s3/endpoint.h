// Where a bucket is (spec: sinks 9.1, K-38).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace kollect::sinks::objects::s3 {

inline constexpr std::string_view kGoogle = "https://storage.googleapis.com";

struct Endpoint {
  std::string bucket;
  std::string prefix;   ///< without slashes at its ends
  std::string service;  ///< "https://host[:port]"; empty: AWS, whose host depends on the region
  bool path_style = false;

  /// URL of the service for a region: "https://s3.eu-central-1.amazonaws.com", or `service`.
  [[nodiscard]] std::string service_url(std::string_view region) const;
  /// Host with port, and path without key, as requests have them.
  [[nodiscard]] std::string host(std::string_view region) const;
  [[nodiscard]] std::string base_path() const;
  [[nodiscard]] std::string scheme() const;
  /// "s3://bucket" or "https://host/bucket": for messages.
  [[nodiscard]] std::string shown() const;
};

/// `google`: sinks of type gcs. Errors (configuration, "bad-endpoint"): no bucket, a scheme that is
/// not known, user information, a query, a prefix with "." or "..".
base::Result<Endpoint> parse_endpoint(std::string_view text, bool google);

}  // namespace kollect::sinks::objects::s3
