// How requests to Google's services leave the process.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/address_guard.h"
#include "base/context.h"
#include "base/resolve.h"
#include "base/result.h"
#include "http/client.h"

namespace kollect::sinks::google {

/// Cheap to copy.
struct Network {
  std::shared_ptr<http::Client> client = std::make_shared<http::Client>();
  std::shared_ptr<const base::AddressGuard> guard;  ///< none: nothing is refused
  std::shared_ptr<const http::TlsOptions> tls;      ///< none: the system's trust
  base::Resolver resolver;                          ///< none: the system's
  base::Duration connect_timeout = std::chrono::seconds(30);
};

/// Sends one request with the settings of `network`. Any status is a success; errors are those of
/// http::Client::fetch.
base::Result<http::Response> fetch(const base::Context& context, const Network& network,
                                   http::Request request);

/// Value of an environment variable that is set and not blank.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
/// Of this process.
Environment process_environment();

/// Members of an HTML form, encoded.
std::string form(const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace kollect::sinks::google
