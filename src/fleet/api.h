// The HTTP routes of the fleet API (spec: fleet-api 4, 5).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/log.h"
#include "fleet/fleet.h"
#include "fleet/tokens.h"
#include "http/server.h"

namespace kollect::fleet {

struct ApiOptions {
  bool crud = false;     ///< else Flux routes only
  std::string open_api;  ///< text of /openapi.yaml
};

/// Thread-safe.
class Api {
 public:
  /// All must outlive it; `log` may be null.
  Api(Fleet& fleet, const TokenBook& tokens, ApiOptions options, const base::Logger* log)
      : fleet_(fleet), tokens_(tokens), options_(std::move(options)), log_(log) {}

  http::Answer answer(const http::ServerRequest& request);
  /// The service is about to end: from now on it is not ready.
  void leave() { leaving_ = true; }

 private:
  struct Call;
  http::Answer admit(Call& call);
  http::Answer serve(const Call& call);
  http::Answer flux(const Call& call);
  http::Answer crud(const Call& call);
  Outcome<http::Answer> collection(const Call& call);
  Outcome<http::Answer> item(const Call& call);
  Outcome<http::Answer> tombstones(const Call& call);
  Outcome<http::Answer> audit(const Call& call);
  void tell(const Call& call, const Record& record) const;
  void tell_refusal(const Call& call, int status) const;

  Fleet& fleet_;
  const TokenBook& tokens_;
  ApiOptions options_;
  const base::Logger* log_;
  std::atomic<std::uint64_t> requests_ = 0;
  std::atomic<bool> leaving_ = false;
};

}  // namespace kollect::fleet
