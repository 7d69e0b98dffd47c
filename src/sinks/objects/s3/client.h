// Signed requests to one bucket: attempts, regions, errors. Knows nothing of documents.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/address_guard.h"
#include "base/context.h"
#include "base/resolve.h"
#include "base/result.h"
#include "http/client.h"
#include "sinks/objects/rest.h"
#include "sinks/objects/s3/credentials.h"
#include "sinks/objects/s3/endpoint.h"

namespace kollect::sinks::objects::s3 {

struct ClientOptions {
  Endpoint endpoint;
  std::string region;  ///< empty: asked from the bucket, else us-east-1
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
  Client(ClientOptions options, std::unique_ptr<CredentialSource> credentials);
  /// Sends up to three times while errors may pass. Errors: see Bucket; messages name method, place
  /// and the service's code, and hold nothing of the credentials.
  base::Result<http::Response> send(const base::Context& context, const Request& request);
  /// The region in use; known after the first request.
  [[nodiscard]] const std::string& region() const { return region_; }
  [[nodiscard]] const Endpoint& endpoint() const { return options_.endpoint; }

 private:
  base::Result<> find_region(const base::Context& context);
  base::Result<http::Response> attempt(const base::Context& context, const Request& request);
  /// True when the answer tells of another region than that in use, which is noted.
  bool learn_region(const http::Response& answer);
  [[nodiscard]] base::Error failure(const Request& request, const http::Response& answer) const;
  [[nodiscard]] std::string shown(const Request& request) const;

  ClientOptions options_;
  std::unique_ptr<CredentialSource> credentials_;
  http::Client http_;
  std::string region_;
  std::string secret_words_[2];  ///< access key and token in use: masked in messages
};

/// The class of an error by status and code (spec: sinks 9.3). `code` may be empty.
base::Error classify(int status, std::string_view code, std::string message);

}  // namespace kollect::sinks::objects::s3
