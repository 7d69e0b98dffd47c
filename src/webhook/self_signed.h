// The operator's own certificates for its webhooks, without anybody who issues them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "kube/client.h"
#include "webhook/rotation.h"

namespace kollect::webhook {

struct SelfSignedOptions {
  std::string ns;       ///< of Service and Secret
  std::string service;  ///< that the API server calls
  std::string secret = "webhook-server-cert";
  std::string configuration = "kollect-validating-webhook-configuration";
  RotationRules rules = {};  ///< the names are those of the Service
};

/// Keeps authority and serving certificate in a Secret (keys tls.crt, tls.key, ca.crt, ca.key) and
/// the caBundle of the ValidatingWebhookConfiguration in step with it, wherever that calls the
/// Service. Both are watched, so that what somebody breaks is mended at once. Replicas need no
/// leader: whoever writes first wins, the others take what is there. A Secret that holds somebody
/// else's certificate (one without ca.key) is left alone.
///
/// One thread and two watches from start() to stop(); the destructor stops. Failures are logged,
/// once each, and tried again.
class SelfSigned {
 public:
  /// Called on its thread with every new certificate.
  using Adopt = std::function<base::Result<>(const KeyPair& certificate)>;

  /// References must outlive it; `log` may be null.
  SelfSigned(kube::Client& client, SelfSignedOptions options, Adopt adopt, const base::Clock& clock,
             const base::Logger* log);
  ~SelfSigned();
  SelfSigned(const SelfSigned&) = delete;
  SelfSigned& operator=(const SelfSigned&) = delete;

  void start();
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::webhook
