// Requests to a JSON API of Google: authorised, tried again, errors sorted (spec: sinks 13, K-48).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/document.h"
#include "sinks/google/credentials.h"
#include "sinks/google/network.h"

namespace kollect::sinks::google {

struct ApiOptions {
  std::string name;      ///< "bigquery": begins every error text
  std::string base_url;  ///< scheme and host, no slash at the end
  std::string scope;
  std::shared_ptr<Credentials> credentials;  ///< none: an emulator, which is sent no token
  Network network;
  /// Statuses of the range 400 without a known reason are terminal but for 408 and 429; else
  /// (BigQuery) those of them that are not 400, 401, 403 or 404 are transient.
  bool unknown_is_terminal = true;
  base::Duration pause = std::chrono::seconds(1);  ///< after a first failure; grows with the next
};

struct Call {
  std::string method = "GET";
  std::string path;   ///< with query, from base_url; or a complete URL
  std::string doing;  ///< for error texts: "creating table x"
  std::string body = {};
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::vector<int> accept = {};  ///< statuses beside 2xx that are answers, too
};

/// An error object of the API or of a job.
struct Fault {
  int status = 0;  ///< 0: of a job
  std::string reason;
  std::string message;
};

/// Thread-safe.
class Api {
 public:
  explicit Api(ApiOptions options) : options_(std::move(options)) {}

  /// Passing failures are tried three times in all, with pauses on the context's clock; a refused
  /// token is replaced once. So the request must be one that may arrive twice. Errors: denied
  /// (reasons "auth", "forbidden"), not-found ("not-found"), terminal, retryable ("rate-limit",
  /// "unavailable", and those of http::Client).
  base::Result<http::Response> send(const base::Context& context, const Call& call);
  /// Once, whatever happens; any status is a success.
  base::Result<http::Response> send_once(const base::Context& context, const Call& call);
  [[nodiscard]] base::Error error_of(const http::Response& answer, std::string_view doing) const;
  [[nodiscard]] base::Error error_of(const Fault& fault, std::string_view doing) const;
  /// A session's address from an upload's answer; error (terminal) when it is not the service's.
  [[nodiscard]] base::Result<std::string> checked_location(const http::Response& answer,
                                                           std::string_view doing) const;
  [[nodiscard]] const ApiOptions& options() const { return options_; }

 private:
  ApiOptions options_;
};

/// True for errors that a later try may not meet.
bool is_passing(const base::Error& error);

}  // namespace kollect::sinks::google
