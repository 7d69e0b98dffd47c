// One request to an API server: credentials, one refresh after a 401, retries of reads, warnings.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/context.h"
#include "base/log.h"
#include "base/result.h"
#include "http/client.h"
#include "kube/client.h"
#include "kube/credentials.h"
#include "kube/streamed_lists.h"

namespace kollect::kube {

/// When a request may be sent again.
enum class Again : std::uint8_t {
  kNever,
  kUntaken,  ///< when the server did not take it: 429, no connection
  kAlways,   ///< twice is once: reads, idempotent writes
};

/// A request before credentials. A pure value.
struct Call {
  std::string method = "GET";
  std::string path;  ///< from the server's root, with query
  std::string accept = "application/json";
  std::string body;
  std::string content_type;
  Again again = Again::kAlways;
  std::optional<std::uint32_t> retries;  ///< instead of ClientOptions::retries
};

/// Thread-safe.
class Sender {
 public:
  Sender(std::shared_ptr<http::Client> http, ClusterConfig config, ClientOptions options,
         const base::Logger* log);

  /// Any status is a success; 429 and 5xx only after the retries that the call allows, 401 only
  /// after a refresh of the credential. Errors: as transport_error(), and those of credentials.
  base::Result<http::Response> send(const base::Context& context, const Call& call);
  /// As send(), other statuses than 2xx are errors. `label` begins their message.
  base::Result<http::Response> expect_success(const base::Context& context, const Call& call,
                                              std::string_view label);

  /// error_of() with a hint at what is wrong with the credential where the server refused it.
  base::Error refusal(const base::Context& context, std::string_view label, int status,
                      std::string_view body);
  [[nodiscard]] http::Request make_request(const Call& call, const Credential& credential) const;
  /// Counts the answer, collects Warning headers and remembers that the server was reached.
  void note(const http::Response& response, const std::string& method = "GET");
  /// A server that answered before may just be restarting: worth a retry.
  [[nodiscard]] bool worth_retry(const base::Error& error) const;
  /// Logs and waits before a retry. Error: cancelled.
  base::Result<> wait(const base::Context& context, std::uint32_t attempt, std::string_view why,
                      const std::optional<std::string>& retry_after);

  [[nodiscard]] http::Client& http() const { return *http_; }
  [[nodiscard]] Credentials& credentials() { return credentials_; }
  [[nodiscard]] StreamedLists& streamed_lists() { return streamed_lists_; }
  [[nodiscard]] const ClusterConfig& config() const { return config_; }
  [[nodiscard]] const ClientOptions& options() const { return options_; }
  [[nodiscard]] const base::Logger* log() const { return log_; }
  [[nodiscard]] std::vector<std::string> warnings() const;
  [[nodiscard]] RequestCounts request_counts() const;

 private:
  void count(const std::string& code, const std::string& method);

  const std::shared_ptr<http::Client> http_;
  const ClusterConfig config_;
  const ClientOptions options_;
  const base::Logger* const log_;
  Credentials credentials_;
  StreamedLists streamed_lists_;
  std::atomic<bool> reached_ = false;
  mutable std::mutex mutex_;
  std::vector<std::string> warnings_;
  RequestCounts counts_;
};

/// Text of a Warning header ("299 - \"text\""); empty when it is none.
std::string warning_text(std::string_view header);

}  // namespace kollect::kube
