// Requests to answers: the Kubernetes API over one store.
#pragma once

#include <memory>

#include "base/clock.h"
#include "http/server.h"
#include "sandbox/access.h"
#include "sandbox/reader.h"
#include "sandbox/registry.h"
#include "sandbox/store.h"
#include "sandbox/writer.h"

namespace kollect::sandbox {

struct ApiOptions {
  std::size_t history_events = 50'000;  ///< per resource
  std::uint64_t seed = 1;               ///< of uids, generated names and faults
  ReaderOptions reader = {};
};

/// Thread-safe. The namespaces default, kube-system, kube-public and kube-node-lease are there from
/// the beginning.
class Api {
 public:
  /// `clock` must outlive it and every answer.
  Api(const base::Clock& clock, ApiOptions options);

  http::Answer answer(const http::ServerRequest& request);

  [[nodiscard]] Store& store() { return store_; }
  [[nodiscard]] Registry& registry() { return registry_; }
  [[nodiscard]] Writer& writer() { return writer_; }
  /// Everybody may do everything at first.
  [[nodiscard]] Access& access() { return access_; }

 private:
  Outcome<http::Answer> serve(const Call& call, const Identity& who);
  Outcome<http::Answer> create(const Call& call, const Identity& who);
  Outcome<http::Answer> remove(Call call);
  Outcome<http::Answer> remove_collection(Call call);
  http::Answer written(const Call& call, const Writer::Written& result) const;

  ApiOptions options_;
  const base::Clock& clock_;
  Store store_;
  Registry registry_;
  Writer writer_;
  Reader reader_;
  Access access_;
};

}  // namespace kollect::sandbox
