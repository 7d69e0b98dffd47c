// One cluster's API: discovery, lists, gets, access reviews. Watches are in reflector.h, writes in
// objects.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/json/document.h"
#include "base/log.h"
#include "base/result.h"
#include "http/client.h"
#include "kube/kubeconfig.h"

namespace kollect::kube {

class Sender;

/// A served resource, from discovery.
struct Resource {
  std::string group;
  std::string version;
  std::string kind;
  std::string plural;
  bool namespaced = false;
  std::vector<std::string> verbs;
  [[nodiscard]] bool can(std::string_view verb) const;
  /// "/apis/apps/v1/namespaces/NS/deployments"; empty `ns`: all namespaces or cluster-scoped.
  [[nodiscard]] std::string path(std::string_view ns) const;
};

/// All served kinds that can be listed, once per cluster. `failed_groups` could not be asked (503
/// of an aggregated API); they are not "not served" (L-10).
struct Discovery {
  std::vector<Resource> resources;
  std::map<std::string, std::vector<std::string>> group_versions;  ///< preferred first
  std::map<std::string, base::Error> failed_groups;
  std::vector<Resource> not_listable;  ///< served, but without `list`: for messages

  struct Found {
    Resource resource;
    bool other_version = false;  ///< served in another version than asked (L-1)
  };
  /// By group and kind, exact spelling; version as asked, else the preferred, else the highest
  /// other one. Error not_found with reason "gvk-not-found" and near misses in the message (same
  /// kind in other groups, other case, hint for group "core"), or the group's own failure.
  [[nodiscard]] base::Result<Found> find(std::string_view group, std::string_view version,
                                         std::string_view kind) const;
};

/// What to list.
struct ListQuery {
  Resource resource;
  std::string ns;  ///< empty: all namespaces, or cluster-scoped
  std::string label_selector;
  std::string field_selector;
  std::uint32_t page_size = 500;
  bool metadata_only = false;  ///< objects come as PartialObjectMetadata
  /// False: what fails before the first page was handled is returned at once, for callers with a
  /// back-off of their own.
  bool retry_first = true;
};

/// Accept header for an object, an event or a list.
std::string_view accept_of(bool metadata_only, bool list);

struct ListOutcome {
  std::uint64_t items = 0;
  std::uint64_t pages = 0;
  std::uint64_t bytes = 0;
  std::string resource_version;
  std::uint32_t restarts = 0;  ///< 410 between pages: begun anew (L-57)
};

/// Receives a list. begin() starts a try (again after a 410: forget everything of the try before);
/// page() gets each page's text in order, on a worker thread, while later pages are already on
/// their way; the text dies with the call.
class ListReceiver {
 public:
  virtual ~ListReceiver() = default;
  virtual base::Result<> begin() = 0;
  virtual base::Result<> page(std::string_view json_text) = 0;
};

/// Answers by status code ("<error>": none came) and method, watches included.
using RequestCounts = std::map<std::pair<std::string, std::string>, std::uint64_t>;

struct ClientOptions {
  base::Duration request_timeout = std::chrono::seconds(30);  ///< without progress
  base::Duration discovery_timeout = std::chrono::seconds(32);
  std::size_t read_ahead_bytes = 16U << 20U;  ///< pages held but not yet handled
  std::uint32_t retries = 5;  ///< for reads: 429 and 5xx, Retry-After or 0.5 s doubling to 10 s
  std::uint32_t list_restarts = 2;  ///< after 410 between pages: three tries in all
  std::string user_agent = "kollect";
  std::map<std::string, std::string> env;  ///< environment for credential programs
};

/// Thread-safe. Credentials are looked up per request: token files are re-read when changed, exec
/// plugins run again shortly before expiry and once after a 401.
class Client {
 public:
  Client(std::shared_ptr<http::Client> http, ClusterConfig config, ClientOptions options,
         const base::Logger* log);
  ~Client();

  /// Aggregated discovery, else group by group. Errors: reasons "unreachable", "unauthorized",
  /// "forbidden", "timeout".
  base::Result<Discovery> discover(const base::Context& context);
  /// Lists all pages at one resourceVersion. The list counts only when the last page was complete.
  /// Errors carry a reason: "forbidden" (denied), "unauthorized", "unreachable", "timeout",
  /// "gvk-not-found", "transient".
  base::Result<ListOutcome> list(const base::Context& context, const ListQuery& query,
                                 ListReceiver& receiver);
  /// One object's JSON. Errors as for list; not_found when there is none.
  base::Result<std::string> get(const base::Context& context, const Resource& resource,
                                std::string_view ns, std::string_view name);
  /// May this identity do it? (SelfSubjectAccessReview; empty ns: in all namespaces.)
  base::Result<bool> can_i(const base::Context& context, std::string_view verb,
                           const Resource& resource, std::string_view ns);
  /// Any request with credentials and retries for reads; used by tests and server set-up.
  base::Result<http::Response> request(const base::Context& context, std::string method,
                                       std::string path, std::string body = {},
                                       std::string content_type = "application/json");
  [[nodiscard]] const ClusterConfig& config() const;
  /// Warning headers of the server, each text once.
  [[nodiscard]] std::vector<std::string> server_warnings() const;
  [[nodiscard]] RequestCounts request_counts() const;
  /// For the room's own use.
  [[nodiscard]] Sender& sender();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::kube
