// What a request asks for, read from its path and parameters.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "http/server.h"
#include "sandbox/registry.h"
#include "sandbox/status.h"

namespace kollect::sandbox {

enum class Verb { kGet, kList, kWatch, kCreate, kUpdate, kPatch, kDelete, kDeleteCollection };
std::string_view to_string(Verb verb);

/// A request for objects of a served resource.
struct Call {
  Verb verb = Verb::kGet;
  ServedPtr served;
  std::string ns;    ///< empty: all namespaces, or cluster-scoped
  std::string name;  ///< empty: the collection
  std::string subresource;
  std::map<std::string, std::string> parameters;
  const http::ServerRequest* request = nullptr;
  const base::Clock* clock = nullptr;  ///< set where answers tell ages

  [[nodiscard]] std::string parameter(const std::string& key) const;
  [[nodiscard]] bool flag(const std::string& key) const;
  [[nodiscard]] bool dry_run() const { return parameter("dryRun") == "All"; }
};

/// The resource path of a request: "/apis/apps/v1/namespaces/shop/deployments/web/status". None
/// when it names no served resource.
std::optional<Call> read_call(const http::ServerRequest& request, const Catalog& catalog);

/// Refuses values of dryRun and propagationPolicy that there are none of.
Outcome<> check_write_options(const Call& call);
/// Takes the options of a deletion's body (DeleteOptions) as parameters.
void take_delete_options(Call& call, const base::json::Value& options);

/// The manifest in a request's body (JSON or YAML).
Outcome<base::json::Value> read_manifest(const http::ServerRequest& request);

}  // namespace kollect::sandbox
