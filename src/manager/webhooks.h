// The admission webhooks of `kollect operator` (spec: runtime 12). Every replica serves them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "admission/admission.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "kube/client.h"
#include "manager/manager.h"
#include "webhook/self_signed.h"
#include "webhook/server.h"

namespace kollect::manager {

struct WebhookOptions {
  bool enabled = true;
  std::string address = ":9443";  ///< HOST:PORT
  std::string cert_path;  ///< folder; empty: k8s-webhook-server/serving-certs in the temporary one
  std::string cert_name = "tls.crt";
  std::string cert_key = "tls.key";
  bool self_signed = false;  ///< instead of files
  std::string service;       ///< NAMESPACE/NAME, of self_signed
  std::string secret = "webhook-server-cert";
  std::string configuration = "kollect-validating-webhook-configuration";
};

/// Error: configuration, names the flag.
base::Result<> check(const WebhookOptions& options);

/// The same limits at admission as at run time.
admission::Settings settings_of(const ManagerOptions& options);

/// Runs from start() to stop(), which the destructor calls. Thread-safe.
class Webhooks {
 public:
  /// References must outlive it; `env` is that of the process. Errors: configuration (a flag),
  /// terminal (the port is not to be had). Without a certificate it waits for one and is not
  /// serving() yet.
  static base::Result<std::unique_ptr<Webhooks>> start(
      const WebhookOptions& options, const admission::Settings& settings, kube::Client& client,
      const admission::Lookup& lookup, const base::Clock& clock, const base::Logger* log,
      const std::map<std::string, std::string>& env);
  ~Webhooks();
  Webhooks(const Webhooks&) = delete;
  Webhooks& operator=(const Webhooks&) = delete;

  [[nodiscard]] bool serving() const { return server_->serving(); }
  void stop();

 private:
  explicit Webhooks(std::unique_ptr<webhook::Server> server) : server_(std::move(server)) {}

  std::unique_ptr<webhook::Server> server_;
  std::unique_ptr<webhook::SelfSigned> self_signed_;  ///< behind what it changes
};

}  // namespace kollect::manager
