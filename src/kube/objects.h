// Writing objects: what an operator does to its own kinds, and events.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/context.h"
#include "base/json/value.h"
#include "base/result.h"
#include "kube/client.h"

namespace kollect::kube {

/// One object's place.
struct ObjectRef {
  Resource resource;
  std::string ns;  ///< empty: cluster-scoped
  std::string name;
};

/// An event about an object, as users see it with `kubectl describe`.
struct Event {
  bool warning = false;
  std::string reason = {};     ///< one word in camel case
  std::string message = {};    ///< cut to 1024 bytes
  std::string component = {};  ///< who says so: "kollect-inventory"
  std::string instance = {};   ///< which replica; may be empty
  std::string uid = {};        ///< of the object
};

/// Thread-safe. Every call is one request with the client's credentials, sent again only where
/// that cannot do anything twice: after 429 and when no connection was made always; after 5xx and
/// cuts only patches without a resourceVersion and removals.
///
/// Errors: conflict (reasons "conflict": it was changed meanwhile, "already-exists"), denied
/// ("forbidden", "unauthorized"), not_found ("not-found": the object, its namespace or its kind),
/// terminal ("invalid": the server's own words about each field; "rejected"), retryable
/// ("transient", "unreachable", "timeout"), cancelled.
class Objects {
 public:
  /// `client` must outlive it.
  explicit Objects(Client& client) : client_(client) {}

  base::Result<base::json::Value> get(const base::Context& context, const ObjectRef& ref);
  /// Gives the object as the server made it.
  base::Result<base::json::Value> create(const base::Context& context, const Resource& resource,
                                         std::string_view ns, const base::json::Value& object);
  /// JSON merge patch (RFC 7396) of everything but the status. With at_version() it applies only to
  /// that state of the object. Gives the object as it is then.
  base::Result<base::json::Value> patch(const base::Context& context, const ObjectRef& ref,
                                        const base::json::Value& patch);
  /// The same of the sub-resource `status`: `patch` is {"status": …}.
  base::Result<base::json::Value> patch_status(const base::Context& context, const ObjectRef& ref,
                                               const base::json::Value& patch);
  /// Success: it is gone, or marked for removal and kept by finalizers. `uid` not empty: only if it
  /// is still this very object, else a conflict.
  base::Result<> remove(const base::Context& context, const ObjectRef& ref,
                        std::string_view uid = {});
  /// In the object's namespace; about cluster-scoped objects in "default".
  base::Result<> create_event(const base::Context& context, const ObjectRef& about,
                              const Event& event);

 private:
  base::Result<base::json::Value> send_patch(const base::Context& context, const ObjectRef& ref,
                                             std::string_view sub_resource,
                                             const base::json::Value& patch);

  Client& client_;
};

/// The patch with metadata.resourceVersion set.
base::json::Value at_version(base::json::Value patch, std::string_view resource_version);

}  // namespace kollect::kube
