// Where pictures come from.
#pragma once

#include <memory>
#include <string>

#include "base/context.h"
#include "base/result.h"
#include "base/secret.h"
#include "cli/invocation.h"
#include "install/cluster.h"
#include "top/picture.h"

namespace kollect::top {

/// Looks again at each call. Used by one thread at a time.
class Feed {
 public:
  virtual ~Feed() = default;
  /// Errors say what to do; the next call may succeed.
  virtual base::Result<Picture> look(const base::Context& context) = 0;
};

/// The objects of the cluster of a kubeconfig. Errors (configuration): no such kubeconfig.
base::Result<std::unique_ptr<Feed>> cluster_feed(const cli::Invocation& invocation,
                                                 const install::ClusterFlags& flags);

struct ServerOptions {
  std::string url;         ///< of a read API, "http://127.0.0.1:8082"
  std::string token_file;  ///< read before each look; empty: no token
  std::string ca_file;     ///< PEM; empty: the system's authorities
};
/// Errors (configuration): no URL of HTTP, a file that is not there.
base::Result<std::unique_ptr<Feed>> server_feed(ServerOptions options);

/// What databases hold, by readstore::read_store_address(). Errors (configuration): what is wrong
/// with the address.
base::Result<std::unique_ptr<Feed>> store_feed(const std::string& store, const std::string& table);

/// Problems of an object as its state says, worst first behind the others of a picture.
void finish(Picture& picture);

}  // namespace kollect::top
