// Where a container is (spec: sinks 9.1 in the manner of Azure).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace kollect::sinks::objects::azure {

struct Endpoint {
  std::string account;
  std::string container;
  std::string prefix;            ///< without slashes at its ends
  std::string service;           ///< "https://account.blob.core.windows.net", no slash at its end
  bool account_in_path = false;  ///< emulators: the account is the first segment of paths

  /// Path of the container as requests have it.
  [[nodiscard]] std::string base_path() const;
  /// For messages: the container's URL.
  [[nodiscard]] std::string shown() const;
  /// True for Azure's own domains over https, of whatever cloud: the process's own identity goes
  /// nowhere else.
  [[nodiscard]] bool is_azure() const;
};

/// `https://ACCOUNT.blob.core.windows.net/container/prefix`; `az://container/prefix` or
/// `container/prefix` with `account`; `http(s)://host[:port]/ACCOUNT/container/prefix` of an
/// emulator; a domain of one's own with `account`. `account` is what options or Secret say, may be
/// empty. Errors (configuration, "bad-endpoint"): no account, no container, a container's name that
/// cannot be, another scheme, user information, a query (a SAS belongs into the Secret).
base::Result<Endpoint> parse_endpoint(std::string_view text, std::string_view account);

}  // namespace kollect::sinks::objects::azure
