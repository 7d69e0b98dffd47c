// Access tokens for Google's services.
//
// Formats: key file of a service account and JWT bearer grant (RFC 7523) at its token endpoint;
// "external_account" files of workload identity federation, whose token is exchanged (RFC 8693) and
// may then impersonate a service account; the metadata server of a virtual machine or of GKE.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"
#include "base/secret.h"
#include "sinks/google/network.h"

namespace kollect::sinks::google {

/// A token that a service gave.
struct Granted {
  base::Secret token;
  base::Duration lifetime{};
};

/// Whose tokens. Thread-safe. Error texts hold neither tokens nor keys nor the account's address.
class Credentials {
 public:
  Credentials() = default;
  virtual ~Credentials() = default;
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;

  /// A token for one scope; asked for anew some minutes before it ends. Errors: configuration
  /// (files), denied (refused, reason "auth"), retryable (the service does not answer).
  base::Result<base::Secret> token(const base::Context& context, const std::string& scope);
  /// The token of this scope was refused: the next one is a new one.
  void forget(const std::string& scope);
  /// The text without what identifies the account.
  [[nodiscard]] virtual std::string mask(std::string text) const { return text; }

 private:
  virtual base::Result<Granted> ask(const base::Context& context, const std::string& scope) = 0;

  struct Kept {
    base::Secret token;
    base::SteadyTime until{};
  };
  std::mutex mutex_;
  std::map<std::string, Kept> kept_;
};

/// From the JSON text of a Secret's key `credentials.json`. Only the type service_account is taken:
/// the other types make this process read files or call addresses of the author's choice. Its
/// token endpoint is asked through `network`. Error: configuration.
base::Result<std::shared_ptr<Credentials>> key_credentials(const base::Secret& json,
                                                           const Network& network);

/// Application default credentials of this process: the file of GOOGLE_APPLICATION_CREDENTIALS
/// (service_account or external_account), else the metadata server (GCE_METADATA_HOST, else
/// metadata.google.internal). Looked up at each new token. The administrator chose these
/// addresses: they are not guarded.
std::shared_ptr<Credentials> ambient_credentials(Environment environment, const Network& network);

}  // namespace kollect::sinks::google
