// Where the keys of requests come from (spec: sinks 9.2, K-39).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/context.h"
#include "base/result.h"
#include "http/client.h"
#include "sinks/objects/s3/sigv4.h"
#include "sinks/sink.h"

namespace kollect::sinks::objects::s3 {

/// One thread at a time.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  /// Errors: configuration ("bad-secret", "no-credentials") and denied, retryable for a service
  /// that does not answer.
  virtual base::Result<Credentials> get(const base::Context& context) = 0;
  /// The service called them expired: true when get() may now give others.
  virtual bool renew() { return false; }
};

/// Keys of a Secret: accessKeyID or AWS_ACCESS_KEY_ID, secretAccessKey or AWS_SECRET_ACCESS_KEY,
/// sessionToken or AWS_SESSION_TOKEN. None when the Secret has neither key. Error (configuration,
/// "bad-secret"): one without the other.
base::Result<std::optional<Credentials>> secret_credentials(const SecretData& secret);

std::unique_ptr<CredentialSource> fixed_credentials(Credentials credentials);

/// Value of an environment variable, none when it is not set or empty.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
/// That of the process.
Environment process_environment();

/// The process's own identity, the first that is set up: keys in the environment, a web identity
/// token (AssumeRoleWithWebIdentity), the credentials endpoint of the container (ECS, EKS pod
/// identity), the shared credentials file, the role of the instance (IMDSv2). Kept until they
/// expire. Requests go to the platform's own endpoints, which no guard checks.
std::unique_ptr<CredentialSource> ambient_credentials(Environment environment, std::string region);

/// Credentials that end at a time, and none when the way to them is not set up.
struct Issued {
  Credentials credentials;
  std::optional<base::WallTime> expires;
};
using MaybeIssued = base::Result<std::optional<Issued>>;

/// The single ways, in the order above.
MaybeIssued from_environment(const Environment& environment);
MaybeIssued from_web_identity(const base::Context& context, http::Client& client,
                              const Environment& environment, const std::string& region);
MaybeIssued from_container(const base::Context& context, http::Client& client,
                           const Environment& environment);
MaybeIssued from_profile(const Environment& environment);
MaybeIssued from_instance(const base::Context& context, http::Client& client,
                          const Environment& environment);

}  // namespace kollect::sinks::objects::s3
