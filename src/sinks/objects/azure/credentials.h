// With what a request to Azure Blob Storage is allowed: the account's key, a shared access
// signature, or a token of the process's own identity.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/context.h"
#include "base/result.h"
#include "base/secret.h"
#include "http/client.h"
#include "sinks/objects/azure/shared_key.h"
#include "sinks/sink.h"

namespace kollect::sinks::objects::azure {

/// One thread at a time.
class Authority {
 public:
  virtual ~Authority() = default;
  /// Adds what allows the request: headers, or `extra_query` for the end of the URL. Errors: denied
  /// or configuration, retryable for a service that does not answer; they hold nothing secret.
  virtual base::Result<> allow(const base::Context& context, Signable& request,
                               std::string& extra_query) = 0;
  /// The service refused what allow() gave: true when another try may fare better.
  virtual bool renew() { return false; }
  /// True when containers themselves cannot be asked about, only what is in them.
  [[nodiscard]] virtual bool lists_only() const { return false; }
};

/// What a Secret has: accountKey or AZURE_STORAGE_KEY; sasToken or AZURE_STORAGE_SAS_TOKEN;
/// accountName or AZURE_STORAGE_ACCOUNT. A newline at the end is dropped.
struct SecretParts {
  std::string account;
  std::optional<base::Secret> key;  ///< decoded
  std::optional<base::Secret> sas;  ///< without "?"
};
/// Errors (configuration, "bad-secret") name the key of the Secret: both ways at once, a key that
/// is no base64, a signature that is no query.
base::Result<SecretParts> secret_parts(const SecretData& secret);

std::unique_ptr<Authority> by_account_key(std::string account, base::Secret key);
std::unique_ptr<Authority> by_signature(base::Secret sas);

/// Value of an environment variable, none when it is not set or empty.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
/// That of the process.
Environment process_environment();

/// The process's own identity: a federated token that is exchanged (workload identity:
/// AZURE_FEDERATED_TOKEN_FILE, AZURE_CLIENT_ID, AZURE_TENANT_ID, AZURE_AUTHORITY_HOST), else the
/// machine's (IDENTITY_ENDPOINT and IDENTITY_HEADER, or the instance metadata service). Kept until
/// shortly before its end. Requests go to the platform's own endpoints, which no guard checks.
std::unique_ptr<Authority> by_own_identity(Environment environment);

}  // namespace kollect::sinks::objects::azure
