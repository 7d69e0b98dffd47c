// Where the client library connects to: every name it knows or learns goes through the guard (spec:
// sinks 16.4).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/address_guard.h"
#include "base/resolve.h"
#include "base/result.h"

struct addrinfo;

namespace kollect::sinks::kafka {

/// Thread-safe: the library asks from threads of its own.
class Dialer {
 public:
  Dialer(std::shared_ptr<const base::AddressGuard> guard, base::Resolver resolver)
      : guard_(std::move(guard)), resolver_(std::move(resolver)) {}

  /// True when names must be resolved here.
  [[nodiscard]] bool needed() const { return guard_ != nullptr || resolver_; }
  /// Numbers of a host, the complete answer checked. Errors: denied (reason "address-refused", the
  /// host and why), those of the resolver.
  [[nodiscard]] base::Result<std::vector<std::string>> addresses(const std::string& host) const;
  /// In the manner of getaddrinfo, with the checked numbers; a refusal is remembered. Free the list
  /// with release().
  int resolve(const char* host, const char* service, addrinfo** list);
  static void release(addrinfo* list);
  /// The last host that was refused.
  [[nodiscard]] std::optional<base::Error> refusal() const;

 private:
  std::shared_ptr<const base::AddressGuard> guard_;
  base::Resolver resolver_;
  mutable std::mutex mutex_;
  std::optional<base::Error> refusal_;
};

}  // namespace kollect::sinks::kafka
