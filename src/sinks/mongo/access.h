// How a server is reached, and how much goes to it at once.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/address_guard.h"
#include "base/resolve.h"
#include "base/result.h"
#include "base/secret.h"

namespace kollect::sinks::mongo {

/// How to reach a server.
struct Access {
  base::Secret uri;           ///< mongodb:// or mongodb+srv://, with libmongoc's parameters
  std::string write_concern;  ///< "majority", a number from 1, a tag; empty: as the URI says
  std::string app_name;       ///< empty: as the URI says, else "kollect"
  std::optional<std::string> ca_pem;  ///< turns TLS on
  bool insecure_skip_verify = false;  ///< turns TLS on
  std::shared_ptr<const base::AddressGuard> guard;
  bool allow_local = false;
  base::Resolver resolver;
};

/// Checks what can be checked without the network. Errors (configuration) name the parameter, never
/// its value.
base::Result<> check_access(const Access& access);

/// Of one bulk write.
struct BatchLimits {
  std::size_t operations = 1'000;
  std::size_t bytes = 48'000'000;
};

}  // namespace kollect::sinks::mongo
