// Allowed requests to one container: attempts and errors. Knows nothing of documents.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address_guard.h"
#include "base/context.h"
#include "base/resolve.h"
#include "base/result.h"
#include "http/client.h"
#include "sinks/objects/azure/credentials.h"
#include "sinks/objects/azure/endpoint.h"
#include "sinks/objects/rest.h"

namespace kollect::sinks::objects::azure {

struct ClientOptions {
  Endpoint endpoint;
  std::shared_ptr<const http::TlsOptions> tls;
  std::shared_ptr<const base::AddressGuard> guard;  ///< empty: every address may be used
  base::Resolver resolver;                          ///< empty: the system's
  /// Between attempts; doubled each time.
  base::Duration pause = std::chrono::milliseconds(200);
};

using Request = RestRequest;

/// Called by one thread at a time.
class Client {
 public:
  Client(ClientOptions options, std::unique_ptr<Authority> authority);
  /// Sends up to three times while errors may pass. Errors: see Bucket; messages name method, place
  /// and the service's code, and hold nothing of the credentials.
  base::Result<http::Response> send(const base::Context& context, const Request& request);
  [[nodiscard]] const Endpoint& endpoint() const { return options_.endpoint; }
  [[nodiscard]] bool lists_only() const { return authority_->lists_only(); }

 private:
  base::Result<http::Response> attempt(const base::Context& context, const Request& request);

  ClientOptions options_;
  std::unique_ptr<Authority> authority_;
  http::Client http_;
};

/// The class of an error by status and the service's code, which may be empty (spec: sinks 9.3).
base::Error classify(int status, std::string_view code, std::string message);

}  // namespace kollect::sinks::objects::azure
